package control

import (
	"math"
	"time"
)

const (
	// deliveredTime is the time for which a terminal must deliver more than its standalone rate. It
	// is longer than nl80211 takes to tell a new PHY rate (package internal/share/radio).
	deliveredTime = 5 * time.Second
	// maxDelivered is the greatest correction. A-MPDUs of 256 frames, as those of 802.11ax, instead
	// of the formula's 64 carry 1.36 times as much at 2402 Mbit/s (docs/design/sharing.md).
	maxDelivered = 1.5
)

// delivered raises a standalone rate that follows from the PHY rate to what the terminal delivers:
// one that delivers more has longer A-MPDUs than the formula of the rate assumes. It never lowers
// the rate, because a slow wire and traffic without an agent also make a terminal deliver less. The
// zero value is ready.
type delivered struct {
	greatest float64       // the greatest part of the rate that was delivered for deliveredTime
	least    float64       // the least part in the present period
	period   time.Duration // its length so far
}

// update takes the delivery rate of a step of a length.
func (d *delivered) update(elapsed time.Duration, rate, standalone float64) {
	if standalone <= 0 {
		return
	}
	if d.period == 0 {
		d.least = math.Inf(1)
	}
	d.period += elapsed
	d.least = min(d.least, rate/standalone)
	if d.period >= deliveredTime {
		d.greatest = max(d.greatest, d.least)
		d.period = 0
	}
}

// factor returns the factor of the standalone rate, 1 to maxDelivered.
func (d *delivered) factor() float64 { return min(max(d.greatest, 1), maxDelivered) }

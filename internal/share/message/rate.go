package message

import (
	"math"
	"time"
)

// Rate is a rate in kbit/s. Zero means no rate or an unknown rate.
type Rate uint32

// The limits of a rate: 1 kbit/s and 100 Gbit/s.
const (
	LowestRate  Rate = 1
	HighestRate Rate = 100_000_000
)

// RateOf converts from bit/s. It rounds and applies the limits. The result is zero unless bps is a
// positive number.
func RateOf(bps float64) Rate {
	if !(bps > 0) { // NaN too
		return 0
	}
	kbps := math.Round(bps / 1000)
	return Rate(min(max(kbps, float64(LowestRate)), float64(HighestRate)))
}

// Bps returns the rate in bit/s.
func (r Rate) Bps() float64 { return float64(r) * 1000 }

// Microseconds returns a round-trip time in microseconds, at most LongestRTTUs.
func Microseconds(rtt time.Duration) uint32 { return uint32(min(rtt.Microseconds(), LongestRTTUs)) }

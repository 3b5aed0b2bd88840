package control

import (
	"math"
	"time"
)

// A queue on the path may be shorter than the queue target, as in an access point with few buffers.
// Then windows are never full: CUBIC's losses decide the rates, and not the shares. So losses
// shorten the queue target, as they shorten windows.
const (
	// shrinkTime is the time with losses in which the queue target shrinks by a factor of e, and
	// growTime the time without in which it grows by one. Their ratio is the part of the time
	// in which packets may be lost.
	shrinkTime = time.Second
	growTime   = 10 * time.Second
	// leastByLosses is the least factor. Packets that are lost at random cost no more than this.
	leastByLosses = 0.5
)

// losses follows how often this terminal's packets are lost. The zero value is ready.
type losses struct {
	log float64 // logarithm of the factor of the queue target, at most 0
}

// update takes a step of a length in which packets were lost, or none.
func (l *losses) update(elapsed time.Duration, lost bool) {
	change := float64(elapsed) / float64(growTime)
	if lost {
		change = -float64(elapsed) / float64(shrinkTime)
	}
	l.log = min(max(l.log+change, math.Log(leastByLosses)), 0)
}

// factor returns the factor of the queue target.
func (l *losses) factor() float64 { return math.Exp(l.log) }

package control

import (
	"math"
	"time"
)

// Direction is one direction of a terminal's traffic.
type Direction struct {
	// Share is the direction's part of the terminal's share, and Rate its delivery rate, in bit/s.
	// Limited means that the window limits the rate.
	Share, Rate float64
	Limited     bool
}

// directionBalance keeps a terminal's two directions in the proportion of their shares. The same
// window gives different rates, because one direction waits in the terminal's queue and the other
// in the access point's. The zero value is in balance.
type directionBalance struct{ log float64 }

// maxBalance is the greatest logarithm of the factor of a direction.
const maxBalance = 1.2 // a factor of 3.3

// Step takes the rates since the last step, and returns the factors for the windows of each
// direction.
func (b *directionBalance) Step(since time.Duration, up, down Direction) (forUp, forDown float64) {
	gain := min(since.Seconds(), 0.5) / correctionTime
	if up.Limited && down.Limited && up.Rate > 0 && down.Rate > 0 && up.Share > 0 && down.Share > 0 {
		lag := math.Log(up.Share / up.Rate * down.Rate / down.Share)
		b.log += min(max(gain*lag/2, -0.1), 0.1)
	} else {
		b.log *= 1 - gain
	}
	b.log = min(max(b.log, -maxBalance), maxBalance)
	return math.Exp(b.log), math.Exp(-b.log)
}

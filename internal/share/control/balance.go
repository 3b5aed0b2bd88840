package control

import (
	"math"
	"time"
)

// Direction is one direction of a terminal's traffic.
type Direction struct {
	// Share is its part of the terminal's share and Rate what it delivers, in bit/s. Limited says
	// that the window is what keeps it from delivering more.
	Share, Rate float64
	Limited     bool
}

// directionBalance keeps a terminal's two directions in the proportion of their shares: what a window gives
// differs between them, for one waits in the terminal's queue and the other in that of the access
// point. The zero value is in balance.
type directionBalance struct{ log float64 }

// maxBalance is how far apart the factors of the two directions may be, as the logarithm of each.
const maxBalance = 1.2 // of 3.3

// Step takes in what both deliver since the last step, and returns by what the windows of each are
// to be multiplied.
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

package message

import (
	"math"
	"time"
)

// Rate is a rate in kbit/s. Zero says that there is none, or that it is not known.
type Rate uint32

// The limits of a rate: 1 kbit/s and 100 Gbit/s.
const (
	LowestRate  Rate = 1
	HighestRate Rate = 100_000_000
)

// RateOf is a number of bit/s as a rate, rounded and brought within the limits. What is no positive
// number is zero.
func RateOf(bps float64) Rate {
	if !(bps > 0) { // NaN too
		return 0
	}
	kbps := math.Round(bps / 1000)
	return Rate(min(max(kbps, float64(LowestRate)), float64(HighestRate)))
}

// Bps is the rate in bit/s.
func (r Rate) Bps() float64 { return float64(r) * 1000 }

// Microseconds is a round-trip time as reports have it, LongestRTTUs at most.
func Microseconds(rtt time.Duration) uint32 { return uint32(min(rtt.Microseconds(), LongestRTTUs)) }

package units

import (
	"math"
	"strconv"
)

// Step is a unit of an axis.
type Step struct {
	Name string
	// Size is the number of base units in the unit.
	Size float64
	// From is the least maximum, in base units, of axes that use the unit.
	From float64
}

// Scale is the units in which an axis may be labelled, the smallest first.
// A unit serves from about ten of it to some thousand, so that labels stay short.
type Scale []Step

// Scales by their base unit: packets, bytes, bit/s, microseconds, milliseconds, per cent and 1.
var (
	Packets      = Scale{{"packets", 1, 0}}
	Sizes        = Scale{{"B", 1, 0}, {"kB", 1e3, 2e3}, {"MB", 1e6, 5e6}, {"GB", 1e9, 5e9}}
	Rates        = Scale{{"kbit/s", 1e3, 0}, {"Mbit/s", 1e6, 1e6}, {"Gbit/s", 1e9, 1e10}}
	Microseconds = Scale{{"µs", 1, 0}, {"ms", 1e3, 1e3}, {"s", 1e6, 1e7}}
	Milliseconds = Scale{{"ms", 1, 0}, {"s", 1e3, 5e3}}
	Percents     = Scale{{"%", 1, 0}}
	Unitless     = Scale{{"", 1, 0}}
)

// For returns the unit for values up to a maximum.
func (s Scale) For(maximum float64) Step {
	if len(s) == 0 {
		return Step{Size: 1} // an axis without a unit
	}
	best := s[0]
	for _, u := range s[1:] {
		if maximum >= u.From {
			best = u
		}
	}
	return best
}

// Format writes a value with its unit and three digits: 2627 kB.
func (s Scale) Format(v float64) string {
	u := s.For(v)
	text := strconv.FormatFloat(v/u.Size, 'g', 3, 64)
	if v/u.Size >= 1000 {
		text = strconv.FormatFloat(math.Round(v/u.Size), 'f', 0, 64)
	}
	return text + " " + u.Name
}

package report

import (
	"math"
	"strconv"
)

// unit is a unit of an axis: size says how many of the fields' unit it holds, and it is used for axes that reach from.
type unit struct {
	name       string
	size, from float64
}

// quantity is what an axis measures, as the units in which it may be written, the smallest first. A unit is used from
// ten of it up to some thousand, so that tick labels stay short.
type quantity []unit

var (
	packets  = quantity{{"packets", 1, 0}}
	octets   = quantity{{"B", 1, 0}, {"kB", 1e3, 2e3}, {"MB", 1e6, 5e6}, {"GB", 1e9, 5e9}}
	bitRate  = quantity{{"kbit/s", 1e3, 0}, {"Mbit/s", 1e6, 1e6}, {"Gbit/s", 1e9, 1e10}}
	microsec = quantity{{"µs", 1, 0}, {"ms", 1e3, 1e3}, {"s", 1e6, 1e7}}
	millisec = quantity{{"ms", 1, 0}, {"s", 1e3, 5e3}}
	percent  = quantity{{"%", 1, 0}}
	unitless = quantity{{"", 1, 0}}
)

// unitFor chooses the unit for values up to max.
func (q quantity) unitFor(max float64) unit {
	best := q[0]
	for _, u := range q[1:] {
		if max >= u.from {
			best = u
		}
	}
	return best
}

// format writes one value with its unit and three digits.
func (q quantity) format(v float64) string {
	u := q.unitFor(v)
	s := strconv.FormatFloat(v/u.size, 'g', 3, 64)
	if v/u.size >= 1000 {
		s = strconv.FormatFloat(math.Round(v/u.size), 'f', 0, 64)
	}
	return s + " " + u.name
}

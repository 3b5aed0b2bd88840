package figure

import (
	"math"
	"strconv"
)

// Unit is a unit of an axis.
type Unit struct {
	Name string
	Size float64 // in base units
	From float64 // least greatest value, in base units, of an axis in this unit
}

// Scale is the units in which an axis may be written, the smallest first.
type Scale []Unit

// unitFor chooses the unit for values up to most.
func (s Scale) unitFor(most float64) Unit {
	if len(s) == 0 {
		return Unit{Size: 1}
	}
	best := s[0]
	for _, u := range s[1:] {
		if most >= u.From {
			best = u
		}
	}
	return best
}

// Format writes one value with its unit and three digits.
func (s Scale) Format(v float64) string {
	u := s.unitFor(v)
	text := strconv.FormatFloat(v/u.Size, 'g', 3, 64)
	if v/u.Size >= 1000 {
		text = strconv.FormatFloat(math.Round(v/u.Size), 'f', 0, 64)
	}
	return text + " " + u.Name
}

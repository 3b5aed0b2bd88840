package figure

import (
	"fmt"
	"math"
	"slices"
	"strconv"

	"airtide/internal/units"
)

// headroom above the highest value, as a part of the range, so that it does not run into the frame.
const headroom = 0.06

// labelRoom is the headroom of a panel with a label of a rule, which would hide the highest values.
const labelRoom = 0.16

// scale places the values of an axis between 0 and 1.
type scale struct {
	Axis
	lo, hi float64
	used   bool    // bounds have been set
	room   float64 // above the highest value of a vertical axis, as a part of the range
	// Of a logarithmic axis with zero: the place of zero, and of the gap beside it, as logarithms
	// to base 10.
	zero, gap float64
}

// include widens the bounds.
func (s *scale) include(lo, hi float64) {
	if !s.used {
		s.lo = lo
		s.hi = hi
		s.used = true
	}
	s.lo = min(s.lo, lo)
	s.hi = max(s.hi, hi)
}

// settleVertical turns the bounds of the data into those of a vertical axis.
func (s *scale) settleVertical(room float64) {
	s.room = room
	switch {
	case s.Kind == Names:
		s.lo = -0.35
		s.hi = float64(len(s.Names)) - 0.5
		return
	case !s.used:
		s.lo = 0
		s.hi = 1
		s.Kind = Linear
	case s.Kind == Log:
		s.lo = max(s.lo, 1)
		s.hi = max(s.hi, 1)
		s.lo /= 1.15
		s.hi *= 1.15
		return
	}
	if !s.Floating || s.lo > 0 && s.lo < 0.2*s.hi {
		s.lo = min(s.lo, 0)
	}
	if s.hi <= s.lo {
		s.hi = s.lo + s.unitFor(math.Inf(-1)).Size
	}
	s.hi += (s.hi - s.lo) * room
}

// settleHorizontal turns the bounds of the data into those of the x axis.
func (s *scale) settleHorizontal() {
	s.room = headroom
	switch {
	case s.Min != nil && s.Max != nil:
		s.lo = *s.Min
		s.hi = *s.Max
	case s.Kind == Names:
		s.lo = -0.5
		s.hi = float64(len(s.Names)) - 0.5
	case len(s.Ticks) > 0 && s.Kind == LogWithZero:
		s.lo, s.hi, s.zero, s.gap = logBoundsWithZero(s.Ticks)
	case len(s.Ticks) > 0 && s.Kind == Log:
		first, last, step := logSteps(s.Ticks)
		s.lo = math.Pow(10, first-0.3*step)
		s.hi = math.Pow(10, last+0.3*step)
	case len(s.Ticks) > 0:
		s.lo, s.hi = linearBounds(s.Ticks, s.unit().Size)
	case !s.used:
		s.lo = 0
		s.hi = 1
	case s.Floating && s.hi > s.lo:
		margin := headroom * (s.hi - s.lo)
		s.lo -= margin
		s.hi += margin
	default:
		s.lo = min(s.lo, 0)
		s.hi *= 1.05
		if s.hi <= s.lo {
			s.hi = s.lo + 1
		}
	}
}

// linearBounds leave a margin beside the first and the last tick.
func linearBounds(ticks []float64, size float64) (lo, hi float64) {
	first := slices.Min(ticks)
	last := slices.Max(ticks)
	margin := 0.04 * (last - first)
	if margin == 0 {
		margin = max(math.Abs(first)*0.1, size)
	}
	return first - margin, last + margin
}

// logSteps are the logarithms of the least and the greatest positive tick, and the mean step
// between two.
func logSteps(ticks []float64) (first, last, step float64) {
	n := 0
	first = math.Inf(1)
	last = math.Inf(-1)
	for _, v := range ticks {
		if v > 0 {
			first = min(first, math.Log10(v))
			last = max(last, math.Log10(v))
			n++
		}
	}
	return first, last, (last - first) / float64(max(n-1, 1))
}

// logBoundsWithZero place zero a step before the least positive tick, behind a gap.
func logBoundsWithZero(ticks []float64) (lo, hi, zero, gap float64) {
	first, last, step := logSteps(ticks)
	zero = first - 1.2*step
	return zero - 0.3*step, last + 0.3*step, zero, zero + 0.6*step
}

func (s *scale) unit() units.Step {
	most := s.hi / (1 + s.room)
	if len(s.Ticks) > 0 {
		most = slices.Max(s.Ticks)
	}
	return s.unitFor(most)
}

// unitFor is the unit for values up to most. An axis without units has a nameless one.
func (s *scale) unitFor(most float64) units.Step {
	if len(s.Unit) == 0 {
		return units.Unitless[0]
	}
	return s.Unit.For(most)
}

// norm is the place of a value: 0 at the start of the axis, 1 at its end. A value outside of a
// logarithmic axis stands at its end.
func (s *scale) norm(v float64) float64 {
	switch s.Kind {
	case Log:
		return math.Log(max(v, s.lo)/s.lo) / math.Log(s.hi/s.lo)
	case LogWithZero:
		if v <= 0 {
			v = s.zero
		} else {
			v = math.Log10(v)
		}
	}
	return (v - s.lo) / (s.hi - s.lo)
}

// title is the label with the unit.
func (s *scale) title() string {
	switch {
	case s.Kind == Time && s.short():
		return s.Label + " (ms)"
	case s.Kind == Time:
		return s.Label + " (s)"
	case s.Kind == Clock:
		return "time of day, " + s.Zero.Format("2006-01-02 MST")
	}
	if u := s.unit(); u.Name != "" {
		return fmt.Sprintf("%s (%s)", s.Label, u.Name)
	}
	return s.Label
}

// short is true for an axis of time on which seconds would be hard to read.
func (s *scale) short() bool { return s.hi < 1e8 }

// ticks are at most about n ticks.
func (s *scale) ticks(n int) []tick {
	size := s.unit().Size
	switch {
	case s.Kind == Names:
		return s.nameTicks()
	case s.Kind == Time && s.short():
		return roundTicks(sized(1e6, evenTicks(s.lo/1e9*1e3, s.hi/1e9*1e3, n)))
	case s.Kind == Time:
		return roundTicks(sized(1e9, evenTicks(s.lo/1e9, s.hi/1e9, n)))
	case s.Kind == Clock:
		return roundTicks(sized(1e9, clockTicks(s.Zero, s.lo/1e9, s.hi/1e9, n)))
	case s.Ticks != nil:
		return s.chosenTicks(size)
	case s.Kind == Log:
		return sized(size, logTicks(s.lo/size, s.hi/size, n))
	}
	return sized(size, evenTicks(s.lo/size, s.hi/size, n))
}

func (s *scale) nameTicks() []tick {
	ticks := make([]tick, len(s.Names))
	for i, name := range s.Names {
		ticks[i] = tick{float64(i), name}
	}
	return ticks
}

func (s *scale) chosenTicks(size float64) []tick {
	ticks := make([]tick, len(s.Ticks))
	for i, v := range s.Ticks {
		ticks[i] = tick{v, plainNumber(v / size)}
	}
	return ticks
}

// plainNumber writes a number without exponent and without the digits that a division leaves
// behind.
func plainNumber(v float64) string {
	return strconv.FormatFloat(math.Round(v*1e6)/1e6, 'f', -1, 64)
}

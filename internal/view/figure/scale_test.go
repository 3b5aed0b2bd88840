package figure

import (
	"math"
	"strings"
	"testing"

	"airtide/internal/units"
)

// The x axis has a place inside for each of its ticks, in the unit of the axis.
func TestXAxisPlacesItsTicks(t *testing.T) {
	ms := units.Scale{{Name: "ms", Size: 1e-3}}
	for name, c := range map[string]struct {
		axis   Axis
		labels string
		title  string
		equal  bool // steps between the ticks
	}{
		"even": {Axis{Label: "x", Ticks: []float64{10, 20, 30}}, "10 20 30", "x", true},
		"decades": {
			Axis{Label: "x", Kind: Log, Unit: ms, Ticks: []float64{1e-3, 1e-2, 0.1}}, "1 10 100", "x (ms)", true,
		},
		"one value": {Axis{Label: "x", Unit: ms, Ticks: []float64{5e-3}}, "5", "x (ms)", true},
		"only zero": {Axis{Label: "x", Ticks: []float64{0}}, "0", "x", true},
		"names":     {Axis{Label: "x", Kind: Names, Names: []string{"reno", "cubic"}}, "reno cubic", "x", true},
		"with a zero": {
			Axis{Label: "x", Kind: LogWithZero, Unit: ms, Ticks: []float64{0, 1e-3, 1e-2, 0.1}},
			"0 1 10 100", "x (ms)", false,
		},
	} {
		s := scale{Axis: c.axis}
		s.settleHorizontal()
		var labels []string
		var at []float64
		for _, tick := range s.ticks(10) {
			labels = append(labels, tick.text)
			at = append(at, s.norm(tick.v))
		}
		if got := strings.Join(labels, " "); got != c.labels || s.title() != c.title {
			t.Errorf("%s: labels %q, title %q", name, got, s.title())
		}
		for i, v := range at {
			if v < 0 || v > 1 || i > 0 && v <= at[i-1] {
				t.Errorf("%s: places %v", name, at)
			}
			if c.equal && i > 1 && math.Abs(at[i]-2*at[i-1]+at[i-2]) > 1e-9 {
				t.Errorf("%s: uneven steps at %v", name, at)
			}
		}
	}
}

// On a logarithmic axis, zero stands 1.2 steps before the least positive value, behind the gap.
func TestZeroStandsBehindAGap(t *testing.T) {
	s := scale{Axis: Axis{Kind: LogWithZero, Ticks: []float64{0, 1, 10, 100}}}
	s.settleHorizontal()
	if s.zero != -1.2 || math.Abs(s.gap - -0.6) > 1e-9 || !(s.lo < s.zero && s.gap < 0) {
		t.Errorf("zero at %v, gap at %v, from %v", s.zero, s.gap, s.lo)
	}
	zero := s.norm(0)
	one := s.norm(1)
	ten := s.norm(10)
	if math.Abs((one-zero)/(ten-one)-1.2) > 1e-9 {
		t.Errorf("0, 1 and 10 stand at %v, %v and %v", zero, one, ten)
	}
}

// A floating x axis covers the data with a margin. Another one begins at zero.
func TestFloatingXAxisNeedNotBeginAtZero(t *testing.T) {
	for _, c := range []struct {
		floating bool
		least    float64
	}{{false, 0}, {true, 0.6}} {
		s := scale{Axis: Axis{Floating: c.floating}}
		s.include(0.7, 0.7)
		s.include(1, 1)
		s.settleHorizontal()
		if s.lo < c.least || s.lo >= 0.7 || s.hi <= 1 {
			t.Errorf("floating %v: the axis covers %v to %v", c.floating, s.lo, s.hi)
		}
	}
}

// The label of a rule stands above the highest value, which it would hide.
func TestLabelsOfRulesHaveRoom(t *testing.T) {
	for label, want := range map[bool]float64{false: 106, true: 116} {
		f := Figure{Cells: []Cell{{Panels: []Panel{{
			Series: []Series{{Data: []Sample{Point(0, 0), Point(1, 100)}}},
			Rules:  []Rule{{X: 0.5, Name: "cubic", Label: label}},
		}}}}}
		if _, cells := f.settle(); math.Abs(cells[0][0].left.hi-want) > 1e-9 {
			t.Errorf("with a label %v the axis ends at %g, want %g", label, cells[0][0].left.hi, want)
		}
	}
}

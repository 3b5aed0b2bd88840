package figures

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"airtide/internal/lab/judge"
	"airtide/internal/view/figure"
)

func TestAxisFollowsTheValues(t *testing.T) {
	param := func(text string, number float64) judge.Param { return judge.Param{Text: text, Number: number} }
	nan := math.NaN()
	for name, c := range map[string]struct {
		values []judge.Param
		kind   figure.AxisKind
		unit   string
		ticks  string // in the unit
		at     []float64
	}{
		"words": {
			[]judge.Param{param("reno", nan), param("cubic", nan)},
			figure.Names, "", "reno cubic",
			[]float64{0, 1},
		},
		"even": {
			[]judge.Param{param("30", 30), param("10", 10), param("20", 20)},
			"", "", "10 20 30",
			[]float64{30, 10, 20},
		},
		"decades": {
			[]judge.Param{param("1 ms", 1e-3), param("10 ms", 1e-2), param("0.1 s", 0.1)},
			figure.Log, "ms", "1 10 100",
			[]float64{1e-3, 1e-2, 0.1},
		},
		"with a zero": {
			[]judge.Param{param("0 ms", 0), param("1 ms", 1e-3), param("10 ms", 1e-2), param("100 ms", 0.1)},
			figure.LogWithZero, "ms", "0 1 10 100",
			[]float64{0, 1e-3, 1e-2, 0.1},
		},
		"one value": {[]judge.Param{param("5 ms", 5e-3)}, "", "ms", "5", []float64{5e-3}},
		"only zero": {[]judge.Param{param("0 ms", 0)}, "", "", "0", []float64{0}},
		"zero and close values": {
			[]judge.Param{param("1", 1), param("2", 2), param("100", 100), param("0", 0), param("101", 101)},
			figure.LogWithZero, "", "0 1 2 100 101", nil,
		},
	} {
		a := axisOf("x", c.values)
		ticks := slices.Clone(a.Names)
		for _, v := range a.Ticks {
			ticks = append(ticks, plainNumber(v/a.Unit[0].Size))
		}
		unit := ""
		if len(a.Unit) > 0 {
			unit = a.Unit[0].Name
		}
		if a.Kind != c.kind || unit != c.unit || strings.Join(ticks, " ") != c.ticks {
			t.Errorf("%s: kind %q, unit %q, ticks %q", name, a.Kind, unit, ticks)
		}
		for i, want := range c.at {
			if got := a.place(c.values[i]); math.Abs(got-want) > 1e-9 {
				t.Errorf("%s: %s stands at %v, want %v", name, c.values[i].Text, got, want)
			}
		}
	}
	many := make([]judge.Param, 40)
	for i := range many {
		many[i] = param(fmt.Sprint(i+100), float64(i+100))
	}
	if a := axisOf("x", many); a.Ticks != nil || *a.Min > 100 || *a.Max < 139 {
		t.Errorf("forty values: %+v", a)
	}
}

package judge

import (
	"maps"
	"slices"
	"strings"
)

// Param is the value of a swept parameter at a point: its text as the experiment's file has it, and
// its number in base units (bit/s, seconds, bytes, 1), NaN where it is no quantity.
type Param struct {
	Text   string  `json:"text"`
	Number float64 `json:"number"`
}

// Run is what one execution of one point left to judge.
type Run struct {
	// Point has the value of each axis of the sweep.
	Point map[string]Param
	// Values has the measurements by name: one value, or one for each terminal or flow where a
	// measurement says so.
	Values map[string][]float64
}

// point names the point of a run, so that runs of one point can be told from those of another.
func (r *Run) point() string {
	var b strings.Builder
	for _, axis := range slices.Sorted(maps.Keys(r.Point)) {
		b.WriteString(axis + "=" + r.Point[axis].Text + "\x00")
	}
	return b.String()
}

// byPoint sorts runs into their points, in the order in which the points come up first.
func byPoint(runs []Run) [][]*Run {
	place := map[string]int{}
	var groups [][]*Run
	for i := range runs {
		key := runs[i].point()
		g, ok := place[key]
		if !ok {
			g = len(groups)
			place[key], groups = g, append(groups, nil)
		}
		groups[g] = append(groups[g], &runs[i])
	}
	return groups
}

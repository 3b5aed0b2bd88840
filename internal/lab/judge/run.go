package judge

import (
	"maps"
	"slices"
	"strings"
)

// Param is the value of a swept parameter at a point. It has the text of the experiment's file, and
// the number in base units (bit/s, seconds, bytes, 1). The number is NaN if the text is no
// quantity.
type Param struct {
	Text   string  `json:"text"`
	Number float64 `json:"number"`
}

// Run is the input of claims from one run of a point.
type Run struct {
	// Point has the value of each axis of the sweep.
	Point map[string]Param
	// Values has the measurements by name. A measurement has one value, or one value per terminal
	// or flow.
	Values map[string][]float64
}

// point returns an identifier of a run's point.
func (r *Run) point() string {
	var b strings.Builder
	for _, axis := range slices.Sorted(maps.Keys(r.Point)) {
		b.WriteString(axis + "=" + r.Point[axis].Text + "\x00")
	}
	return b.String()
}

// byPoint groups runs by point, in the order of each point's first run.
func byPoint(runs []Run) [][]*Run {
	place := map[string]int{}
	var groups [][]*Run
	for i := range runs {
		key := runs[i].point()
		g, ok := place[key]
		if !ok {
			g = len(groups)
			place[key] = g
			groups = append(groups, nil)
		}
		groups[g] = append(groups[g], &runs[i])
	}
	return groups
}

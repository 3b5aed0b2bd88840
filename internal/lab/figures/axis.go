package figures

import (
	"cmp"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"airtide/internal/lab/judge"
	"airtide/internal/units"
	"airtide/internal/view/figure"
)

// parameterAxis maps the values of a swept parameter to the x axis.
type parameterAxis struct {
	figure.Axis
	place func(judge.Param) float64 // NaN for a value that is not on the axis
}

// An axis is logarithmic if at least leastLogValues values are positive and the greatest is at
// least leastLogRatio times the least. More than maxTicks values get round ticks.
const (
	leastLogValues = 3
	leastLogRatio  = 20
	maxTicks       = 12
	leastTickGap   = 0.06 // between two ticks, as a part of the axis
)

// axisOf returns the axis of a swept parameter: even steps for names, a logarithmic scale for
// numbers that span decades.
func axisOf(name string, values []judge.Param) parameterAxis {
	if !allNumbers(values) {
		return nameAxis(name, values)
	}
	byNumber := func(a, b judge.Param) int { return cmp.Compare(a.Number, b.Number) }
	sorted := slices.SortedFunc(slices.Values(values), byNumber)
	sorted = slices.CompactFunc(sorted, func(a, b judge.Param) bool { return a.Number == b.Number })
	unit, size := unitOf(sorted)
	a := parameterAxis{place: func(v judge.Param) float64 { return v.Number }}
	a.Axis = figure.Axis{Label: words(name), Unit: units.Scale{{Name: unit, Size: size}}}
	for _, v := range sorted {
		a.Ticks = append(a.Ticks, v.Number)
	}
	switch {
	case spansDecades(a.Ticks) && a.Ticks[0] <= 0:
		a.Kind = figure.LogWithZero
	case spansDecades(a.Ticks):
		a.Kind = figure.Log
	case crowded(a.Ticks):
		low := a.Ticks[0]
		high := a.Ticks[len(a.Ticks)-1]
		margin := 0.04 * (high - low)
		low -= margin
		high += margin
		a.Min = &low
		a.Max = &high
		a.Ticks = nil
	}
	return a
}

func spansDecades(sorted []float64) bool {
	positive := slices.DeleteFunc(slices.Clone(sorted), func(v float64) bool { return v <= 0 })
	n := len(positive)
	return n >= leastLogValues && positive[n-1] >= leastLogRatio*positive[0]
}

// crowded reports whether the values are too many or too close for one tick each.
func crowded(sorted []float64) bool {
	width := sorted[len(sorted)-1] - sorted[0]
	for i := 1; i < len(sorted); i++ {
		if sorted[i]-sorted[i-1] < leastTickGap*width {
			return true
		}
	}
	return len(sorted) > maxTicks
}

// nameAxis places each value at an even step.
func nameAxis(name string, values []judge.Param) parameterAxis {
	a := parameterAxis{Axis: figure.Axis{Label: words(name), Kind: figure.Names}}
	at := map[string]float64{}
	for i, v := range values {
		at[v.Text] = float64(i)
		a.Names = append(a.Names, v.Text)
	}
	a.place = func(v judge.Param) float64 {
		if x, ok := at[v.Text]; ok {
			return x
		}
		return math.NaN()
	}
	return a
}

// written matches a number and its unit, as in files.
var written = regexp.MustCompile(`^([0-9.]+) *(\D.*)$`)

// unitOf returns the unit, among those in the file, with the shortest values, and its size in base
// units.
func unitOf(values []judge.Param) (string, float64) {
	best := ""
	size := 1.0
	shortest := math.MaxInt
	for _, v := range values {
		m := written.FindStringSubmatch(v.Text)
		if m == nil || v.Number == 0 {
			continue
		}
		n, err := strconv.ParseFloat(m[1], 64)
		if err != nil || n <= 0 {
			continue
		}
		length := 0
		for _, other := range values {
			label := plainNumber(other.Number / (v.Number / n))
			length += len(label)
			if strings.Contains(label, ".") { // keep whole numbers, even if they are longer
				length += 3
			}
		}
		if length < shortest {
			best = m[2]
			size = v.Number / n
			shortest = length
		}
	}
	return best, size
}

// plainNumber formats a number without exponent and without rounding errors of a division.
func plainNumber(v float64) string {
	return strconv.FormatFloat(math.Round(v*1e6)/1e6, 'f', -1, 64)
}

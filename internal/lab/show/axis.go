package show

import (
	"cmp"
	"fmt"
	"math"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"gonum.org/v1/plot"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"

	"airtide/internal/lab/judge"
)

// axis is the horizontal axis: where values stand, and what is written below it.
type axis struct {
	title      string
	low, high  float64
	ticks      []plot.Tick
	automatic  bool // ticks follow from the bounds
	categories bool
	// gap is where a logarithmic axis is broken before zero.
	gap   float64
	place func(judge.Param) float64
}

// tick labels are written without exponents.
func tick(at float64, label string) plot.Tick { return plot.Tick{Value: at, Label: label} }

// logarithmic axes are for values at least so far apart.
const (
	leastLogValues = 3
	leastLogRatio  = 20
)

// axisOf is the axis of a swept parameter: even steps for words, a logarithmic scale for numbers that span decades.
func axisOf(name string, values []judge.Param) axis {
	a := axis{title: words(name)}
	if slices.ContainsFunc(values, func(v judge.Param) bool { return math.IsNaN(v.Number) }) {
		a.categorical(values)
		return a
	}
	sorted := slices.SortedFunc(slices.Values(values), func(a, b judge.Param) int { return cmp.Compare(a.Number, b.Number) })
	sorted = slices.CompactFunc(sorted, func(a, b judge.Param) bool { return a.Number == b.Number })
	unit, size := unitOf(sorted)
	if unit != "" {
		a.title = fmt.Sprintf("%s (%s)", a.title, unit)
	}
	positive := slices.DeleteFunc(slices.Clone(sorted), func(v judge.Param) bool { return v.Number <= 0 })
	if n := len(positive); n >= leastLogValues && positive[n-1].Number >= leastLogRatio*positive[0].Number {
		a.logarithmic(sorted, positive, size)
		return a
	}
	a.linear(sorted, size)
	return a
}

func (a *axis) categorical(values []judge.Param) {
	at := map[string]float64{}
	for i, v := range values {
		at[v.Text] = float64(i)
		a.ticks = append(a.ticks, tick(float64(i), v.Text))
	}
	a.categories = true
	a.low, a.high = -0.5, float64(len(values))-0.5
	a.place = func(v judge.Param) float64 {
		if x, ok := at[v.Text]; ok {
			return x
		}
		return math.NaN()
	}
}

// logarithmic places zero, if it is among the values, one step before the least positive value, behind a gap.
func (a *axis) logarithmic(sorted, positive []judge.Param, size float64) {
	log := func(v float64) float64 { return math.Log10(v / size) }
	first, last := log(positive[0].Number), log(positive[len(positive)-1].Number)
	step := (last - first) / float64(len(positive)-1)
	zero := first - 1.2*step
	a.place = func(v judge.Param) float64 {
		if v.Number <= 0 {
			return zero
		}
		return log(v.Number)
	}
	a.low, a.high, a.gap = first-0.3*step, last+0.3*step, math.NaN()
	if len(positive) < len(sorted) {
		a.low, a.gap = zero-0.3*step, zero+0.6*step
	}
	for _, v := range sorted {
		a.ticks = append(a.ticks, tick(a.place(v), short(v.Number/size)))
	}
}

func (a *axis) linear(sorted []judge.Param, size float64) {
	a.gap = math.NaN()
	a.place = func(v judge.Param) float64 { return v.Number / size }
	first, last := sorted[0].Number/size, sorted[len(sorted)-1].Number/size
	margin := 0.04 * (last - first)
	if margin == 0 {
		margin = max(math.Abs(first)*0.1, 1)
	}
	a.low, a.high = first-margin, last+margin
	crowded := len(sorted) > 12
	for i, v := range sorted {
		a.ticks = append(a.ticks, tick(v.Number/size, short(v.Number/size)))
		crowded = crowded || i > 0 && (v.Number-sorted[i-1].Number)/size < 0.06*(last-first)
	}
	if crowded {
		a.ticks, a.automatic = nil, true
	}
}

var written = regexp.MustCompile(`^([0-9.]+) *(\D.*)$`)

// unitOf is the unit, of those that the file writes, in which the values are shortest, and how many base units it holds.
func unitOf(values []judge.Param) (string, float64) {
	best, size, shortest := "", 1.0, math.MaxInt
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
			label := short(other.Number / (v.Number / n))
			length += len(label)
			if strings.Contains(label, ".") { // a longer whole number is easier to read
				length += 3
			}
		}
		if length < shortest {
			best, size, shortest = m[2], v.Number/n, length
		}
	}
	return best, size
}

// short writes a number as short as it is, without what division left behind.
func short(v float64) string {
	return strconv.FormatFloat(math.Round(v*1e6)/1e6, 'f', -1, 64)
}

// acronyms are written in capitals.
var acronyms = []string{"ap", "bbr", "mac", "phy", "rtt", "srtt", "tcp", "txop", "udp"}

// crowded says that names side by side would touch within a width.
func (a *axis) crowded(size font.Length, width vg.Length) bool {
	if !a.categories {
		return false
	}
	each := width / vg.Length(len(a.ticks))
	return slices.ContainsFunc(a.ticks, func(t plot.Tick) bool { return widthOf(size, t.Label) > 0.95*each })
}

// words makes a name readable: ap_queue becomes AP queue, jain_index Jain's index.
func words(name string) string {
	parts := strings.Split(name, "_")
	for i, p := range parts {
		switch {
		case slices.Contains(acronyms, p):
			parts[i] = strings.ToUpper(p)
		case p == "jain":
			parts[i] = "Jain's"
		}
	}
	return strings.Join(parts, " ")
}

// evenTicks are multiples of 1, 2 or 5 times a power of ten between bounds, at most about n.
func evenTicks(low, high float64, n int) []plot.Tick {
	step := (high - low) / float64(max(n, 1))
	if !(step > 0) || math.IsInf(step, 0) {
		return nil
	}
	power := math.Pow(10, math.Floor(math.Log10(step)))
	for _, m := range []float64{1, 2, 5, 10} {
		if m*power >= step*(1-1e-9) {
			step = m * power
			break
		}
	}
	decimals := max(0, -int(math.Floor(math.Log10(step)+1e-9)))
	var ticks []plot.Tick
	for i := math.Ceil(low/step - 1e-9); i*step <= high+step*1e-9; i++ {
		ticks = append(ticks, tick(i*step, strconv.FormatFloat(i*step+0, 'f', decimals, 64))) // + 0: no "-0"
	}
	return ticks
}

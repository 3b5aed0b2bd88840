package plot

import (
	"math"

	"airtide/internal/tcp"
	"airtide/internal/units"
	"airtide/internal/view/figure"
)

// view is the part of a flow that a figure shows. Bounds are in monotonic nanoseconds.
type view struct {
	*FlowSeries
	o                Options
	origin, from, to int64
}

// x is a time as a value of the x axis.
func (v *view) x(t int64) float64 { return float64(t - v.origin) }

// line is a field over time on the left axis.
func (v *view) line(name string, f tcp.Field, style figure.Style) figure.Series {
	return v.draw(name, v.curve(f), style)
}

// right is a field over time on the right axis.
func (v *view) right(name string, f tcp.Field, style figure.Style) figure.Series {
	s := v.line(name, f, style)
	s.Side = figure.Right
	return s
}

// limit marks a series as a bound that may lie far above the others.
func limit(s figure.Series) figure.Series {
	s.Limit = true
	return s
}

// clip lets rare spikes of a series leave the panel.
func clip(s figure.Series) figure.Series {
	s.Clip = true
	return s
}

// draw is a curve over time on the left axis.
func (v *view) draw(name string, c *curve, style figure.Style) figure.Series {
	return figure.Series{Name: name, Kind: figure.Step, Style: style, Data: v.samples(c)}
}

// samples are the visible part of a curve. The last value is held until the flow ends.
func (v *view) samples(c *curve) []figure.Sample {
	buckets := c.between(v.from, v.to)
	samples := make([]figure.Sample, 0, len(buckets)+1)
	for i, b := range buckets {
		s := figure.Point(v.x(b.t0), float64(b.first))
		s.End = v.x(b.t1)
		s.Min = float64(b.min)
		s.Max = float64(b.max)
		s.Last = float64(b.last)
		samples = append(samples, s)
		switch {
		case i == len(buckets)-1:
			samples = append(samples, figure.Gap(v.x(min(b.gap, max(v.LastNs, b.t1)))))
		case b.gap != noGap:
			samples = append(samples, figure.Gap(v.x(b.gap)))
		}
	}
	return samples
}

// marksOf are the visible events of a class.
func (v *view) marksOf(class markClass) []figure.Mark {
	list := v.marks[class].between(v.from, v.to)
	marks := make([]figure.Mark, len(list))
	for i, k := range list {
		marks[i] = figure.Mark{X: v.x(k.t), Low: float64(k.lo), High: float64(k.hi), Count: k.n}
	}
	return marks
}

// controlRules mark the changes of the congestion control, which lead to gaps in its state.
func (v *view) controlRules(label bool) []figure.Rule {
	var rules []figure.Rule
	for _, c := range v.controls {
		if c.ns > v.from && c.ns < v.to {
			rules = append(rules, figure.Rule{X: v.x(c.ns), Name: c.name, Label: label})
		}
	}
	return rules
}

// leastState is the part of the figure's time in which a congestion control must show its state, or
// the panel explains why it does not.
const leastState = 0.02

// hasState is true if the private state of a congestion control is there for long enough.
func (v *view) hasState(f tcp.Field) bool {
	samples := v.samples(v.curve(f))
	known := 0.0
	for i := 1; i < len(samples); i++ {
		if !math.IsNaN(samples[i-1].Last) {
			known += min(samples[i].X, v.x(v.to)) - max(samples[i-1].X, v.x(v.from))
		}
	}
	return known > 0 && known >= leastState*float64(v.to-v.from)
}

// growth is the increase of a counter.
func (v *view) growth(f tcp.Field) int64 {
	lo, hi, _ := v.curve(f).extremes(v.from, v.to)
	return hi - lo
}

// greatest is the greatest value of a field, zero if it is absent.
func (v *view) greatest(f tcp.Field) int64 {
	_, hi, _ := v.curve(f).extremes(v.from, v.to)
	return hi
}

// receives is true if the flow received more than it sent.
func (v *view) receives() bool { return v.growth(tcp.ReceivedBytes) > v.growth(tcp.AckedBytes) }

// rttAxis is the axis of round-trip times.
func (v *view) rttAxis() figure.Axis {
	a := figure.Axis{Label: "RTT", Unit: units.Microseconds}
	if v.o.LogRTT {
		a.Kind = figure.Log
	}
	return a
}

// solid is a style of lines. No two lines of one panel share dash and width, so that they also
// differ without their colours.
func solid(ink figure.Ink, width float64) figure.Style { return figure.Style{Ink: ink, Width: width} }

func dashed(ink figure.Ink, width float64) figure.Style {
	return figure.Style{Ink: ink, Width: width, Dash: figure.Dashed}
}

func dotted(ink figure.Ink, width float64) figure.Style {
	return figure.Style{Ink: ink, Width: width, Dash: figure.Dotted}
}

func dashDot(ink figure.Ink, width float64) figure.Style {
	return figure.Style{Ink: ink, Width: width, Dash: figure.DashDot}
}

func longDash(ink figure.Ink, width float64) figure.Style {
	return figure.Style{Ink: ink, Width: width, Dash: figure.LongDash}
}

func marker(ink figure.Ink, shape figure.Marker, radius float64) figure.Style {
	return figure.Style{Ink: ink, Marker: shape, Radius: radius, Width: 1}
}

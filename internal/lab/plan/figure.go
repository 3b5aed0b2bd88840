package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"airtide/internal/lab/document"
)

// Figure describes a picture of measurements.
type Figure struct {
	Kind       FigureKind  `json:"kind" jsonschema:"lines, bars, scatter, or timeline: measurements over the time of one run, the first finished run of a point."`
	Title      string      `json:"title,omitzero" jsonschema:"Title of the figure."`
	X          string      `json:"x,omitzero" jsonschema:"Swept parameter on the x axis; for scatter also a measurement; none for timeline."`
	Y          Names       `json:"y,omitzero" jsonschema:"Measurements on the y axis, with error bars; for timeline only goodput, srtt, cwnd, ca_state, cubic_k and send_window. Required without plot."`
	Plot       PlotKind    `json:"plot,omitzero" jsonschema:"timeline: a figure of airtide plot (from a flow's recording) or of airtide packets (from its capture), in place of y."`
	Series     Names       `json:"series,omitzero" jsonschema:"Swept parameters with a line or bar for each value. Default: all except x and those in at."`
	Of         Names       `json:"of,omitzero" jsonschema:"timeline: only these flows, by their names in results. Default: all flows of the measurement."`
	RelativeTo PointFilter `json:"relative_to,omitzero" jsonschema:"scatter: show the gain over the runs with these values of swept parameters. y is divided by the mean of these runs; a measurement x is the mean of these runs."`
	At         PointFilter `json:"at,omitzero" jsonschema:"Only runs with these values of swept parameters, like at() in a claim."`
}

// PlotKind is a figure of package plot, of a recording or of a capture.
type PlotKind string

func (*PlotKind) Choices() []string {
	return []string{
		"cwnd", "rtt", "queues", "rates", "windows", "cubic", "bbr", "sequence", "limits", "radio",
		"overview", "packets", "ack-time", "flight",
	}
}

// OfCapture reports whether the figure is drawn from captured packets, and not from a recording.
func (k PlotKind) OfCapture() bool { return k == "packets" || k == "ack-time" || k == "flight" }

// PointFilter selects points by the values of swept parameters.
type PointFilter map[string]string

// String lists the values in the order of the parameters' names.
func (p PointFilter) String() string {
	var values []string
	for _, name := range slices.Sorted(maps.Keys(p)) {
		values = append(values, p[name])
	}
	return strings.Join(values, ", ")
}

// FigureKind is the type of a figure.
type FigureKind string

// Timeline is a figure over the time of a run.
const Timeline FigureKind = "timeline"

func (*FigureKind) Choices() []string { return []string{"lines", "bars", "scatter", string(Timeline)} }

// check checks the part of a figure that is equal at all points.
func (f Figure) check(c *checker, path string) {
	swept := c.swept()
	measured := c.e.Measure.Names()
	possible := swept
	if f.Kind == "scatter" {
		possible = slices.Concat(swept, measured)
	}
	switch {
	case f.Kind == Timeline && f.X != "":
		c.problem(path+".x", fmt.Sprintf("%q", f.X), "none: a timeline is over time")
	case f.Kind != Timeline && !slices.Contains(possible, f.X):
		c.problem(path+".x", fmt.Sprintf("%q", f.X), document.OneOf(f.X, possible))
	}
	switch {
	case f.Plot == "" && len(f.Y) == 0:
		c.problem(path+".y", "nothing", document.OneOf("", measured))
	case f.Plot != "":
		f.checkPlot(c, path)
	}
	for i, y := range f.Y {
		m, ok := c.e.Measure.Get(y)
		switch {
		case !ok:
			c.problem(c.item(path+".y", i), fmt.Sprintf("%q", y), document.OneOf(y, measured))
		case f.Kind == Timeline && !m.Quantity.HasTimeSeries():
			c.problem(c.item(path+".y", i), fmt.Sprintf("%s, which is %s", y, m.Quantity),
				"over time there are only "+document.OneOf("", timeSeriesNames()))
		}
	}
	if len(f.Of) > 0 && f.Kind != Timeline {
		c.problem(path+".of", "flows for "+string(f.Kind), "none: only a timeline is of some flows")
	}
	f.At.check(c, path+".at")
	f.RelativeTo.check(c, path+".relative_to")
	if len(f.RelativeTo) > 0 && f.Kind != "scatter" {
		c.problem(path+".relative_to", "a base for "+string(f.Kind), "none: only a scatter shows gains")
	}
	for i, s := range f.Series {
		if _, fixed := f.At[s]; fixed || !slices.Contains(swept, s) || s == f.X {
			left := slices.DeleteFunc(
				slices.Clone(swept), func(p string) bool { _, fixed := f.At[p]; return fixed || p == f.X },
			)
			c.problem(c.item(path+".series", i), fmt.Sprintf("%q", s), document.OneOf(s, left))
		}
	}
}

// checkFlows checks the flows of a figure, and that they are recorded.
func (f Figure) checkFlows(c *checker, path string) {
	plot := fmt.Sprintf("%q", string(f.Plot))
	switch {
	case f.Plot.OfCapture() && len(c.e.Record.Packets) == 0:
		c.problem(path+".plot", plot, "a capture to draw it from: name machines in record.packets")
	case f.Plot != "" && !f.Plot.OfCapture() && len(c.e.Record.TCP) == 0:
		c.problem(path+".plot", plot, "a recording to draw it from: name machines in record.tcp")
	}
	for i, name := range f.Of {
		// A flow of the file can stand for several flows, and their number depends on the point.
		if flows := c.e.Flows.Names(); !slices.Contains(flows, name) &&
			!slices.Contains(flows, strings.TrimRight(name, "0123456789")) {
			c.problem(
				c.item(path+".of", i), fmt.Sprintf("%q", name),
				document.OneOf(name, flows)+", with its number where it stands for several",
			)
		}
	}
}

// swept returns the names of the sweep's parameters.
func (c *checker) swept() (names []string) {
	for _, p := range c.parameters {
		names = append(names, p.Name)
	}
	return names
}

// checkPlot checks a figure of one flow's recording or capture.
func (f Figure) checkPlot(c *checker, path string) {
	plot := fmt.Sprintf("%q", string(f.Plot))
	switch {
	case f.Kind != Timeline:
		c.problem(path+".plot", plot+" for "+string(f.Kind), "none: only a timeline is of a recording")
	case len(f.Y) > 0:
		c.problem(path+".plot", plot+" and y", "one of the two")
	case len(f.Of) != 1:
		c.problem(path+".of", fmt.Sprintf("%d flows", len(f.Of)), "the flow whose "+string(f.Plot)+" to draw")
	}
}

func timeSeriesNames() []string {
	var names []string
	for _, q := range timeSeries {
		names = append(names, string(q))
	}
	return names
}

// check checks that the swept parameters have the given values.
func (place PointFilter) check(c *checker, path string) {
	for _, name := range slices.Sorted(maps.Keys(place)) {
		i := slices.IndexFunc(c.parameters, func(p Parameter) bool { return p.Name == name })
		if i < 0 {
			c.problem(path+"."+name, fmt.Sprintf("%q", name), document.OneOf(name, c.swept()))
		} else if values := c.parameters[i].Values; !slices.Contains(values, place[name]) {
			c.problem(path+"."+name, fmt.Sprintf("%q", place[name]), document.OneOf(place[name], values))
		}
	}
}

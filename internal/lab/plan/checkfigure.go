package plan

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// figure checks the part of a figure that is equal at all points.
func (c *checker) figure(path string, f Figure) {
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
		c.problem(path+".x", fmt.Sprintf("%q", f.X), oneOf(f.X, possible))
	}
	switch {
	case f.Plot == "" && len(f.Y) == 0:
		c.problem(path+".y", "nothing", oneOf("", measured))
	case f.Plot != "":
		c.plot(path, f)
	}
	for i, y := range f.Y {
		m, ok := c.e.Measure.Get(y)
		switch {
		case !ok:
			c.problem(c.item(path+".y", i), fmt.Sprintf("%q", y), oneOf(y, measured))
		case f.Kind == Timeline && !m.Quantity.HasTimeSeries():
			c.problem(c.item(path+".y", i), fmt.Sprintf("%s, which is %s", y, m.Quantity),
				"over time there are only "+oneOf("", timeSeriesNames()))
		}
	}
	if len(f.Of) > 0 && f.Kind != Timeline {
		c.problem(path+".of", "flows for "+string(f.Kind), "none: only a timeline is of some flows")
	}
	c.place(path+".at", f.At)
	c.place(path+".relative_to", f.RelativeTo)
	if len(f.RelativeTo) > 0 && f.Kind != "scatter" {
		c.problem(path+".relative_to", "a base for "+string(f.Kind), "none: only a scatter shows gains")
	}
	for i, s := range f.Series {
		if _, fixed := f.At[s]; fixed || !slices.Contains(swept, s) || s == f.X {
			left := slices.DeleteFunc(
				slices.Clone(swept), func(p string) bool { _, fixed := f.At[p]; return fixed || p == f.X },
			)
			c.problem(c.item(path+".series", i), fmt.Sprintf("%q", s), oneOf(s, left))
		}
	}
}

// figureFlows checks the flows of a figure, and that they are recorded.
func (c *checker) figureFlows(path string, f Figure) {
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
				oneOf(name, flows)+", with its number where it stands for several",
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

// plot checks a figure of one flow's recording or capture.
func (c *checker) plot(path string, f Figure) {
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

// place checks that the swept parameters have the given values.
func (c *checker) place(path string, place PointFilter) {
	for _, name := range slices.Sorted(maps.Keys(place)) {
		i := slices.IndexFunc(c.parameters, func(p Parameter) bool { return p.Name == name })
		if i < 0 {
			c.problem(path+"."+name, fmt.Sprintf("%q", name), oneOf(name, c.swept()))
		} else if values := c.parameters[i].Values; !slices.Contains(values, place[name]) {
			c.problem(path+"."+name, fmt.Sprintf("%q", place[name]), oneOf(place[name], values))
		}
	}
}

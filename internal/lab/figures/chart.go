package figures

import (
	"cmp"
	"fmt"
	"slices"

	"airtide/internal/units"
	"airtide/internal/view/figure"
)

// maxEntries is the largest number of series in a legend; more series could not be distinguished.
const maxEntries = 24

// chart is a figure of panels. A series has the same name and style in all panels.
type chart struct {
	figure.Figure
	names []string
}

// newChart returns a chart with one legend above its panels.
func newChart(title string) *chart {
	return &chart{Figure: figure.Figure{
		Title: title, Legend: figure.SharedLegend, Cells: make([]figure.Cell, 1),
	}}
}

func (c *chart) add(p figure.Panel) {
	p.Empty = cmp.Or(p.Empty, "no run has values here")
	c.Cells[0].Panels = append(c.Cells[0].Panels, p)
}

// styleOf returns the style of the series with a name.
func (c *chart) styleOf(name string) figure.Style {
	i := slices.Index(c.names, name)
	if i < 0 {
		i = len(c.names)
		c.names = append(c.names, name)
	}
	return figure.StyleOf(i)
}

// lineStyleOf returns the style of a line without markers.
func (c *chart) lineStyleOf(name string) figure.Style {
	s := c.styleOf(name)
	s.Marker = figure.NoMarker
	s.Width = 1
	return s
}

// limitLegend removes a legend with too many entries and returns a note about it.
func (c *chart) limitLegend(what string) string {
	if len(c.names) <= maxEntries {
		return ""
	}
	c.Legend = figure.NoLegend
	return fmt.Sprintf("%d %s, without a legend", len(c.names), what)
}

// valueAxis returns a vertical axis of values in a fixed unit.
func valueAxis(label, unit string) figure.Axis {
	return figure.Axis{Label: label, Unit: units.Scale{{Name: unit, Size: 1}}}
}

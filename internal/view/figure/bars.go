package figure

import (
	"math"
	"slices"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"

	"airtide/internal/units"
)

const (
	barGroup  = 0.8 // width as a part of the distance between two values of x
	barTint   = 50  // percentage of ink in the area of a bar
	maxValues = 16  // bars of a panel that have their values written above them
	valueFont = 0.8 // part of the text's font size

	valueDigits = 4 // papers print as many, and repeats of a run agree in fewer
)

// drawBars draws the series of bars, one beside the other at each x, with their values above them
// if there is room.
func (p *plotted) drawBars() {
	of := p.barSeries()
	if len(of) == 0 {
		return
	}
	width := min(barGroup/float64(len(of)), barGroup/2)
	values := p.hasValues(p.atX(width) - p.atX(0))
	for place, s := range of {
		for i := range s.Data {
			d := &s.Data[i]
			if d.absent() {
				continue
			}
			left := d.X + width*(float64(place)-float64(len(of))/2)
			inset := 0.04 * width
			area := vg.Rectangle{
				Min: vg.Point{X: p.atX(left + inset), Y: p.atY(s.Side, min(0, d.Last))},
				Max: vg.Point{X: p.atX(left + width - inset), Y: p.atY(s.Side, max(0, d.Last))},
			}
			p.drawBar(s.Style, area)
			middle := (area.Min.X + area.Max.X) / 2
			p.drawInterval(s.Side, Text, middle, d, min(4, (area.Max.X-area.Min.X)/4))
			if values {
				top := d.Last
				if !math.IsNaN(d.High) {
					top = max(top, min(d.High, p.y.of(s.Side).hi))
				}
				at := vg.Point{X: middle, Y: p.atY(s.Side, top) + 2}
				p.write(p.valueSize(), at, alignCentre, units.Digits(d.Last, valueDigits))
			}
		}
	}
}

func (p *Panel) barSeries() []*Series {
	var of []*Series
	for i := range p.Series {
		if p.Series[i].Kind == Bars {
			of = append(of, &p.Series[i])
		}
	}
	return of
}

// fewBars is true if the bars of a panel are few enough to have their values above them.
func (p *Panel) fewBars() bool {
	n := 0
	for _, s := range p.barSeries() {
		n += len(s.Data)
	}
	return n > 0 && n <= maxValues
}

func (p *plotted) valueSize() font.Length { return p.textSize * valueFont }

// hasValues is true if the values have room above bars of a width.
func (p *plotted) hasValues(width vg.Length) bool {
	return p.fewBars() && !slices.ContainsFunc(p.barSeries(), func(s *Series) bool {
		return slices.ContainsFunc(s.Data, func(d Sample) bool {
			return widthOf(p.valueSize(), units.Digits(d.Last, valueDigits)) > width
		})
	})
}

// drawBar draws a tinted and hatched area.
func (c *canvas) drawBar(s Style, area vg.Rectangle) {
	c.fill(c.theme.tint(s.Ink, barTint), area)
	d := c.clipped(area)
	hatching := c.stroke(Style{Ink: s.Ink, Width: 0.6})
	for _, l := range hatchLines(s.Hatch, area) {
		d.StrokeLines(hatching, d.ClipLinesXY(l)...)
	}
	d.StrokeLines(c.stroke(Style{Ink: s.Ink, Width: 0.9}), outline(area))
}

// hatchLines are the lines of a hatch over an area.
func hatchLines(h Hatch, area vg.Rectangle) [][]vg.Point {
	const gap = vg.Length(4)
	var lines [][]vg.Point
	add := func(from, to vg.Point) { lines = append(lines, []vg.Point{from, to}) }
	wide := area.Max.X - area.Min.X
	high := area.Max.Y - area.Min.Y
	if h == Rising || h == Crossed {
		for x := area.Min.X - high; x < area.Min.X+wide; x += gap * 1.4 {
			add(vg.Point{X: x, Y: area.Min.Y}, vg.Point{X: x + high, Y: area.Max.Y})
		}
	}
	if h == Falling || h == Crossed {
		for x := area.Min.X - high; x < area.Min.X+wide; x += gap * 1.4 {
			add(vg.Point{X: x, Y: area.Max.Y}, vg.Point{X: x + high, Y: area.Min.Y})
		}
	}
	if h == Level {
		for y := area.Min.Y + gap; y < area.Max.Y; y += gap {
			add(vg.Point{X: area.Min.X, Y: y}, vg.Point{X: area.Max.X, Y: y})
		}
	}
	if h == Upright {
		for x := area.Min.X + gap; x < area.Max.X; x += gap {
			add(vg.Point{X: x, Y: area.Min.Y}, vg.Point{X: x, Y: area.Max.Y})
		}
	}
	return lines
}

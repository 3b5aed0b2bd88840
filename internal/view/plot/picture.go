package report

import (
	"fmt"
	"math"
	"slices"

	"airtide/internal/view/paper"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// picture is a whole figure: cells in a grid, or one.
type picture struct {
	area          vg.Rectangle
	cells         []*cell
	rows, columns int
	time          *timeAxis
	o             Options
}

// cell is what is drawn of one flow: a title and panels above each other.
type cell struct {
	flow   *FlowSeries
	panels []*panel
}

// Font sizes in points, for a figure as wide as a page; it may be printed at three fifths of its size and be read
// still. A smaller figure has smaller letters, a larger one larger letters, though less so than its size.
const (
	pageFont = 10.5
	gridFont = 8.5
	noteFont = 7.5
	margin   = 5 * vg.Length(1)
	cellGap  = 9 * vg.Length(1)
)

func (p *picture) draw(to vg.Canvas) error {
	scale := font.Length(min(1.4, 0.45+0.55*(p.area.Max.X/(defaultWide*vg.Centimeter))))
	size := pageFont * scale
	if p.o.Grid {
		size = gridFont * scale
	}
	c := &canvas{vg: to, style: p.o.Style, titleSize: size, textSize: size - 0.5, tickSize: size - 1}
	var sheet vg.Path
	sheet.Move(p.area.Min)
	sheet.Line(vg.Point{X: p.area.Max.X, Y: p.area.Min.Y})
	sheet.Line(p.area.Max)
	sheet.Line(vg.Point{X: p.area.Min.X, Y: p.area.Max.Y})
	sheet.Close()
	to.SetColor(paper.RGB(0xFF, 0xFF, 0xFF))
	to.Fill(sheet)

	area := vg.Rectangle{
		Min: p.area.Min.Add(vg.Point{X: margin, Y: margin}),
		Max: p.area.Max.Sub(vg.Point{X: margin, Y: margin}),
	}
	if p.o.Note != "" {
		c.line(noteFont, vg.Point{X: area.Min.X, Y: area.Min.Y + noteFont*0.25}, area.Max.X-area.Min.X, p.o.Note)
		area.Min.Y += noteFont * lineHeight
	}
	if !p.o.Grid {
		title := p.o.Title
		if title == "" {
			title = p.cells[0].flow.label()
		}
		if p.o.NoTitle {
			title = ""
		}
		return c.drawCell(p.cells[0], area, p.time, title, true)
	}
	if p.o.Title != "" && !p.o.NoTitle {
		c.line(pageFont, vg.Point{X: area.Min.X, Y: area.Max.Y - pageFont}, area.Max.X-area.Min.X, p.o.Title)
		area.Max.Y -= pageFont * lineHeight
	}
	rows := c.rowsOf(p.sharedLegend(), area.Max.X-area.Min.X)
	c.drawLegend(rows, vg.Point{X: area.Min.X, Y: area.Max.Y})
	area.Max.Y -= c.legendHeight(len(rows)) + 2

	wide := (area.Max.X - area.Min.X - cellGap*vg.Length(p.columns-1)) / vg.Length(p.columns)
	high := (area.Max.Y - area.Min.Y - cellGap*vg.Length(p.rows-1)) / vg.Length(p.rows)
	for i, cell := range p.cells {
		corner := vg.Point{
			X: area.Min.X + vg.Length(i%p.columns)*(wide+cellGap),
			Y: area.Max.Y - vg.Length(i/p.columns)*(high+cellGap) - high,
		}
		room := vg.Rectangle{Min: corner, Max: corner.Add(vg.Point{X: wide, Y: high})}
		if err := c.drawCell(cell, room, p.time, cell.flow.label(), false); err != nil {
			return err
		}
	}
	return nil
}

// sharedLegend is the one legend of a grid: what appears in any cell.
func (p *picture) sharedLegend() []entry {
	var all []entry
	for i := range p.cells[0].panels {
		for _, cell := range p.cells {
			for _, e := range cell.panels[i].legend(p.time.from, p.time.to, false) {
				if !slices.ContainsFunc(all, func(o entry) bool { return o.label == e.label }) {
					all = append(all, e)
				}
			}
		}
	}
	return all
}

// line writes a line of text that is shortened to a width; at is the left end of its baseline.
func (c *canvas) line(size font.Length, at vg.Point, width vg.Length, s string) {
	size, s = fitted(size, s, width)
	c.write(size, at, alignLeft, s)
}

// drawCell draws the panels of a flow into an area. Titles of axes and legends take what they need, the data the rest.
func (c *canvas) drawCell(cell *cell, area vg.Rectangle, time *timeAxis, title string, legends bool) error {
	if title != "" {
		c.line(c.titleSize, vg.Point{X: area.Min.X, Y: area.Max.Y - c.titleSize*0.9}, area.Max.X-area.Min.X, title)
		area.Max.Y -= c.titleSize*lineHeight + 1
	}
	bottom := tickLength + tickGap + c.tickSize*1.2 + c.textSize*lineHeight + 1
	var weights, taken vg.Length
	for _, p := range cell.panels {
		weights += vg.Length(p.height())
	}
	// Ticks decide how wide the axes are, the width how many rows a legend has, and the rows how high the panel is and
	// how many ticks it has: twice round settles it.
	left, right, unit := vg.Length(30), vg.Length(10), (area.Max.Y-area.Min.Y)*0.8/weights
	var indent vg.Length // of legends
	var rows [][][]entry
	for range 3 {
		left, right = c.margins(cell, unit, time)
		rows, indent, taken = rows[:0], left, bottom+cellGap*vg.Length(len(cell.panels)-1)
		for _, p := range cell.panels {
			var r [][]entry
			if legends {
				entries := p.legend(time.from, time.to, true)
				r = c.rowsOf(entries, area.Max.X-area.Min.X-left)
				if wider := c.rowsOf(entries, area.Max.X-area.Min.X); len(wider) < len(r) {
					r, indent = wider, 0
				}
			}
			rows = append(rows, r)
			taken += c.legendHeight(len(r))
		}
		unit = max(1, area.Max.Y-area.Min.Y-taken) / weights
	}
	for _, p := range cell.panels {
		if have, need := unit*vg.Length(p.height()), c.leastHeight(p); have < need {
			missing := (need - have) / vg.Length(p.height()) * weights
			return fmt.Errorf("figure: too low for what it has to show: make it at least %.1f cm higher", math.Ceil(float64(missing/vg.Centimeter)*10)/10)
		}
	}
	y := area.Max.Y
	for i, p := range cell.panels {
		c.drawLegend(rows[i], vg.Point{X: area.Min.X + indent, Y: y})
		y -= c.legendHeight(len(rows[i]))
		data := vg.Rectangle{
			Min: vg.Point{X: area.Min.X + left, Y: y - unit*vg.Length(p.height())},
			Max: vg.Point{X: area.Max.X - right, Y: y},
		}
		at := &plotted{panel: p, canvas: c, area: data, time: time, end: cell.flow.LastNs}
		at.draw()
		middle, room := (data.Min.Y+data.Max.Y)/2, data.Max.Y-data.Min.Y
		c.writeUp(c.textSize, vg.Point{X: area.Min.X + c.textSize*0.8, Y: middle}, room, p.left.title())
		if p.right != nil {
			c.writeUp(c.textSize, vg.Point{X: area.Max.X - c.textSize*0.3, Y: middle}, room, p.right.title())
		}
		c.timeTicks(data, time, i == len(cell.panels)-1)
		y = data.Min.Y - cellGap
	}
	return nil
}

// leastHeight is the height below which a panel could not be read.
func (c *canvas) leastHeight(p *panel) vg.Length {
	return max(3, vg.Length(len(p.left.levels))) * c.tickSize * 1.05
}

func (p *panel) height() float64 {
	if p.weight == 0 {
		return 1
	}
	return p.weight
}

// margins are the widths left and right of the data, the same for all panels so that their time axes are aligned.
func (c *canvas) margins(cell *cell, unit vg.Length, time *timeAxis) (left, right vg.Length) {
	beside := func(a *axis, height vg.Length) vg.Length {
		var widest vg.Length
		for _, t := range a.ticks(tickCount(height, c.tickSize*2.4, 8)) {
			widest = max(widest, widthOf(c.tickSize, t.text))
		}
		return c.textSize*1.35 + widest + tickGap + tickLength
	}
	right = c.tickSize // the last label of the time axis reaches beyond the data
	if !time.wall.IsZero() {
		right = widthOf(c.tickSize, "00:00:00") / 2
	}
	for _, p := range cell.panels {
		height := unit * vg.Length(p.height())
		left = max(left, beside(p.left, height))
		if p.right != nil {
			right = max(right, beside(p.right, height))
		}
	}
	return left, right
}

// timeTicks draws the ticks of the time axis below a panel, with labels and the title below the lowest.
func (c *canvas) timeTicks(data vg.Rectangle, time *timeAxis, labels bool) {
	width := data.Max.X - data.Min.X
	each := c.tickSize * 4
	if !time.wall.IsZero() {
		each = widthOf(c.tickSize, "00:00:00") * 1.35
		if float64(time.to-time.from)/float64(width/each) < 1e9 { // labels have fractions of a second
			each = widthOf(c.tickSize, "00:00:00.000") * 1.35
		}
	}
	for _, t := range time.ticks(tickCount(width, each, 12)) {
		x := data.Min.X + vg.Length(time.norm(int64(t.v)))*width
		c.rule(black, 0.6, vg.Point{X: x, Y: data.Min.Y - tickLength}, vg.Point{X: x, Y: data.Min.Y})
		if labels {
			c.write(c.tickSize, vg.Point{X: x, Y: data.Min.Y - tickLength - tickGap - c.tickSize*0.95}, alignCentre, t.text)
		}
	}
	if labels {
		y := data.Min.Y - tickLength - tickGap - c.tickSize*1.2 - c.textSize*1.05
		c.write(c.textSize, vg.Point{X: (data.Min.X + data.Max.X) / 2, Y: y}, alignCentre, time.title())
	}
}

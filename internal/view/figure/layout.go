package figure

import (
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// Font sizes in points for a figure as wide as a page, readable in print at three fifths of the
// size.
const (
	pageFont  = 10.5
	gridFont  = 8.5
	noteFont  = 7.5
	leastFont = 6 // least font size of a note
	margin    = vg.Length(5)
	cellGap   = vg.Length(9)
)

// fontOf is the font size for a width. A smaller figure has smaller letters, though less so than
// its size.
func fontOf(base font.Length, width vg.Length) font.Length {
	return base * font.Length(min(1.4, 0.45+0.55*(width/(defaultWidthCm*vg.Centimeter))))
}

// sheet is a figure being drawn: its axes have bounds.
type sheet struct {
	*canvas
	*Figure
	x       scale
	cells   []cellScales
	noTitle bool
}

// cellScales are the settled vertical axes of the panels of a cell.
type cellScales []panelScales

// panelScales are the settled vertical axes of a panel; right may be nil.
type panelScales struct{ left, right *scale }

func (p panelScales) of(side Side) *scale {
	if side == Right && p.right != nil {
		return p.right
	}
	return p.left
}

// draw draws a figure into an area.
func (s *sheet) draw(paper vg.Rectangle) error {
	grid := s.Columns > 0
	s.fill(s.theme.Paper, paper)
	area := vg.Rectangle{
		Min: paper.Min.Add(vg.Point{X: margin, Y: margin}),
		Max: paper.Max.Sub(vg.Point{X: margin, Y: margin}),
	}
	width := area.Max.X - area.Min.X
	if s.Note != "" {
		size := max(leastFont, min(noteFont, fontOf(noteFont, paper.Max.X-paper.Min.X)))
		s.writeLine(size, vg.Point{X: area.Min.X, Y: area.Min.Y + size*0.25}, width, s.Note)
		area.Min.Y += size * lineHeight
	}
	if s.Title != "" && !s.noTitle {
		if grid {
			s.writeLine(pageFont, vg.Point{X: area.Min.X, Y: area.Max.Y - pageFont}, width, s.Title)
			area.Max.Y -= pageFont * lineHeight
		} else {
			area.Max.Y -= s.drawTitle(area, s.Title)
		}
	}
	if s.sharesLegend() {
		rows := s.rowsOf(s.sharedLegend(), width)
		s.drawLegend(rows, vg.Point{X: area.Min.X, Y: area.Max.Y})
		area.Max.Y -= s.legendHeight(len(rows)) + 2
	}
	if !grid {
		return s.drawCell(0, area)
	}
	return s.drawGrid(area)
}

// drawTitle writes a title at the top of an area and returns its height.
func (s *sheet) drawTitle(area vg.Rectangle, title string) vg.Length {
	at := vg.Point{X: area.Min.X, Y: area.Max.Y - s.titleSize*0.9}
	s.writeLine(s.titleSize, at, area.Max.X-area.Min.X, title)
	return s.titleSize*lineHeight + 1
}

func (s *sheet) drawGrid(area vg.Rectangle) error {
	columns := s.Columns
	rows := (len(s.Cells) + columns - 1) / columns
	wide := (area.Max.X - area.Min.X - cellGap*vg.Length(columns-1)) / vg.Length(columns)
	high := (area.Max.Y - area.Min.Y - cellGap*vg.Length(rows-1)) / vg.Length(rows)
	for i := range s.Cells {
		corner := vg.Point{
			X: area.Min.X + vg.Length(i%columns)*(wide+cellGap),
			Y: area.Max.Y - vg.Length(i/columns)*(high+cellGap) - high,
		}
		cell := vg.Rectangle{Min: corner, Max: corner.Add(vg.Point{X: wide, Y: high})}
		cell.Max.Y -= s.drawTitle(cell, s.Cells[i].Title)
		if err := s.drawCell(i, cell); err != nil {
			return err
		}
	}
	return nil
}

// cellLayout is the division of a cell's area.
type cellLayout struct {
	left, right vg.Length // beside the data
	indent      vg.Length // indentation of legends
	legends     [][][]entry
	unit        vg.Length // height of a panel of weight 1
}

// drawCell draws the panels of a cell into an area. Titles of axes and legends take the height they
// need, the data the rest.
func (s *sheet) drawCell(cell int, area vg.Rectangle) error {
	panels := s.Cells[cell].Panels
	l, err := s.layOut(cell, area)
	if err != nil {
		return err
	}
	y := area.Max.Y
	for i := range panels {
		p := &panels[i]
		s.drawLegend(l.legends[i], vg.Point{X: area.Min.X + l.indent, Y: y})
		y -= s.legendHeight(len(l.legends[i]))
		data := vg.Rectangle{
			Min: vg.Point{X: area.Min.X + l.left, Y: y - l.unit*vg.Length(p.weight())},
			Max: vg.Point{X: area.Max.X - l.right, Y: y},
		}
		at := &plotted{Panel: p, canvas: s.canvas, area: data, x: &s.x, y: s.cells[cell][i]}
		at.draw()
		middle := (data.Min.Y + data.Max.Y) / 2
		length := data.Max.Y - data.Min.Y
		s.writeUp(s.textSize, vg.Point{X: area.Min.X + s.textSize*0.8, Y: middle}, length, at.y.left.title())
		if at.y.right != nil {
			s.writeUp(s.textSize, vg.Point{X: area.Max.X - s.textSize*0.3, Y: middle}, length, at.y.right.title())
		}
		s.drawX(data, i == len(panels)-1)
		y = data.Min.Y - cellGap
	}
	return nil
}

// layOut divides the area of a cell. Ticks decide the width of the axes, the width decides the rows
// of a legend, and the rows decide the height of a panel and its ticks: three rounds settle it.
func (s *sheet) layOut(cell int, area vg.Rectangle) (cellLayout, error) {
	panels := s.Cells[cell].Panels
	var weights vg.Length
	for i := range panels {
		weights += vg.Length(panels[i].weight())
	}
	l := cellLayout{unit: (area.Max.Y - area.Min.Y) * 0.8 / weights}
	for range 3 {
		l.left, l.right = s.margins(cell, l.unit)
		l.legends = nil
		l.indent = l.left
		taken := s.heightOfX(area.Max.X-area.Min.X-l.left-l.right) + cellGap*vg.Length(len(panels)-1)
		for i := range panels {
			var rows [][]entry
			if s.Columns == 0 && s.Legend == PanelLegend {
				entries := panels[i].legend(s.cells[cell][i], s.x.lo, true)
				rows = s.rowsOf(entries, area.Max.X-area.Min.X-l.left)
				if wider := s.rowsOf(entries, area.Max.X-area.Min.X); len(wider) < len(rows) {
					rows = wider
					l.indent = 0
				}
			}
			l.legends = append(l.legends, rows)
			taken += s.legendHeight(len(rows))
		}
		l.unit = max(1, area.Max.Y-area.Min.Y-taken) / weights
	}
	for i := range panels {
		weight := vg.Length(panels[i].weight())
		if have, need := l.unit*weight, s.leastHeight(&panels[i]); have < need {
			missing := float64((need - have) / weight * weights / vg.Centimeter)
			return l, fmt.Errorf("figure: too low for what it has to show: make it at least %.1f cm higher",
				math.Ceil(missing*10)/10)
		}
	}
	return l, nil
}

// leastHeight is the height below which a panel cannot be read.
func (s *sheet) leastHeight(p *Panel) vg.Length {
	return max(3, vg.Length(len(p.Left.Names))) * s.tickSize * 1.05
}

// margins are the widths left and right of the data, the same for all panels so that their x axes
// are aligned.
func (s *sheet) margins(cell int, unit vg.Length) (left, right vg.Length) {
	beside := func(a *scale, height vg.Length) vg.Length {
		var widest vg.Length
		for _, t := range a.ticks(tickCount(height, s.tickSize*2.4, 8)) {
			widest = max(widest, widthOf(s.tickSize, t.text))
		}
		return s.textSize*1.35 + widest + tickGap + tickLength
	}
	right = s.tickSize // the last label of the x axis reaches beyond the data
	if s.x.Kind == Clock {
		right = widthOf(s.tickSize, "00:00:00") / 2
	}
	for i, scales := range s.cells[cell] {
		height := unit * vg.Length(s.Cells[cell].Panels[i].weight())
		left = max(left, beside(scales.left, height))
		if scales.right != nil {
			right = max(right, beside(scales.right, height))
		}
	}
	return left, right
}

func (s *sheet) sharesLegend() bool {
	return s.Legend == SharedLegend || s.Columns > 0 && s.Legend != NoLegend
}

// sharedLegend is the one legend of a grid: the series and marks of all cells. A series that leaves
// one of the panels is off scale.
func (s *sheet) sharedLegend() []entry {
	var all []entry
	for i := range s.Cells[0].Panels {
		for c := range s.Cells {
			if i >= len(s.Cells[c].Panels) {
				continue
			}
			for _, e := range s.Cells[c].Panels[i].legend(s.cells[c][i], s.x.lo, false) {
				at := slices.IndexFunc(all, func(o entry) bool { return o.name == e.name })
				switch {
				case at < 0:
					all = append(all, e)
				case e.label != e.name:
					all[at].label = e.label
				}
			}
		}
	}
	return all
}

// tickCount is about how many ticks fit on an axis.
func tickCount(length, each vg.Length, most int) int { return max(2, min(most, int(length/each))) }

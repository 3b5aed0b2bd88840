package figure

import "gonum.org/v1/plot/vg"

// plotted is a panel being drawn: its data area on the canvas and its axes.
type plotted struct {
	*Panel
	*canvas
	area vg.Rectangle
	x    *scale
	y    panelScales
}

func (p *plotted) atX(v float64) vg.Length {
	return p.area.Min.X + vg.Length(p.x.norm(v))*(p.area.Max.X-p.area.Min.X)
}

func (p *plotted) atY(side Side, v float64) vg.Length {
	return p.area.Min.Y + vg.Length(p.y.of(side).norm(v))*(p.area.Max.Y-p.area.Min.Y)
}

// draw draws the data area, its frame and the ticks of the vertical axes.
func (p *plotted) draw() {
	if p.empty() {
		p.writeParagraph(p.area, p.Empty)
		p.frame(p.area)
		return
	}
	p.drawTicks()
	for i := range p.Rules {
		p.drawRule(&p.Rules[i])
	}
	for i := range p.Marks {
		if p.Marks[i].Under {
			p.drawMarks(&p.Marks[i])
		}
	}
	p.drawSteps()
	p.drawLines()
	p.drawBars()
	p.drawPoints()
	for i := range p.Marks {
		if !p.Marks[i].Under {
			p.drawMarks(&p.Marks[i])
		}
	}
	for i := range p.Rules {
		p.labelRule(&p.Rules[i])
	}
	p.frame(p.area)
}

func (p *plotted) drawTicks() {
	n := tickCount(p.area.Max.Y-p.area.Min.Y, p.tickSize*2.4, 8)
	size := p.tickSize
	for _, t := range p.y.left.ticks(n) {
		y := p.atY(Left, t.v)
		p.line(Grid, 0.5, vg.Point{X: p.area.Min.X, Y: y}, vg.Point{X: p.area.Max.X, Y: y})
		p.line(Text, 0.6, vg.Point{X: p.area.Min.X - tickLength, Y: y}, vg.Point{X: p.area.Min.X, Y: y})
		p.write(size, vg.Point{X: p.area.Min.X - tickLength - tickGap, Y: y - size*midline}, alignRight, t.text)
	}
	if p.y.right == nil {
		return
	}
	for _, t := range p.y.right.ticks(n) {
		y := p.atY(Right, t.v)
		p.line(Text, 0.6, vg.Point{X: p.area.Max.X, Y: y}, vg.Point{X: p.area.Max.X + tickLength, Y: y})
		p.write(size, vg.Point{X: p.area.Max.X + tickLength + tickGap, Y: y - size*midline}, alignLeft, t.text)
	}
}

func (p *plotted) drawRule(r *Rule) {
	c := p.clipped(p.area)
	x := p.atX(r.X)
	style := p.stroke(Style{Ink: Text, Width: 0.6})
	style.Dashes = []vg.Length{2, 2}
	c.StrokeLine2(style, x, p.area.Min.Y, x, p.area.Max.Y)
}

// labelRule writes the name of a rule beside its top. An area of the background keeps it readable
// above curves.
func (p *plotted) labelRule(r *Rule) {
	if !r.Label {
		return
	}
	x := p.atX(r.X)
	size := p.tickSize
	at := vg.Point{X: x + tickGap, Y: p.area.Max.Y - size*1.1}
	width := widthOf(size, r.Name)
	if at.X+width > p.area.Max.X-tickGap {
		at.X = x - tickGap - width
	}
	p.fill(p.theme.Paper, vg.Rectangle{
		Min: vg.Point{X: at.X - tickGap/2, Y: at.Y - size*0.3},
		Max: vg.Point{X: at.X + width + tickGap/2, Y: at.Y + size},
	})
	p.write(size, at, alignLeft, r.Name)
}

// drawMarks draws the events of one class. Of markers that would fall on the same dot, one is
// drawn.
func (p *plotted) drawMarks(m *Marks) {
	type dotAt struct{ x, y int }
	drawn := map[dotAt]bool{}
	for _, k := range m.Data {
		at := vg.Point{X: p.atX(k.X), Y: p.atY(m.Side, m.Level)}
		if m.Spans {
			at.Y = p.atY(m.Side, k.Low)
			top := p.atY(m.Side, k.High)
			p.line(m.Style.Ink, m.Style.Width, at, vg.Point{X: at.X, Y: max(top, at.Y+dot)})
		}
		place := dotAt{int(at.X / dot), int(at.Y / dot)}
		if !drawn[place] && m.Style.Marker != NoMarker {
			drawn[place] = true
			p.marker(m.Style, at)
		}
	}
}

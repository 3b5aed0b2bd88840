package report

import (
	"gonum.org/v1/plot/vg"
)

// panel is one data area with its axes. Panels of a figure stand above each other on one time axis.
type panel struct {
	left, right *axis // right may be nil
	lines       []line
	marks       []markLine
	weight      float64 // of its height among the panels of the figure; 0 means 1
	without     string  // why there is nothing to draw, when there is nothing
}

// line is a curve on an axis.
type line struct {
	label  string
	curve  *curve
	axis   *axis
	stroke stroke
	// shade fills the area below the line, for a state.
	shade bool
	// limit marks a bound that may lie far above everything else: it does not squeeze the others, but leaves the panel.
	limit bool
}

// markLine is the marks of one class.
type markLine struct {
	label string
	marks *marks
	axis  *axis
	glyph glyph
	level float64 // where the glyphs stand
	// spans draws each mark as a bar over its part of the stream with a glyph at its foot, instead of at the level.
	spans bool
	width float64 // of the bars, points
	under bool    // below the lines
}

// reachOfLimits says how far above the other values a limit may lie and still be inside the panel.
const reachOfLimits = 1.8

// measure sets the bounds of the axes from everything but limits.
func (p *panel) measure(from, to int64) {
	for _, l := range p.lines {
		if lo, hi, ok := l.curve.extremes(from, to); ok && !l.limit {
			if l.axis.log && lo <= 0 { // a logarithm has no zero: the least positive value is not known, so a guess
				lo = min(hi, 1)
			}
			l.axis.include(float64(lo), float64(hi))
		}
	}
	for _, m := range p.marks {
		if m.spans {
			for _, k := range m.marks.between(from, to) {
				m.axis.include(float64(k.lo), float64(k.hi))
			}
		}
	}
}

// measureLimits lets those limits widen the axes that are not far above everything else.
func (p *panel) measureLimits(from, to int64) {
	for _, l := range p.lines {
		if lo, hi, ok := l.curve.extremes(from, to); ok && l.limit {
			a := l.axis
			base := 0.0
			if a.floating {
				base = a.lo
			}
			if !a.used || a.hi == base || float64(hi)-base <= reachOfLimits*(a.hi-base) {
				a.include(float64(lo), float64(hi))
			}
		}
	}
}

// empty says that nothing lies between the times.
func (p *panel) empty(from, to int64) bool {
	for _, l := range p.lines {
		if len(l.curve.between(from, to)) > 0 {
			return false
		}
	}
	for _, m := range p.marks {
		if len(m.marks.between(from, to)) > 0 {
			return false
		}
	}
	return true
}

// plotted is a panel being drawn: its data area on the canvas.
type plotted struct {
	*panel
	*canvas
	area vg.Rectangle
	time *timeAxis
	end  int64 // until when the flow's values are held
}

func (p *plotted) x(t int64) vg.Length {
	return p.area.Min.X + vg.Length(p.time.norm(t))*(p.area.Max.X-p.area.Min.X)
}

func (p *plotted) y(a *axis, v float64) vg.Length {
	return p.area.Min.Y + vg.Length(a.norm(v))*(p.area.Max.Y-p.area.Min.Y)
}

// draw draws the data area, its frame and the ticks of the vertical axes. Lines that show a state lie below all others.
func (p *plotted) draw() {
	if p.panel.empty(p.time.from, p.time.to) {
		p.writeIn(p.area, p.without)
		p.frame(p.area)
		return
	}
	font := p.tickSize
	for _, t := range p.left.ticks(p.tickCount()) {
		y := p.y(p.left, t.v)
		p.rule(pale, 0.5, vg.Point{X: p.area.Min.X, Y: y}, vg.Point{X: p.area.Max.X, Y: y})
		p.rule(black, 0.6, vg.Point{X: p.area.Min.X - tickLength, Y: y}, vg.Point{X: p.area.Min.X, Y: y})
		p.write(font, vg.Point{X: p.area.Min.X - tickLength - tickGap, Y: y - font*midline}, alignRight, t.text)
	}
	if p.right != nil {
		for _, t := range p.right.ticks(p.tickCount()) {
			y := p.y(p.right, t.v)
			p.rule(black, 0.6, vg.Point{X: p.area.Max.X, Y: y}, vg.Point{X: p.area.Max.X + tickLength, Y: y})
			p.write(font, vg.Point{X: p.area.Max.X + tickLength + tickGap, Y: y - font*midline}, alignLeft, t.text)
		}
	}
	for _, m := range p.marks {
		if m.under {
			p.drawMarks(m)
		}
	}
	p.drawLines()
	for _, m := range p.marks {
		if !m.under {
			p.drawMarks(m)
		}
	}
	p.frame(p.area)
}

// tickCount is about how many ticks fit on a vertical axis.
func (p *plotted) tickCount() int { return tickCount(p.area.Max.Y-p.area.Min.Y, p.tickSize*2.4, 8) }

func tickCount(length, each vg.Length, most int) int {
	return max(2, min(most, int(length/each)))
}

package figure

import (
	"math"
	"slices"

	"gonum.org/v1/plot/vg"
)

// nameAngle is the angle of names that do not fit side by side, in radians.
const nameAngle = math.Pi / 6

// drawX draws the ticks of the x axis below a panel; below the lowest one with labels and the
// title.
func (s *sheet) drawX(data vg.Rectangle, lowest bool) {
	width := data.Max.X - data.Min.X
	turned := s.crowded(width)
	for _, t := range s.x.ticks(s.xTickCount(width)) {
		x := data.Min.X + vg.Length(s.x.norm(t.v))*width
		s.line(Text, 0.6, vg.Point{X: x, Y: data.Min.Y - tickLength}, vg.Point{X: x, Y: data.Min.Y})
		if !lowest {
			continue
		}
		at := vg.Point{X: x, Y: data.Min.Y - tickLength - tickGap - s.tickSize*0.95}
		if turned {
			s.writeTurned(s.tickSize, at, alignRight, nameAngle, t.text)
		} else {
			s.write(s.tickSize, at, alignCentre, t.text)
		}
	}
	if s.x.Kind == LogWithZero {
		s.drawGap(data)
	}
	if lowest {
		y := data.Min.Y - tickLength - tickGap - s.labelHeight(width) - s.textSize*1.05
		s.write(s.textSize, vg.Point{X: (data.Min.X + data.Max.X) / 2, Y: y}, alignCentre, s.x.title())
	}
}

// heightOfX is the height that the x axis takes below the lowest panel.
func (s *sheet) heightOfX(width vg.Length) vg.Length {
	return tickLength + tickGap + s.labelHeight(width) + s.textSize*lineHeight + 1
}

// labelHeight is the height of the labels of the x axis.
func (s *sheet) labelHeight(width vg.Length) vg.Length {
	high := s.tickSize * 1.2
	if !s.crowded(width) {
		return high
	}
	var longest vg.Length
	for _, name := range s.x.Names {
		longest = max(longest, widthOf(s.tickSize, name))
	}
	return high + longest*vg.Length(math.Sin(nameAngle))
}

// crowded is true if names side by side would touch within a width.
func (s *sheet) crowded(width vg.Length) bool {
	if s.x.Kind != Names {
		return false
	}
	each := width / vg.Length(len(s.x.Names))
	return slices.ContainsFunc(s.x.Names, func(name string) bool { return widthOf(s.tickSize, name) > 0.95*each })
}

func (s *sheet) xTickCount(width vg.Length) int {
	each := s.tickSize * 4
	if s.x.Kind == Clock {
		each = widthOf(s.tickSize, "00:00:00") * 1.35
		if (s.x.hi-s.x.lo)/float64(width/each) < 1e9 { // labels have fractions of a second
			each = widthOf(s.tickSize, "00:00:00.000") * 1.35
		}
	}
	return tickCount(width, each, 12)
}

// drawGap breaks the x axis between zero and the positive values of a logarithmic one.
func (s *sheet) drawGap(data vg.Rectangle) {
	x := data.Min.X + vg.Length((s.x.gap-s.x.lo)/(s.x.hi-s.x.lo))*(data.Max.X-data.Min.X)
	const half, slant, side = vg.Length(3.5), vg.Length(1.5), vg.Length(1.5)
	c := s.clipped(data)
	for _, y := range []vg.Length{data.Min.Y, data.Max.Y} {
		c.FillPolygon(s.theme.Paper, []vg.Point{
			{X: x - side - slant, Y: y - half},
			{X: x + side - slant, Y: y - half},
			{X: x + side + slant, Y: y + half},
			{X: x - side + slant, Y: y + half},
		})
		for _, at := range []vg.Length{x - side, x + side} {
			s.line(Text, 0.7, vg.Point{X: at - slant, Y: y - half}, vg.Point{X: at + slant, Y: y + half})
		}
	}
}

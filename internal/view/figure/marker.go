package figure

import (
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
)

// Marker is the shape of a point.
type Marker string

// Markers.
const (
	NoMarker       Marker = ""
	Disc           Marker = "disc"
	Circle         Marker = "circle"
	FilledSquare   Marker = "filled-square"
	Square         Marker = "square"
	FilledTriangle Marker = "filled-triangle"
	Triangle       Marker = "triangle"
	Diamond        Marker = "diamond"
	Cross          Marker = "cross"
	Plus           Marker = "plus"
)

var shapes = map[Marker]draw.GlyphDrawer{
	Disc:           draw.CircleGlyph{},
	Circle:         draw.RingGlyph{},
	FilledSquare:   draw.BoxGlyph{},
	Square:         draw.SquareGlyph{},
	FilledTriangle: draw.PyramidGlyph{},
	Triangle:       draw.TriangleGlyph{},
	Diamond:        diamond{},
	Cross:          strokes{{-0.8, -0.8, 0.8, 0.8}, {-0.8, 0.8, 0.8, -0.8}},
	Plus:           strokes{{-1, 0, 1, 0}, {0, -1, 0, 1}},
}

// diamond is a filled square on its corner.
type diamond struct{}

// DrawGlyph implements draw.GlyphDrawer.
func (diamond) DrawGlyph(c *draw.Canvas, sty draw.GlyphStyle, pt vg.Point) {
	r := sty.Radius * 1.2
	c.FillPolygon(sty.Color, []vg.Point{
		{X: pt.X - r, Y: pt.Y}, {X: pt.X, Y: pt.Y + r}, {X: pt.X + r, Y: pt.Y}, {X: pt.X, Y: pt.Y - r},
	})
}

// strokes are lines from and to points in units of the radius, as thick as print needs. The
// library's are hairlines.
type strokes [][4]vg.Length

// DrawGlyph implements draw.GlyphDrawer.
func (s strokes) DrawGlyph(c *draw.Canvas, sty draw.GlyphStyle, pt vg.Point) {
	r := sty.Radius
	var p vg.Path
	for _, line := range s {
		p.Move(vg.Point{X: pt.X + line[0]*r, Y: pt.Y + line[1]*r})
		p.Line(vg.Point{X: pt.X + line[2]*r, Y: pt.Y + line[3]*r})
	}
	c.SetLineStyle(draw.LineStyle{Color: sty.Color, Width: vg.Points(0.9)})
	c.Stroke(p)
}

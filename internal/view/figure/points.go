package figure

import "gonum.org/v1/plot/vg"

// drawPoints draws the markers of the series of points, and their names beside them if the panel
// has labels.
func (p *plotted) drawPoints() {
	var l labels
	for i := range p.Series {
		s := &p.Series[i]
		if s.Kind != Points {
			continue
		}
		for k := range s.Data {
			d := &s.Data[k]
			at := vg.Point{X: p.atX(d.X), Y: p.atY(s.Side, d.Last)}
			if d.absent() || !p.inside(at) {
				continue
			}
			p.marker(s.Style, at)
			l.obstacles = append(l.obstacles, square(at, vg.Points(s.Style.Radius)))
			if s.Name != "" {
				l.all = append(l.all, label{s.Name, at})
			}
		}
	}
	if p.Labels {
		p.drawLabels(&l)
	}
}

// square is the box of a half width around a point.
func square(at vg.Point, half vg.Length) vg.Rectangle {
	return vg.Rectangle{
		Min: vg.Point{X: at.X - half, Y: at.Y - half},
		Max: vg.Point{X: at.X + half, Y: at.Y + half},
	}
}

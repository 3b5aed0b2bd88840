package figure

import (
	"cmp"
	"slices"
)

// reachOfLimits is the greatest ratio of a limit to the other values at which the limit is still
// inside the panel.
const reachOfLimits = 1.8

// settle gives bounds to all axes. Panels of the same place in all cells get the same bounds, so
// that cells side by side can be compared.
func (f *Figure) settle() (x scale, cells []cellScales) {
	x = f.settleX()
	cells = make([]cellScales, len(f.Cells))
	for c := range f.Cells {
		for i := range f.Cells[c].Panels {
			p := &f.Cells[c].Panels[i]
			scales := panelScales{left: &scale{Axis: p.Left}}
			if p.Right != nil {
				scales.right = &scale{Axis: *p.Right}
			}
			cells[c] = append(cells[c], scales)
		}
	}
	f.measure(cells, func(p *Panel, y panelScales) { p.includeValues(y, x.lo) })
	f.measure(cells, func(p *Panel, y panelScales) { p.includeLimits(y, x.lo) })
	f.measure(cells, func(p *Panel, y panelScales) {
		room := headroom
		if slices.ContainsFunc(p.Rules, func(r Rule) bool { return r.Label }) {
			room = labelRoom
		}
		y.left.settleVertical(room)
		if y.right != nil {
			y.right.settleVertical(room)
		}
	})
	return x, cells
}

func (f *Figure) settleX() scale {
	x := scale{Axis: f.X}
	for c := range f.Cells {
		for _, p := range f.Cells[c].Panels {
			for _, s := range p.Series {
				for i := range s.Data {
					if d := &s.Data[i]; !d.absent() {
						x.include(d.X, d.End)
					}
				}
			}
		}
	}
	x.settleHorizontal()
	return x
}

// measure visits all panels and then widens the axes of panel i of each cell to the widest.
func (f *Figure) measure(cells []cellScales, visit func(*Panel, panelScales)) {
	panels := 0
	for c := range f.Cells {
		for i := range f.Cells[c].Panels {
			visit(&f.Cells[c].Panels[i], cells[c][i])
		}
		panels = max(panels, len(f.Cells[c].Panels))
	}
	for i := range panels {
		shareBounds(cells, func(c cellScales) *scale { return at(c, i).left })
		shareBounds(cells, func(c cellScales) *scale { return at(c, i).right })
	}
}

// at is the scales of panel i, empty if the cell has fewer.
func at(c cellScales, i int) panelScales {
	if i < len(c) {
		return c[i]
	}
	return panelScales{}
}

func shareBounds(cells []cellScales, of func(cellScales) *scale) {
	var all scale
	for _, c := range cells {
		if a := of(c); a != nil && a.used {
			all.include(a.lo, a.hi)
		}
	}
	for _, c := range cells {
		if a := of(c); a != nil && all.used {
			a.include(all.lo, all.hi)
		}
	}
}

// includeValues widens the axes to everything but limits.
func (p *Panel) includeValues(y panelScales, from float64) {
	for i := range p.Series {
		s := &p.Series[i]
		lo, hi, ok := s.extremesFrom(from)
		if !ok || s.Limit {
			continue
		}
		if s.Clip {
			hi = s.usualMax(hi, from)
		}
		a := y.of(s.Side)
		if a.Kind == Log && lo <= 0 { // a logarithm has no zero: the least positive value is not known, so a guess
			lo = min(hi, 1)
		}
		a.include(lo, hi)
		for k := range s.Data {
			if d := &s.Data[k]; d.High > hi { // false for NaN
				a.include(lo, d.High)
			}
		}
	}
	for i := range p.Marks {
		if m := &p.Marks[i]; m.Spans {
			for _, k := range m.Data {
				y.of(m.Side).include(k.Low, k.High)
			}
		}
	}
	if p.fewBars() { // the values above the bars need room
		y.left.include(y.left.lo, y.left.hi+0.05*(y.left.hi-min(y.left.lo, 0)))
	}
}

// A clipped series leaves out values that it has for less than rareShare of its time, if they are
// more than spikeFactor times the usual ones. The usual ones get room of usualRoom.
const (
	rareShare   = 0.01
	spikeFactor = 3
	usualRoom   = 1.3
)

// usualMax is the greatest value without rare spikes. Most is the greatest value at or above an x.
func (s *Series) usualMax(most, from float64) float64 {
	type held struct{ value, time float64 }
	var all []held
	total := 0.0
	for i := range s.Data {
		d := &s.Data[i]
		if d.absent() || i+1 == len(s.Data) {
			continue
		}
		start := max(d.X, from)
		end := s.Data[i+1].X
		spike := min(max(d.End-start, 0), end-start) // the time in which the value may be at its maximum
		all = append(all, held{d.Max, spike}, held{d.Last, end - start - spike})
		total += end - start
	}
	slices.SortFunc(all, func(a, b held) int { return cmp.Compare(b.value, a.value) })
	rare := 0.0
	for _, h := range all {
		rare += h.time
		if rare > rareShare*total {
			if most > spikeFactor*h.value && h.value > 0 {
				return usualRoom * h.value
			}
			return most
		}
	}
	return most
}

// includeLimits widens the axes to those limits that are not far above everything else.
func (p *Panel) includeLimits(y panelScales, from float64) {
	for i := range p.Series {
		s := &p.Series[i]
		lo, hi, ok := s.extremesFrom(from)
		if !ok || !s.Limit {
			continue
		}
		a := y.of(s.Side)
		base := 0.0
		if a.Floating {
			base = a.lo
		}
		if !a.used || a.hi == base || hi-base <= reachOfLimits*(a.hi-base) {
			a.include(lo, hi)
		}
	}
}

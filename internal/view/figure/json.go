package figure

import (
	"encoding/json"
	"math"
	"strconv"
	"time"
)

// jsonVersion is the version of the description. It changes if a page must read it differently.
const jsonVersion = 1

// JSON describes the figure for a page that draws it. Values are in the units of their axes, times
// in seconds. A series has at most about maxPoints points, and each keeps its extremes.
func (f *Figure) JSON(maxPoints int) ([]byte, error) {
	x, cells := f.settle()
	out := jsonFigure{
		Version: jsonVersion, Title: f.Title, Note: f.Note, X: describeX(&x), Columns: f.Columns,
		Cells: make([]jsonCell, len(f.Cells)),
	}
	for c := range f.Cells {
		out.Cells[c].Title = f.Cells[c].Title
		for i := range f.Cells[c].Panels {
			panel := describePanel(&f.Cells[c].Panels[i], cells[c][i], &x, maxPoints)
			out.Cells[c].Panels = append(out.Cells[c].Panels, panel)
		}
	}
	return json.Marshal(out)
}

type jsonFigure struct {
	Version int        `json:"version"`
	Title   string     `json:"title,omitempty"`
	Note    string     `json:"note,omitempty"`
	X       jsonAxis   `json:"x"`
	Columns int        `json:"columns,omitempty"`
	Cells   []jsonCell `json:"cells"`
}

type jsonCell struct {
	Title  string      `json:"title,omitempty"`
	Panels []jsonPanel `json:"panels"`
}

type jsonPanel struct {
	Left   jsonAxis     `json:"left"`
	Right  *jsonAxis    `json:"right,omitempty"`
	Series []jsonSeries `json:"series,omitempty"`
	Marks  []jsonMarks  `json:"marks,omitempty"`
	Rules  []jsonRule   `json:"rules,omitempty"`
	Weight float64      `json:"weight"`
	Empty  string       `json:"empty,omitempty"` // only of a panel without data
}

type jsonAxis struct {
	Label string     `json:"label"`
	Unit  string     `json:"unit,omitempty"`
	Kind  AxisKind   `json:"kind"`
	Min   number     `json:"min"`
	Max   number     `json:"max"`
	Names []string   `json:"names,omitempty"`
	Ticks []number   `json:"ticks,omitempty"`
	Zero  *time.Time `json:"zero,omitempty"`
}

type jsonStyle struct {
	Ink    Ink     `json:"ink"`
	Width  float64 `json:"width,omitempty"`
	Dash   Dash    `json:"dash,omitempty"`
	Marker Marker  `json:"marker,omitempty"`
	Radius float64 `json:"radius,omitempty"`
	Hatch  Hatch   `json:"hatch,omitempty"`
	Tinted bool    `json:"tinted,omitempty"`
}

type jsonSeries struct {
	Name  string    `json:"name"`
	Side  string    `json:"side"`
	Kind  string    `json:"kind"`
	Style jsonStyle `json:"style"`
	Shade bool      `json:"shade,omitempty"`
	Limit bool      `json:"limit,omitempty"`
	Clip  bool      `json:"clip,omitempty"`
	X     []number  `json:"x"`
	Y     []number  `json:"y"`
	Low   []number  `json:"low,omitempty"`
	High  []number  `json:"high,omitempty"`
}

type jsonMarks struct {
	Name  string    `json:"name"`
	Side  string    `json:"side"`
	Style jsonStyle `json:"style"`
	X     []number  `json:"x"`
	Low   []number  `json:"low"` // both are the level of marks without spans
	High  []number  `json:"high"`
	Count []int     `json:"count"`
}

type jsonRule struct {
	X    number `json:"x"`
	Name string `json:"name"`
}

// number is written with nine digits, and as null if it is none.
type number float64

// MarshalJSON implements json.Marshaler.
func (n number) MarshalJSON() ([]byte, error) {
	v := float64(n)
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return []byte("null"), nil
	}
	return strconv.AppendFloat(nil, v, 'g', 9, 64), nil
}

func numbers(values []float64, size float64) []number {
	out := make([]number, len(values))
	for i, v := range values {
		out[i] = number(v / size)
	}
	return out
}

func describeX(s *scale) jsonAxis {
	size := s.jsonSize()
	a := jsonAxis{
		Label: s.Label, Kind: kindOf(s), Names: s.Names,
		Min: number(s.lo / size), Max: number(s.hi / size), Ticks: numbers(s.Ticks, size),
	}
	switch s.Kind {
	case Time:
		a.Unit = "s"
	case Clock:
		a.Unit = "s"
		a.Zero = &s.Zero
	case LogWithZero: // its bounds are logarithms, which only this package uses
		a.Unit = s.unit().Name
		a.Min = number(math.NaN())
		a.Max = number(math.NaN())
	default:
		a.Unit = s.unit().Name
	}
	return a
}

func describeY(s *scale) jsonAxis {
	size := s.jsonSize()
	return jsonAxis{
		Label: s.Label, Unit: s.unit().Name, Kind: kindOf(s), Names: s.Names,
		Min: number(s.lo / size), Max: number(s.hi / size),
	}
}

func kindOf(s *scale) AxisKind {
	if s.Kind == "" {
		return Linear
	}
	return s.Kind
}

// jsonSize is the unit of the values in JSON, in the axis's base units.
func (s *scale) jsonSize() float64 {
	if s.Kind == Time || s.Kind == Clock {
		return 1e9
	}
	return s.unit().Size
}

func describePanel(p *Panel, y panelScales, x *scale, maxPoints int) jsonPanel {
	out := jsonPanel{Left: describeY(y.left), Weight: p.weight()}
	if y.right != nil {
		right := describeY(y.right)
		out.Right = &right
	}
	for i := range p.Series {
		out.Series = append(out.Series, describeSeries(&p.Series[i], y, x, maxPoints))
	}
	for i := range p.Marks {
		out.Marks = append(out.Marks, describeMarks(&p.Marks[i], y, x))
	}
	for _, r := range p.Rules {
		out.Rules = append(out.Rules, jsonRule{number(r.X / x.jsonSize()), r.Name})
	}
	if p.empty() {
		out.Empty = p.Empty
	}
	return out
}

func describeStyle(s Style) jsonStyle { return jsonStyle(s) }

func describeSeries(s *Series, y panelScales, x *scale, maxPoints int) jsonSeries {
	out := jsonSeries{
		Name: s.Name, Side: s.Side.String(), Kind: s.Kind.String(), Style: describeStyle(s.Style),
		Shade: s.Shade, Limit: s.Limit, Clip: s.Clip,
	}
	var xs, ys, lows, highs []float64
	intervals := false
	for _, d := range thinned(s.Data, maxPoints) {
		intervals = intervals || !math.IsNaN(d.Low)
		for _, v := range d.points() {
			xs = append(xs, v[0])
			ys = append(ys, v[1])
			lows = append(lows, d.Low)
			highs = append(highs, d.High)
		}
	}
	size := y.of(s.Side).jsonSize()
	out.X = numbers(xs, x.jsonSize())
	out.Y = numbers(ys, size)
	if intervals {
		out.Low = numbers(lows, size)
		out.High = numbers(highs, size)
	}
	return out
}

func describeMarks(m *Marks, y panelScales, x *scale) jsonMarks {
	out := jsonMarks{Name: m.Name, Side: m.Side.String(), Style: describeStyle(m.Style)}
	size := y.of(m.Side).jsonSize()
	for _, k := range m.Data {
		if !m.Spans {
			k.Low = m.Level
			k.High = m.Level
		}
		out.X = append(out.X, number(k.X/x.jsonSize()))
		out.Low = append(out.Low, number(k.Low/size))
		out.High = append(out.High, number(k.High/size))
		out.Count = append(out.Count, k.Count)
	}
	return out
}

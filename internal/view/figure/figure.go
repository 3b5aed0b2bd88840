package figure

// Figure is a picture: one cell, or a grid of cells with the same axes.
type Figure struct {
	Title string
	Note  string // small, below the picture
	X     Axis   // x axis of all panels
	Cells []Cell
	// Columns is the width of a grid in cells. Zero draws the only cell without a grid.
	Columns int
	Legend  LegendKind
	// HeightCm is the height if the options do not give one; zero follows from the number of
	// panels.
	HeightCm float64
}

// LegendKind is the place of the legend.
type LegendKind int

// Kinds of legends. A grid has a shared legend if it has one.
const (
	PanelLegend  LegendKind = iota // one above each panel, with the counts of marks
	SharedLegend                   // one above all panels
	NoLegend
)

// Cell is a column of panels, one above the other.
type Cell struct {
	Title  string // only drawn in a grid
	Panels []Panel
}

// Panel is one data area with its vertical axes.
type Panel struct {
	Left   Axis
	Right  *Axis
	Series []Series
	Marks  []Marks
	Rules  []Rule
	Weight float64 // share of the height; zero means 1
	Empty  string  // why there is no data, written if there is none
	// Labels writes the names of series of points beside the points.
	Labels bool
}

// Side is the vertical axis that a series or a mark belongs to.
type Side int

// Sides of a panel.
const (
	Left Side = iota
	Right
)

// String is left or right.
func (s Side) String() string {
	if s == Right {
		return "right"
	}
	return "left"
}

func (p *Panel) weight() float64 {
	if p.Weight == 0 {
		return 1
	}
	return p.Weight
}

// HasData is true if the panel has a value or an event.
func (p *Panel) HasData() bool { return !p.empty() }

func (p *Panel) empty() bool {
	for i := range p.Series {
		if _, _, ok := p.Series[i].extremes(); ok {
			return false
		}
	}
	for i := range p.Marks {
		if len(p.Marks[i].Data) > 0 {
			return false
		}
	}
	return true
}

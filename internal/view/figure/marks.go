package figure

// Marks are events of one class.
type Marks struct {
	Name  string
	Side  Side
	Style Style
	Level float64 // value at which the markers stand
	// Spans draws each event as a bar from Low to High with the marker at its foot, instead of a
	// marker at the level.
	Spans bool
	Under bool // below the lines
	Data  []Mark
}

// Mark is one event, or Count events that are too close to be told apart.
type Mark struct {
	X         float64
	Low, High float64
	Count     int
}

// Rule is a thin dashed upright line.
type Rule struct {
	X     float64
	Name  string
	Label bool // writes the name beside the line
}

func (m *Marks) count() int {
	n := 0
	for i := range m.Data {
		n += m.Data[i].Count
	}
	return n
}

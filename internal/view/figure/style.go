package figure

// Ink names a colour, which the theme decides.
type Ink string

// Inks. The colours are those of Okabe and Ito (Color Universal Design, 2008), without their
// yellow, which cannot be seen on white paper.
const (
	Text       Ink = "text" // letters, frames, and lines of the strongest contrast
	Blue       Ink = "blue"
	Vermillion Ink = "vermillion"
	Green      Ink = "green"
	Purple     Ink = "purple"
	Orange     Ink = "orange"
	Sky        Ink = "sky"
	Dim        Ink = "dim"
	Grid       Ink = "grid"
)

// Dash is the pattern of a line.
type Dash string

// Dashes.
const (
	Solid    Dash = "solid"
	Dashed   Dash = "dashed"
	Dotted   Dash = "dotted"
	DashDot  Dash = "dash-dot"
	LongDash Dash = "long-dash"
)

// dashes are the lengths of ink and gaps in points.
var dashes = map[Dash][]float64{
	Dashed:   {5, 2.5},
	Dotted:   {1.2, 1.8},
	DashDot:  {6, 2, 1.2, 2},
	LongDash: {14, 2.5},
}

// Hatch is the pattern of a bar.
type Hatch string

// Hatches.
const (
	Plain   Hatch = "plain"
	Rising  Hatch = "rising"
	Falling Hatch = "falling"
	Crossed Hatch = "crossed"
	Level   Hatch = "level"
	Upright Hatch = "upright"
)

// Style is the appearance of a series or a mark. The empty dash is Solid, the empty marker
// NoMarker.
type Style struct {
	Ink    Ink
	Width  float64 // width of lines, points
	Dash   Dash
	Marker Marker
	Radius float64 // radius of markers, points
	Hatch  Hatch
	Tinted bool // markers are mixed with the paper
}

var (
	cycleInks    = []Ink{Blue, Vermillion, Green, Purple, Orange, Sky, Text}
	cycleDashes  = []Dash{Solid, Dashed, Dotted, DashDot, LongDash}
	cycleMarkers = []Marker{Disc, Square, FilledTriangle, Circle, FilledSquare, Triangle, Cross, Plus}
	cycleHatches = []Hatch{Plain, Rising, Falling, Crossed, Level, Upright}
)

// StyleOf is the style of series i. No two of the first 280 share ink, dash and marker, so that
// they differ in grey print as well.
func StyleOf(i int) Style {
	return Style{
		Ink: cycleInks[i%len(cycleInks)], Width: 1.3, Dash: cycleDashes[i%len(cycleDashes)],
		Marker: cycleMarkers[i%len(cycleMarkers)], Radius: 2.8, Hatch: cycleHatches[i%len(cycleHatches)],
	}
}

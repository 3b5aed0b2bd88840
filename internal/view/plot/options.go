package plot

import (
	"errors"
	"fmt"
	"time"

	"airtide/internal/diagnose"
	"airtide/internal/view/figure"
)

// Options are the part of a recording that is drawn, and its look. The zero value is a good figure
// for a page of a paper.
type Options struct {
	// OriginNs is the monotonic time that the axis calls 0, usually the start of the recording.
	// Zero is the earliest time seen.
	OriginNs int64
	// From and To bound the figure, counted from the origin. A To of 0 is the end. Give a Series
	// the same bounds as Draw: it then spends all of its resolution on the part that is drawn.
	From, To time.Duration
	// Wall is the wall-clock time of the origin. If it is set, the axis shows the time of day in
	// its time zone.
	Wall time.Time

	// Title stands above the figure instead of the flow's name. NoTitle leaves both out.
	Title   string
	NoTitle bool
	// Note stands small below the figure, for instance how many records were lost.
	Note string

	// WidthCm and HeightCm are the size, 0 for 16 cm and for the height of the kind. DPI is the
	// resolution of a PNG, 0 for 300.
	WidthCm, HeightCm float64
	DPI               int
	Theme             *figure.Theme // nil for figure.Light

	// Grid draws several flows side by side with the same axes. Without it, several flows are drawn
	// in one panel.
	Grid bool
	// Diagnosis is the kind of source that the samples come from, for limits of rates.
	Diagnosis diagnose.Source
	// LogRTT makes the axes of round-trip times logarithmic.
	LogRTT bool
	// Window is the time over which goodput is averaged; 0 for a hundredth of the figure, at least
	// 10 ms.
	Window time.Duration
}

// MaxGrid is the most flows of one grid; more could not be read.
const MaxGrid = 60

// Sizes of figures. In a grid a cell has a part of the height of its kind.
const (
	onePanelCm    = 12   // most height of a figure with one panel
	gridPanelCm   = 4.6  // least height of a cell
	gridPanelPart = 0.62 // part of the kind's height
	twoColumnsCm  = 12   // least width of a grid with two columns
)

// Formats are the formats that Draw writes.
var Formats = figure.Formats

// FormatOf is the format that the name of a figure's file asks for.
func FormatOf(path string) (string, error) { return figure.FormatOf(path) }

func (o *Options) check() error {
	switch {
	case o.From < 0 || o.To < 0:
		return errors.New("figure: the start and the end count from the start of the recording and cannot be negative")
	case o.To != 0 && o.To <= o.From:
		return fmt.Errorf("figure: the end (%v) must come after the start (%v)", o.To, o.From)
	case o.Window < 0:
		return fmt.Errorf("figure: the goodput window cannot be negative, it is %v", o.Window)
	}
	f := o.figureOptions()
	return f.Check()
}

func (o *Options) figureOptions() figure.Options {
	return figure.Options{
		Theme: o.Theme, WidthCm: o.WidthCm, HeightCm: o.HeightCm, DPI: o.DPI, NoTitle: o.NoTitle,
	}
}

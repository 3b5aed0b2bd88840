package report

import (
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"time"

	"gonum.org/v1/plot/vg"
)

// Style is a choice of colours.
type Style string

// The styles. Lines differ in their dashes and marks in their shapes in both, so the first survives a black and white
// printer as well.
const (
	Colour Style = "colour" // the palette of Okabe and Ito, which colour-blind readers can tell apart
	Grey   Style = "grey"   // black and greys only
)

// Options say what part of a recording is drawn, and how. The zero value is a good figure for a page of a paper.
type Options struct {
	// OriginNs is the monotonic time that the axis calls 0, usually the start of the recording. 0: the earliest time seen.
	OriginNs int64
	// From and To bound the figure, counted from the origin. To 0 means the end. Give a Series the same bounds as Draw:
	// it then spends all of its resolution on the part that is drawn.
	From, To time.Duration
	// Wall is the wall-clock time of the origin; when set, the axis shows the time of day in its time zone.
	Wall time.Time

	// Title stands above the figure instead of the flow's name; NoTitle leaves both out.
	Title   string
	NoTitle bool
	// Note stands small below the figure, for instance what the recording lost.
	Note string

	// WidthCm and HeightCm are the size, 0 for 16 cm and what the kind needs. DPI is the resolution of a PNG, 0 for 300.
	WidthCm, HeightCm float64
	DPI               int
	Style             Style

	// Grid draws several flows side by side with the same axes.
	Grid bool
	// LogRTT makes the axes of round-trip times logarithmic.
	LogRTT bool
	// Window is the time over which goodput is averaged; 0 for a hundredth of the figure, at least 10 ms.
	Window time.Duration

	// The part that is drawn, in monotonic time; set by Draw.
	fromNs, toNs int64
}

// Limits of a picture, so that a slip in a unit is an error and not a full memory.
const (
	maxCm       = 200
	maxDPI      = 2400
	maxPixels   = 150e6
	defaultDPI  = 300
	defaultWide = 16.0 // cm
)

// MaxGrid is the most flows that one grid holds; more could not be read.
const MaxGrid = 60

// gridCellCm is the least height of one panel in a grid.
const gridCellCm = 4.6

// Formats are the formats that Draw writes.
var Formats = []string{"png", "svg", "pdf"}

// FormatOf tells the format of a figure from its file's name.
func FormatOf(path string) (string, error) {
	ext := strings.ToLower(strings.TrimPrefix(filepath.Ext(path), "."))
	for _, f := range Formats {
		if ext == f {
			return f, nil
		}
	}
	if ext == "" {
		return "", fmt.Errorf("figure %q: the name has no extension: end it in .png, .svg or .pdf", path)
	}
	return "", fmt.Errorf("figure %q: cannot write .%s: end the name in .png, .svg or .pdf", path, ext)
}

func (o *Options) check() error {
	switch {
	case o.From < 0 || o.To < 0:
		return errors.New("figure: the start and the end count from the start of the recording and cannot be negative")
	case o.To != 0 && o.To <= o.From:
		return fmt.Errorf("figure: the end (%v) must come after the start (%v)", o.To, o.From)
	case o.Window < 0:
		return fmt.Errorf("figure: the goodput window cannot be negative, it is %v", o.Window)
	case !(o.WidthCm >= 0 && o.WidthCm <= maxCm && o.HeightCm >= 0 && o.HeightCm <= maxCm):
		return fmt.Errorf("figure: size %g x %g cm: want at most %d cm each way", o.WidthCm, o.HeightCm, maxCm)
	case o.DPI < 0 || o.DPI > maxDPI:
		return fmt.Errorf("figure: %d dpi: want at most %d", o.DPI, maxDPI)
	}
	switch o.Style {
	case "", Colour, Grey:
		return nil
	}
	return fmt.Errorf("figure: unknown style %q: want %s or %s", o.Style, Colour, Grey)
}

// size is the size of the picture and its resolution, for a grid of so many rows and columns or for a single figure (0 rows).
func (o *Options) size(kind Kind, rows, columns int) (w, h vg.Length, dpi int, err error) {
	wide, high, dpi := o.WidthCm, o.HeightCm, o.DPI
	if wide == 0 {
		wide = defaultWide
		if columns > 2 {
			wide *= 1.5
		}
	}
	if high == 0 {
		high = figures[kind].heightCm
		if rows > 0 {
			high = float64(rows)*max(gridCellCm, high*0.62) + 1
		}
	}
	if dpi == 0 {
		dpi = defaultDPI
	}
	if wide < 4 || high < 3 {
		return 0, 0, 0, fmt.Errorf("figure: %g x %g cm is too small to be read: want at least 4 x 3 cm", wide, high)
	}
	if pixels := wide * high / 2.54 / 2.54 * float64(dpi) * float64(dpi); pixels > maxPixels {
		return 0, 0, 0, fmt.Errorf("figure: %g x %g cm at %d dpi is %.0f million pixels: want at most %.0f million; lower the resolution or the size",
			wide, high, dpi, pixels/1e6, maxPixels/1e6)
	}
	return vg.Length(wide) * vg.Centimeter, vg.Length(high) * vg.Centimeter, dpi, nil
}

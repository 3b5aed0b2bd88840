package figure

import (
	"bytes"
	"cmp"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"image/png"
	"io"
	"math"
	"path/filepath"
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"
)

// Options are the size and the look of a figure. The zero value is a good figure for a page of a
// paper.
type Options struct {
	Theme             *Theme  // nil for Light
	WidthCm, HeightCm float64 // zero for 16 cm (24 cm in three columns) and the needed height
	DPI               int     // resolution of a PNG, zero for 300
	NoTitle           bool
}

// Limits of a picture, so that a slip in a unit is an error and not a full memory.
const (
	minWidthCm  = 4
	minHeightCm = 3
	maxCm       = 200
	maxDPI      = 2400
	maxPixels   = 150e6
	// usualPixels bounds a picture whose resolution nobody chose. They take 5 s.
	usualPixels = 16e6
)

const (
	defaultDPI     = 300
	defaultWidthCm = 16.0
)

// Formats are the formats of Write.
var Formats = []string{"png", "svg", "pdf"}

// FormatOf is the format that the name of a file asks for.
func FormatOf(path string) (string, error) {
	ext := strings.ToLower(strings.TrimPrefix(filepath.Ext(path), "."))
	switch {
	case slices.Contains(Formats, ext):
		return ext, nil
	case ext == "":
		return "", fmt.Errorf("figure %q: the name has no extension: end it in .png, .svg or .pdf", path)
	}
	return "", fmt.Errorf("figure %q: cannot write .%s: end the name in .png, .svg or .pdf", path, ext)
}

// Check reports sizes that cannot be drawn.
func (o *Options) Check() error {
	switch {
	case !(o.WidthCm >= 0 && o.WidthCm <= maxCm && o.HeightCm >= 0 && o.HeightCm <= maxCm):
		return fmt.Errorf("figure: size %g x %g cm: want at most %d cm each way", o.WidthCm, o.HeightCm, maxCm)
	case o.DPI < 0 || o.DPI > maxDPI:
		return fmt.Errorf("figure: %d dpi: want at most %d", o.DPI, maxDPI)
	}
	return nil
}

// Write draws the figure in a format of Formats.
func (f *Figure) Write(w io.Writer, format string, o Options) error {
	if len(f.Cells) == 0 {
		return errors.New("figure: nothing to draw: it has no cells")
	}
	if err := o.Check(); err != nil {
		return err
	}
	x, cells := f.settle()
	s := &sheet{Figure: f, x: x, cells: cells, noTitle: o.NoTitle}
	width, height, dpi, err := s.size(o)
	if err != nil {
		return err
	}
	paper := vg.Rectangle{Max: vg.Point{X: width, Y: height}}
	draw := func(to vg.Canvas) error {
		s.canvas = newCanvas(to, o.Theme, s.fontSize(width))
		return s.draw(paper)
	}
	switch format {
	case "png":
		c := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dpi))
		if err := draw(raster{c}); err != nil {
			return err
		}
		return writePNG(w, c, dpi)
	case "svg":
		c := vgsvg.New(width, height)
		if err := draw(c); err != nil {
			return err
		}
		return writeSVG(w, c)
	case "pdf":
		c := vgpdf.New(width, height)
		if err := errorOfPDF(func() error { return draw(c) }); err != nil {
			return err
		}
		if _, err := c.WriteTo(w); err != nil {
			return fmt.Errorf("writing PDF: %w", err)
		}
		return nil
	}
	return fmt.Errorf("figure: unknown format %q: want one of %s", format, strings.Join(Formats, ", "))
}

// errorOfPDF draws a PDF. vgpdf makes its fonts in the folder for temporary files, and panics with
// a text if it cannot write there.
func errorOfPDF(draw func() error) (err error) {
	defer func() {
		switch failure := recover().(type) {
		case nil:
		case string:
			err = fmt.Errorf("writing PDF: %s", failure)
		default:
			panic(failure)
		}
	}()
	return draw()
}

// fontSize is the size of titles for a width.
func (s *sheet) fontSize(width vg.Length) vg.Length {
	if s.Columns > 1 {
		return fontOf(gridFont, width)
	}
	return fontOf(pageFont, width)
}

func newCanvas(to vg.Canvas, t *Theme, size vg.Length) *canvas {
	return &canvas{vg: to, theme: cmp.Or(t, Light), titleSize: size, textSize: size - 0.5, tickSize: size - 1}
}

// size is the size of the picture and its resolution.
func (s *sheet) size(o Options) (width, height vg.Length, dpi int, err error) {
	wide := o.WidthCm
	if wide == 0 {
		wide = defaultWidthCm
		if s.Columns > 2 {
			wide *= 1.5
		}
	}
	high := cmp.Or(o.HeightCm, s.HeightCm)
	dpi = cmp.Or(o.DPI, defaultDPI)
	if high == 0 {
		high = s.naturalHeightCm(wide)
	}
	if wide < minWidthCm || high < minHeightCm {
		return 0, 0, 0, fmt.Errorf("figure: %g x %g cm is too small to be read: want at least %d x %d cm",
			wide, high, minWidthCm, minHeightCm)
	}
	square := wide * high / 2.54 / 2.54 // inches
	if o.DPI == 0 {
		dpi = min(dpi, int(math.Sqrt(usualPixels/square)))
	}
	if pixels := square * float64(dpi) * float64(dpi); pixels > maxPixels {
		return 0, 0, 0, fmt.Errorf("figure: %g x %g cm at %d dpi is %.0f million pixels: want at most %.0f million; "+
			"lower the resolution or the size", wide, high, dpi, pixels/1e6, maxPixels/1e6)
	}
	return vg.Length(wide) * vg.Centimeter, vg.Length(high) * vg.Centimeter, dpi, nil
}

// naturalHeightCm gives each panel the same height. The shared legend does not change it.
func (s *sheet) naturalHeightCm(wide float64) float64 {
	most := 0
	for _, c := range s.Cells {
		most = max(most, len(c.Panels))
	}
	high := 8.0
	if most > 1 {
		high = 1.5 + 5*float64(most)
	}
	high *= math.Sqrt(wide / defaultWidthCm)
	if s.sharesLegend() {
		width := vg.Length(wide) * vg.Centimeter
		c := newCanvas(nil, nil, s.fontSize(width))
		high += float64(c.legendHeight(len(c.rowsOf(s.sharedLegend(), width-2*margin))) / vg.Centimeter)
	}
	return high
}

// writeSVG adds fonts of the same widths for readers without Liberation Sans.
func writeSVG(w io.Writer, c *vgsvg.Canvas) error {
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return fmt.Errorf("making SVG: %w", err)
	}
	const font = "font-family:Liberation Sans"
	out := bytes.ReplaceAll(b.Bytes(), []byte(font+";"), []byte(font+",Arial,Helvetica,sans-serif;"))
	if _, err := w.Write(out); err != nil {
		return fmt.Errorf("writing SVG: %w", err)
	}
	return nil
}

// writePNG adds the resolution (chunk pHYs, in pixels per metre), from which text processors take
// the size in print.
func writePNG(w io.Writer, c *vgimg.Canvas, dpi int) error {
	var b bytes.Buffer
	if err := png.Encode(&b, c.Image()); err != nil {
		return fmt.Errorf("making PNG: %w", err)
	}
	perMetre := uint32(math.Round(float64(dpi) / 0.0254))
	size := binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, perMetre), perMetre)
	chunk := append(append([]byte("pHYs"), size...), 1)
	const header = 8 + 25 // signature and IHDR, behind which the chunk goes
	out := append([]byte{}, b.Bytes()[:header]...)
	out = binary.BigEndian.AppendUint32(out, uint32(len(chunk)-4))
	out = append(out, chunk...)
	out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(chunk))
	out = append(out, b.Bytes()[header:]...)
	if _, err := w.Write(out); err != nil {
		return fmt.Errorf("writing PNG: %w", err)
	}
	return nil
}

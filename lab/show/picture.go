package show

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/crc32"
	"image/png"
	"io"
	"math"
	"strings"
	"sync"

	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font/opentype"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/draw"
	"gonum.org/v1/plot/vg/vgimg"
	"gonum.org/v1/plot/vg/vgpdf"
	"gonum.org/v1/plot/vg/vgsvg"
)

// FigureOptions say how a figure is drawn. The zero value is a good figure for a page of a paper.
type FigureOptions struct {
	// WidthCm and HeightCm are the size, 0 for 16 cm and what the figure needs. DPI is the resolution of a PNG, 0 for 300.
	WidthCm, HeightCm float64
	DPI               int
	// Grey draws in black and greys only.
	Grey bool
	// NoTitle leaves the title to the paper.
	NoTitle bool
}

// Formats are those that figures are written in.
var Formats = []string{"png", "svg", "pdf"}

const (
	defaultWide = 16.0 // cm
	defaultDPI  = 300
	maxCm       = 200
	maxPixels   = 150e6
)

func (o FigureOptions) check() error {
	switch {
	case !(o.WidthCm == 0 || o.WidthCm >= 5 && o.WidthCm <= maxCm) || !(o.HeightCm == 0 || o.HeightCm >= 4 && o.HeightCm <= maxCm):
		return fmt.Errorf("figure: size %g x %g cm: expected from 5 x 4 to %d cm each way", o.WidthCm, o.HeightCm, maxCm)
	case o.DPI < 0 || float64(o.DPI) > 2400:
		return fmt.Errorf("figure: %d dpi: expected at most 2400", o.DPI)
	}
	return nil
}

// drawing is what can be drawn into an area.
type drawing interface {
	// heightCm is the height it needs for a width.
	heightCm(wide float64) float64
	draw(c draw.Canvas, o FigureOptions) error
}

// write draws in a format.
func write(w io.Writer, format string, d drawing, o FigureOptions) error {
	if err := o.check(); err != nil {
		return err
	}
	wide, high, dpi := o.WidthCm, o.HeightCm, o.DPI
	if wide == 0 {
		wide = defaultWide
	}
	if high == 0 {
		high = d.heightCm(wide)
	}
	if dpi == 0 {
		dpi = defaultDPI
	}
	if pixels := wide * high / 2.54 / 2.54 * float64(dpi) * float64(dpi); pixels > maxPixels {
		return fmt.Errorf("figure: %g x %g cm at %d dpi is %.0f million pixels: expected at most %.0f million; lower the resolution or the size",
			wide, high, dpi, pixels/1e6, maxPixels/1e6)
	}
	width, height := vg.Length(wide)*vg.Centimeter, vg.Length(high)*vg.Centimeter
	switch format {
	case "png":
		c := vgimg.NewWith(vgimg.UseWH(width, height), vgimg.UseDPI(dpi))
		if err := d.draw(draw.New(c), o); err != nil {
			return err
		}
		return writePNG(w, c, dpi)
	case "svg":
		c := vgsvg.New(width, height)
		if err := d.draw(draw.New(c), o); err != nil {
			return err
		}
		return writeSVG(w, c)
	case "pdf":
		c := vgpdf.New(width, height)
		if err := d.draw(draw.New(c), o); err != nil {
			return err
		}
		_, err := c.WriteTo(w)
		return err
	}
	return fmt.Errorf("figure: unknown format %q: expected one of %s", format, strings.Join(Formats, ", "))
}

// writeSVG adds fall-backs to the font that have the same widths.
func writeSVG(w io.Writer, c *vgsvg.Canvas) error {
	var b bytes.Buffer
	if _, err := c.WriteTo(&b); err != nil {
		return fmt.Errorf("making SVG: %w", err)
	}
	_, err := w.Write(bytes.ReplaceAll(b.Bytes(), []byte("font-family:Liberation Sans;"), []byte("font-family:Liberation Sans,Arial,Helvetica,sans-serif;")))
	return err
}

// writePNG adds the resolution (chunk pHYs, in pixels per metre), from which text processors take the size in print.
func writePNG(w io.Writer, c *vgimg.Canvas, dpi int) error {
	var b bytes.Buffer
	if err := png.Encode(&b, c.Image()); err != nil {
		return fmt.Errorf("making PNG: %w", err)
	}
	perMetre := uint32(math.Round(float64(dpi) / 0.0254))
	chunk := append([]byte("pHYs"), binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(nil, perMetre), perMetre)...)
	chunk = append(chunk, 1)
	const header = 8 + 25 // signature and IHDR, behind which the chunk goes
	out := append([]byte{}, b.Bytes()[:header]...)
	out = binary.BigEndian.AppendUint32(out, uint32(len(chunk)-4))
	out = append(out, chunk...)
	out = binary.BigEndian.AppendUint32(out, crc32.ChecksumIEEE(chunk))
	_, err := w.Write(append(out, b.Bytes()[header:]...))
	return err
}

// letters holds Liberation Sans, whose letters are as wide as those of Arial and Helvetica: a figure in SVG keeps its
// layout on machines that have any of the three.
var letters = sync.OnceValue(func() *font.Cache {
	face, err := opentype.Parse(liberationsansregular.TTF)
	if err != nil {
		panic(fmt.Errorf("parsing the font that is built in: %w", err))
	}
	return font.NewCache(font.Collection{{Font: sans, Face: face}})
})

var sans = font.Font{Typeface: "Liberation", Variant: "Sans"}

func handler() text.Handler { return text.Plain{Fonts: letters()} }

// writing is a style of text.
func writing(size font.Length) draw.TextStyle {
	f := sans
	f.Size = size
	return draw.TextStyle{Color: black, Font: f, Handler: handler()}
}

// widthOf is that of a line of text.
func widthOf(size font.Length, s string) vg.Length {
	f := letters().Lookup(sans, size)
	return f.Width(s)
}

package show

import (
	"fmt"
	"io"
	"strings"

	"airtide/internal/view/paper"

	"gonum.org/v1/plot/font"
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
		return paper.WritePNG(w, c, dpi)
	case "svg":
		c := vgsvg.New(width, height)
		if err := d.draw(draw.New(c), o); err != nil {
			return err
		}
		return paper.WriteSVG(w, c)
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

// writing is a style of text.
func writing(size font.Length) draw.TextStyle {
	f := paper.Sans
	f.Size = size
	return draw.TextStyle{Color: black, Font: f, Handler: paper.Handler()}
}

// widthOf is that of a line of text.
func widthOf(size font.Length, s string) vg.Length {
	f := paper.Letters().Lookup(paper.Sans, size)
	return f.Width(s)
}

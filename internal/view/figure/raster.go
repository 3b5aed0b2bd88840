package figure

import (
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
)

// raster is a picture in pixels.
type raster struct{ *vgimg.Canvas }

// FillString places each letter by itself. The opentype package kerns by the same number of pixels
// at all sizes, so that letters of small text would touch.
func (r raster) FillString(face font.Face, at vg.Point, s string) {
	end := 0
	for _, letter := range s {
		one := string(letter)
		end += len(one)
		r.Canvas.FillString(face, vg.Point{X: at.X + face.Width(s[:end]) - face.Width(one), Y: at.Y}, one)
	}
}

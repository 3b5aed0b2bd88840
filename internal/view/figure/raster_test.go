package figure

import (
	"image/color"
	"math"
	"testing"

	"gonum.org/v1/plot/vg"
	"gonum.org/v1/plot/vg/vgimg"
)

// inkWidth is the width of a text in a PNG, in points.
func inkWidth(dpi int, s string) float64 {
	c := raster{vgimg.NewWith(vgimg.UseWH(200, 30), vgimg.UseDPI(dpi))}
	c.SetColor(color.Black)
	c.FillString(faceOf(10), vg.Point{X: 10, Y: 10}, s)
	picture := c.Image()
	left := math.MaxInt
	right := 0
	for y := range picture.Bounds().Dy() {
		for x := range picture.Bounds().Dx() {
			if r, _, _, _ := picture.At(x, y).RGBA(); r < 0x8000 {
				left = min(left, x)
				right = max(right, x+1)
			}
		}
	}
	return float64(right-left) * 72 / float64(dpi)
}

// Letters are as far apart in a coarse picture as in a fine one.
func TestLettersKeepTheirDistanceAtAllResolutions(t *testing.T) {
	for _, s := range []string{"duplicate ACK", "11111", "AVAVA"} {
		fine := inkWidth(1200, s)
		for _, dpi := range []int{72, 100, 300} {
			if got := inkWidth(dpi, s); math.Abs(got-fine) > 2*72/float64(dpi) {
				t.Errorf("%q is %.1f points wide at %d dpi, but %.1f at 1200 dpi", s, got, dpi, fine)
			}
		}
	}
}

func TestLettersOfAPictureTakeTheirWidth(t *testing.T) {
	for _, s := range []string{"l l", "l Al", "l11111l", "lAVAVAl"} {
		bearing := float64(widthOf(10, "l")) - inkWidth(1200, "l")
		if got, want := inkWidth(1200, s), float64(widthOf(10, s))-bearing; math.Abs(got-want) > 0.3 {
			t.Errorf("%q is %.2f points wide, but its letters take %.2f", s, got, want)
		}
	}
}

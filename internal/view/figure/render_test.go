package figure

import (
	"bytes"
	"image/png"
	"testing"
)

func TestALargePictureHasFewerPixels(t *testing.T) {
	for _, c := range []struct {
		heightCm float64
		dpi      int
		most     int
		least    int
	}{
		{10, 0, 3e6, 2e6},
		{190, 0, usualPixels, 15e6},
		{80, 250, 13e6, 12e6},
	} {
		var b bytes.Buffer
		line := Series{Kind: Step, Data: []Sample{Point(0, 1), Point(1, 2)}}
		f := &Figure{HeightCm: c.heightCm, Cells: []Cell{{Panels: []Panel{{Series: []Series{line}}}}}}
		if err := f.Write(&b, "png", Options{DPI: c.dpi}); err != nil {
			t.Fatal(err)
		}
		size, err := png.DecodeConfig(&b)
		if err != nil {
			t.Fatal(err)
		}
		if pixels := size.Width * size.Height; pixels < c.least || pixels > c.most {
			t.Errorf("%g cm at %d dpi: %d pixels, want %d to %d", c.heightCm, c.dpi, pixels, c.least, c.most)
		}
	}
}

package figure

import (
	"bytes"
	"image/png"
	"strings"
	"testing"

	"airtide/internal/units"
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

// An SVG file is often printed to a terminal, and its names come from other people's files.
func TestTextsOfAnSVGHaveNoControlCharacters(t *testing.T) {
	const name = "a\x1b]0;owned\a\u009b31m\u202e\nb"
	line := Series{Name: name, Kind: Step, Data: []Sample{Point(0, 1), Point(1, 2)}}
	f := &Figure{
		Title: name, Note: name, X: Axis{Label: name},
		Cells: []Cell{{Panels: []Panel{{Left: Axis{Label: name}, Series: []Series{line}}, {Empty: name}}}},
	}
	var b bytes.Buffer
	if err := f.Write(&b, "svg", Options{}); err != nil {
		t.Fatal(err)
	}
	const clean = "a?]0;owned??31m??b"
	if n := strings.Count(b.String(), clean); n < 4 {
		t.Errorf("%d texts are %q, want 4 or more", n, clean)
	}
	if text := strings.ReplaceAll(b.String(), "\t", " "); units.PrintableText(text, false) != text {
		t.Error("it has a control character")
	}
}

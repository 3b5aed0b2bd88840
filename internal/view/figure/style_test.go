package figure

import (
	"fmt"
	"image/color"
	"math"
	"strings"
	"testing"
)

// No two series of a chart look the same, in colour or in grey, and neighbours differ in every
// respect.
func TestStylesDiffer(t *testing.T) {
	seen := map[string]int{}
	for i := range 280 {
		s := StyleOf(i)
		key := fmt.Sprint(s.Ink, s.Dash, s.Marker)
		if other, ok := seen[key]; ok {
			t.Errorf("series %d looks as series %d: %s", i, other, key)
		}
		seen[key] = i
		next := StyleOf(i + 1)
		if s.Ink == next.Ink || s.Dash == next.Dash || s.Marker == next.Marker || s.Hatch == next.Hatch {
			t.Errorf("series %d and its neighbour share a part: %+v, %+v", i, s, next)
		}
	}
}

func TestThemesHaveAllInks(t *testing.T) {
	inks := append([]Ink{Dim, Grid}, cycleInks...)
	for name, theme := range map[string]*Theme{"light": Light, "print": Print, "dark": Dark} {
		seen := map[color.RGBA]Ink{}
		for _, ink := range inks {
			c, ok := theme.Inks[ink]
			if !ok || c.A != 0xFF {
				t.Errorf("%s has no opaque %s", name, ink)
			}
			if other, ok := seen[c]; ok {
				t.Errorf("in %s, %s is the same as %s", name, ink, other)
			}
			seen[c] = ink
			if name == "print" && (c.R != c.G || c.G != c.B) {
				t.Errorf("%s is coloured in print: %v", ink, c)
			}
		}
	}
	for _, ink := range append([]Ink{Dim}, cycleInks...) {
		if got := contrast(Dark.Inks[ink], Dark.Paper); got < 4.5 {
			t.Errorf("%s has a contrast of %.1f to dark paper, want 4.5", ink, got)
		}
	}
}

func TestThemesAreFoundByName(t *testing.T) {
	for name, want := range map[string]*Theme{
		"light": Light, "print": Print, "dark": Dark,
	} {
		if got, err := ThemeOf(name); got != want || err != nil {
			t.Errorf("%s is %v, %v", name, got, err)
		}
	}
	if _, err := ThemeOf("neon"); err == nil || !strings.Contains(err.Error(), "want light, print, dark") {
		t.Errorf("neon: %v", err)
	}
}

// contrast is the contrast ratio of two colours by WCAG 2.
func contrast(a, b color.RGBA) float64 {
	x := luminance(a)
	y := luminance(b)
	return (max(x, y) + 0.05) / (min(x, y) + 0.05)
}

func luminance(c color.RGBA) float64 {
	linear := func(v uint8) float64 {
		x := float64(v) / 255
		if x <= 0.04045 {
			return x / 12.92
		}
		return math.Pow((x+0.055)/1.055, 2.4)
	}
	return 0.2126*linear(c.R) + 0.7152*linear(c.G) + 0.0722*linear(c.B)
}

package figure

import (
	"fmt"
	"image/color"
	"strings"
)

// Theme decides the colours of a figure.
type Theme struct {
	Paper color.RGBA
	Inks  map[Ink]color.RGBA
	// Tint is the percentage of ink in the areas of fast swings.
	Tint uint32
}

// Themes.
var (
	// Light is for white paper. Colour-blind readers can tell its inks apart.
	Light = &Theme{
		Paper: rgb(0xFFFFFF),
		Inks: map[Ink]color.RGBA{
			Text: rgb(0x000000), Blue: rgb(0x0072B2), Vermillion: rgb(0xD55E00), Green: rgb(0x009E73),
			Purple: rgb(0xCC79A7), Orange: rgb(0xE69F00), Sky: rgb(0x56B4E9), Dim: rgb(0x808080), Grid: rgb(0xE4E4E4),
		},
		Tint: 40,
	}
	// Print is for a printer without colours.
	Print = &Theme{
		Paper: rgb(0xFFFFFF),
		Inks: map[Ink]color.RGBA{
			Text: rgb(0x000000), Blue: rgb(0x282828), Vermillion: rgb(0x505050), Green: rgb(0x707070),
			Purple: rgb(0x909090), Orange: rgb(0xA0A0A0), Sky: rgb(0xB4B4B4), Dim: rgb(0x808080), Grid: rgb(0xE4E4E4),
		},
		Tint: 40,
	}
	// Dark is for slides and terminals with a dark background. Each ink has a contrast of at least
	// 4.5 to the paper, except Grid.
	Dark = &Theme{
		Paper: rgb(0x16181D),
		Inks: map[Ink]color.RGBA{
			Text: rgb(0xECECEC), Blue: rgb(0x5CB8FF), Vermillion: rgb(0xF27935), Green: rgb(0x2CC295),
			Purple: rgb(0xDE93BE), Orange: rgb(0xF0B429), Sky: rgb(0x6C9DBD), Dim: rgb(0x9A9A9A), Grid: rgb(0x3A3D45),
		},
		Tint: 40,
	}
)

// themes are the themes by name.
var themes = map[string]*Theme{"light": Light, "print": Print, "dark": Dark}

// ThemeNames are the names of the themes.
var ThemeNames = []string{"light", "print", "dark"}

// ThemeOf is the theme of a name.
func ThemeOf(name string) (*Theme, error) {
	if t := themes[name]; t != nil {
		return t, nil
	}
	return nil, fmt.Errorf("unknown theme %q: want %s", name, strings.Join(ThemeNames, ", "))
}

func rgb(hex uint32) color.RGBA {
	return color.RGBA{uint8(hex >> 16), uint8(hex >> 8), uint8(hex), 0xFF}
}

// tint is the colour of an area, of which the given percentage is ink and the rest paper. It is
// opaque, since not every reader of PDF and SVG blends alike.
func (t *Theme) tint(i Ink, percent uint32) color.RGBA {
	c := t.Inks[i]
	mix := func(ink, paper uint8) uint8 { return uint8((uint32(ink)*percent + uint32(paper)*(100-percent)) / 100) }
	return color.RGBA{mix(c.R, t.Paper.R), mix(c.G, t.Paper.G), mix(c.B, t.Paper.B), 0xFF}
}

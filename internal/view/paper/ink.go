package paper

import "image/color"

// Ink is a colour of the palette with the grey that stands for it in print without colours.
type Ink struct{ Colour, Grey color.RGBA }

// The palette of Okabe and Ito (Color Universal Design, 2008). Its yellow is left out: it vanishes on white paper.
var (
	Black      = Ink{RGB(0x00, 0x00, 0x00), RGB(0x00, 0x00, 0x00)}
	Blue       = Ink{RGB(0x00, 0x72, 0xB2), RGB(0x28, 0x28, 0x28)}
	Vermillion = Ink{RGB(0xD5, 0x5E, 0x00), RGB(0x50, 0x50, 0x50)}
	Green      = Ink{RGB(0x00, 0x9E, 0x73), RGB(0x70, 0x70, 0x70)}
	Purple     = Ink{RGB(0xCC, 0x79, 0xA7), RGB(0x90, 0x90, 0x90)}
	Orange     = Ink{RGB(0xE6, 0x9F, 0x00), RGB(0xA0, 0xA0, 0xA0)}
	Sky        = Ink{RGB(0x56, 0xB4, 0xE9), RGB(0xB4, 0xB4, 0xB4)}
	Dim        = Ink{RGB(0x80, 0x80, 0x80), RGB(0x80, 0x80, 0x80)}
	Pale       = Ink{RGB(0xE4, 0xE4, 0xE4), RGB(0xE4, 0xE4, 0xE4)}
)

// RGB is an opaque colour.
func RGB(r, g, b uint8) color.RGBA { return color.RGBA{r, g, b, 0xFF} }

// Tint is the colour of an area, of which the given percentage is the colour and the rest white. It is opaque, since not
// every reader of PDF and SVG blends alike.
func Tint(c color.Color, percent uint32) color.RGBA {
	r, g, b, _ := c.RGBA()
	mix := func(x uint32) uint8 { return uint8(((x>>8)*percent + 0xFF*(100-percent)) / 100) }
	return RGB(mix(r), mix(g), mix(b))
}

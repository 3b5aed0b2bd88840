package figure

import (
	"fmt"
	"strings"
	"sync"
	"unicode"

	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font/opentype"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/vg"
)

// sans is Liberation Sans. Its letters are as wide as those of Arial and Helvetica. A figure in
// SVG keeps its layout on machines that have any of the three.
var sans = font.Font{Typeface: "Liberation", Variant: "Sans"}

var fonts = sync.OnceValue(func() *font.Cache {
	face, err := opentype.Parse(liberationsansregular.TTF)
	if err != nil {
		panic(fmt.Errorf("parsing the built-in font: %w", err))
	}
	return font.NewCache(font.Collection{{Font: sans, Face: face}})
})

func faceOf(size font.Length) font.Face { return fonts().Lookup(sans, size) }

func widthOf(size font.Length, s string) vg.Length {
	face := faceOf(size)
	return face.Width(s)
}

// fitted shortens a text to a width: first its letters shrink to seven tenths, then its middle is
// left out.
func fitted(size font.Length, s string, width vg.Length) (font.Length, string) {
	s = printable(s)
	if w := widthOf(size, s); w > width {
		size *= max(0.7, width/w)
	}
	for r := []rune(s); widthOf(size, s) > width && len(r) > 3; {
		r = append(r[:len(r)/2], r[len(r)/2+1:]...)
		s = string(r[:len(r)/2]) + "…" + string(r[len(r)/2:])
	}
	return size, s
}

// printable replaces characters that an SVG cannot hold or a reader cannot see; a process may have
// any name.
func printable(s string) string {
	return strings.Map(func(r rune) rune {
		if r == unicode.ReplacementChar || !unicode.IsPrint(r) {
			return '?'
		}
		return r
	}, s)
}

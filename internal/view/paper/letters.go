package paper

import (
	"fmt"
	"sync"

	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font/opentype"
	"gonum.org/v1/plot/font"
	"gonum.org/v1/plot/text"
)

// Sans is Liberation Sans, whose letters are as wide as those of Arial and Helvetica: a figure in SVG keeps its layout on
// machines that have any of the three.
var Sans = font.Font{Typeface: "Liberation", Variant: "Sans"}

// Letters holds Sans.
var Letters = sync.OnceValue(func() *font.Cache {
	face, err := opentype.Parse(liberationsansregular.TTF)
	if err != nil {
		panic(fmt.Errorf("parsing the font that is built in: %w", err))
	}
	return font.NewCache(font.Collection{{Font: Sans, Face: face}})
})

// Handler draws text without interpreting it.
func Handler() text.Handler { return text.Plain{Fonts: Letters()} }

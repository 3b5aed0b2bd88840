// Package svg reads the figures that airtide draws as SVG, for tests of their texts, paths and
// layout.
package svg

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"testing"

	"codeberg.org/go-fonts/liberation/liberationsansregular"
	"golang.org/x/image/font/opentype"
	"gonum.org/v1/plot/font"
)

// Picture is the content of an SVG: texts with their boxes in points from the lower left corner,
// and paths.
type Picture struct {
	Width, Height float64
	Texts         []Text
	Paths         []Path
}

// Text is a line of text with its box.
type Text struct {
	String                   string
	Left, Bottom, Right, Top float64
}

// Path is a line or an area, with its attributes d and style.
type Path struct{ D, Style string }

// Has is true if a text stands in the picture.
func (p *Picture) Has(s string) bool {
	return slices.ContainsFunc(p.Texts, func(t Text) bool { return t.String == s })
}

// HasPrefix is true if a text of the picture begins with s.
func (p *Picture) HasPrefix(s string) bool {
	return slices.ContainsFunc(p.Texts, func(t Text) bool { return strings.HasPrefix(t.String, s) })
}

// All is all texts in one line, for a message.
func (p *Picture) All() string {
	var all []string
	for _, t := range p.Texts {
		all = append(all, t.String)
	}
	return strings.Join(all, " | ")
}

// Count is the number of paths whose style has all the parts.
func (p *Picture) Count(parts ...string) int {
	n := 0
	for _, path := range p.Paths {
		if !slices.ContainsFunc(parts, func(part string) bool { return !strings.Contains(path.Style, part) }) {
			n++
		}
	}
	return n
}

// CheckLayout reports texts that overlap or leave the paper.
func (p *Picture) CheckLayout(t *testing.T) {
	t.Helper()
	for i, a := range p.Texts {
		if a.Left < 0 || a.Bottom < 0 || a.Right > p.Width || a.Top > p.Height {
			t.Errorf("%q leaves the paper: %.1f..%.1f x %.1f..%.1f of %.1f x %.1f",
				a.String, a.Left, a.Right, a.Bottom, a.Top, p.Width, p.Height)
		}
		for _, b := range p.Texts[:i] {
			if a.Left < b.Right && b.Left < a.Right && a.Bottom < b.Top && b.Bottom < a.Top {
				t.Errorf("%q and %q overlap", a.String, b.String)
			}
		}
	}
}

// Read reads a picture. The test fails if it is not well-formed or has a coordinate that is no
// number.
func Read(t *testing.T, data []byte) *Picture {
	t.Helper()
	p, err := parse(data)
	if err != nil {
		t.Fatal(err)
	}
	return p
}

func parse(data []byte) (*Picture, error) {
	p := &Picture{}
	r := reader{Picture: p, stack: []transform{{a: 1, d: 1}}}
	d := xml.NewDecoder(bytes.NewReader(data))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return p, nil
		}
		if err != nil {
			return nil, fmt.Errorf("the SVG is not well-formed: %w", err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			err = r.start(e)
		case xml.CharData:
			if r.text != nil {
				r.text.String += string(e)
			}
		case xml.EndElement:
			r.end(e)
		}
		if err != nil {
			return nil, err
		}
	}
}

// reader keeps the place in the document.
type reader struct {
	*Picture
	stack []transform // transforms of the open elements
	text  *Text       // the open text
	size  float64     // its font's size
	place transform   // left end of its baseline
}

func (r *reader) start(e xml.StartElement) error {
	attr := map[string]string{}
	for _, a := range e.Attr {
		attr[a.Name.Local] = a.Value
		if strings.Contains(a.Value, "NaN") || strings.Contains(a.Value, "Inf") {
			return fmt.Errorf("%s of %s is %s", a.Name.Local, e.Name.Local, a.Value)
		}
	}
	m, err := parseTransform(attr["transform"])
	if err != nil {
		return err
	}
	m = r.stack[len(r.stack)-1].after(m)
	r.stack = append(r.stack, m)
	switch e.Name.Local {
	case "svg":
		if _, err := fmt.Sscanf(attr["viewBox"], "0 0 %f %f", &r.Width, &r.Height); err != nil {
			return fmt.Errorf("viewBox %q: %w", attr["viewBox"], err)
		}
	case "path":
		r.Paths = append(r.Paths, Path{attr["d"], attr["style"]})
	case "text":
		_, after, _ := strings.Cut(attr["style"], "font-size:")
		number, _, _ := strings.Cut(after, "px")
		r.size, err = strconv.ParseFloat(number, 64)
		if err != nil {
			return fmt.Errorf("text without a size: %q", attr["style"])
		}
		x, _ := strconv.ParseFloat(attr["x"], 64)
		y, _ := strconv.ParseFloat(attr["y"], 64)
		r.place = m.after(transform{1, 0, 0, 1, x, y})
		r.text = &Text{}
	}
	return nil
}

func (r *reader) end(e xml.EndElement) {
	r.stack = r.stack[:len(r.stack)-1]
	if e.Name.Local != "text" {
		return
	}
	t := r.text
	x0, y0 := r.place.apply(0, r.size*0.2)
	x1, y1 := r.place.apply(widthOf(r.size, t.String), -r.size*0.72)
	t.Left = min(x0, x1)
	t.Right = max(x0, x1)
	t.Bottom = r.Height - max(y0, y1)
	t.Top = r.Height - min(y0, y1)
	r.Texts = append(r.Texts, *t)
	r.text = nil
}

// sans is the font of the figures.
var sans = func() *font.Cache {
	face, err := opentype.Parse(liberationsansregular.TTF)
	if err != nil {
		panic(err)
	}
	return font.NewCache(font.Collection{{Font: font.Font{Typeface: "Liberation", Variant: "Sans"}, Face: face}})
}()

func widthOf(size float64, s string) float64 {
	face := sans.Lookup(font.Font{Typeface: "Liberation", Variant: "Sans"}, font.Length(size))
	return float64(face.Width(s))
}

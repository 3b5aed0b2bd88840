package report

import (
	"bytes"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"strconv"
	"strings"
	"testing"

	"gonum.org/v1/plot/font"
)

// parsed is what a test needs of an SVG: texts with their boxes in points from the lower left corner, and paths.
type parsed struct {
	width, height float64
	texts         []text
	paths         []path
}

type text struct {
	s                        string
	left, bottom, right, top float64
}

type path struct{ d, style string }

// has tells whether a text stands in the figure.
func (p *parsed) has(s string) bool {
	for _, t := range p.texts {
		if t.s == s {
			return true
		}
	}
	return false
}

func (p *parsed) all() string {
	var all []string
	for _, t := range p.texts {
		all = append(all, t.s)
	}
	return strings.Join(all, " | ")
}

// count is the number of paths whose style holds all the parts.
func (p *parsed) count(parts ...string) int {
	n := 0
next:
	for _, x := range p.paths {
		for _, part := range parts {
			if !strings.Contains(x.style, part) {
				continue next
			}
		}
		n++
	}
	return n
}

// drawSVG draws and reads back a figure.
func drawSVG(t *testing.T, kind Kind, flows []*FlowSeries, o Options) *parsed {
	t.Helper()
	var b bytes.Buffer
	if err := Draw(&b, "svg", kind, flows, o); err != nil {
		t.Fatal(err)
	}
	return parseSVG(t, b.Bytes())
}

// transform is x' = a x + c y + e, y' = b x + d y + f, as in SVG.
type transform struct{ a, b, c, d, e, f float64 }

func (m transform) then(n transform) transform { // n is applied first
	return transform{
		m.a*n.a + m.c*n.b, m.b*n.a + m.d*n.b, m.a*n.c + m.c*n.d, m.b*n.c + m.d*n.d,
		m.a*n.e + m.c*n.f + m.e, m.b*n.e + m.d*n.f + m.f,
	}
}

func (m transform) apply(x, y float64) (float64, float64) {
	return m.a*x + m.c*y + m.e, m.b*x + m.d*y + m.f
}

// parseTransform understands the transforms that the canvas writes.
func parseTransform(t *testing.T, s string) transform {
	m := transform{a: 1, d: 1}
	for _, call := range strings.SplitAfter(s, ")") {
		call = strings.TrimSpace(call)
		if call == "" {
			continue
		}
		name, rest, _ := strings.Cut(call, "(")
		var v []float64
		for _, x := range strings.FieldsFunc(strings.TrimSuffix(rest, ")"), func(r rune) bool { return r == ',' || r == ' ' }) {
			f, err := strconv.ParseFloat(x, 64)
			if err != nil {
				t.Fatalf("transform %q: %v", s, err)
			}
			v = append(v, f)
		}
		switch {
		case name == "scale" && len(v) == 2:
			m = m.then(transform{a: v[0], d: v[1]})
		case name == "translate" && len(v) == 2:
			m = m.then(transform{1, 0, 0, 1, v[0], v[1]})
		case name == "rotate" && len(v) == 1 && v[0] == 90:
			m = m.then(transform{0, 1, -1, 0, 0, 0})
		default:
			t.Fatalf("transform %q is not understood", s)
		}
	}
	return m
}

func parseSVG(t *testing.T, b []byte) *parsed {
	t.Helper()
	p := &parsed{}
	stack := []transform{{a: 1, d: 1}}
	var now *text
	var size float64
	var place transform
	d := xml.NewDecoder(bytes.NewReader(b))
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return p
		}
		if err != nil {
			t.Fatalf("the SVG is not well-formed: %v", err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			attr := map[string]string{}
			for _, a := range e.Attr {
				attr[a.Name.Local] = a.Value
			}
			m := stack[len(stack)-1].then(parseTransform(t, attr["transform"]))
			stack = append(stack, m)
			switch e.Name.Local {
			case "svg":
				fmt.Sscanf(attr["viewBox"], "0 0 %f %f", &p.width, &p.height)
			case "path":
				p.paths = append(p.paths, path{attr["d"], attr["style"]})
			case "text":
				now, place = &text{}, m
				_, after, _ := strings.Cut(attr["style"], "font-size:")
				number, _, _ := strings.Cut(after, "px")
				if size, err = strconv.ParseFloat(number, 64); err != nil {
					t.Fatalf("text without a size: %q", attr["style"])
				}
				x, _ := strconv.ParseFloat(attr["x"], 64)
				y, _ := strconv.ParseFloat(attr["y"], 64)
				place = place.then(transform{1, 0, 0, 1, x, y})
			}
		case xml.CharData:
			if now != nil {
				now.s += string(e)
			}
		case xml.EndElement:
			stack = stack[:len(stack)-1]
			if e.Name.Local == "text" {
				width := float64(widthOf(font.Length(size), now.s))
				x0, y0 := place.apply(0, size*0.2)
				x1, y1 := place.apply(width, -size*0.72)
				now.left, now.right = min(x0, x1), max(x0, x1)
				now.bottom, now.top = p.height-max(y0, y1), p.height-min(y0, y1)
				p.texts = append(p.texts, *now)
				now = nil
			}
		}
	}
}

// checkLayout says which texts overlap or leave the paper.
func (p *parsed) checkLayout(t *testing.T) {
	t.Helper()
	for i, a := range p.texts {
		if a.left < 0 || a.bottom < 0 || a.right > p.width || a.top > p.height {
			t.Errorf("%q leaves the paper: %.1f..%.1f x %.1f..%.1f of %.1f x %.1f", a.s, a.left, a.right, a.bottom, a.top, p.width, p.height)
		}
		for _, b := range p.texts[:i] {
			if a.left < b.right && b.left < a.right && a.bottom < b.top && b.bottom < a.top {
				t.Errorf("%q and %q overlap", a.s, b.s)
			}
		}
	}
}

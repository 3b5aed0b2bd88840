package svg

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// transform is x' = a x + c y + e, y' = b x + d y + f, as in SVG.
type transform struct{ a, b, c, d, e, f float64 }

// after is the transform that applies n first.
func (m transform) after(n transform) transform {
	return transform{
		m.a*n.a + m.c*n.b, m.b*n.a + m.d*n.b, m.a*n.c + m.c*n.d, m.b*n.c + m.d*n.d,
		m.a*n.e + m.c*n.f + m.e, m.b*n.e + m.d*n.f + m.f,
	}
}

func (m transform) apply(x, y float64) (float64, float64) {
	return m.a*x + m.c*y + m.e, m.b*x + m.d*y + m.f
}

// parseTransform understands the transforms that the canvas of the figures writes.
func parseTransform(s string) (transform, error) {
	m := transform{a: 1, d: 1}
	for _, call := range strings.SplitAfter(s, ")") {
		call = strings.TrimSpace(call)
		if call == "" {
			continue
		}
		name, rest, _ := strings.Cut(call, "(")
		separator := func(r rune) bool { return r == ',' || r == ' ' }
		var v []float64
		for _, x := range strings.FieldsFunc(strings.TrimSuffix(rest, ")"), separator) {
			f, err := strconv.ParseFloat(x, 64)
			if err != nil {
				return m, fmt.Errorf("transform %q: %w", s, err)
			}
			v = append(v, f)
		}
		switch {
		case name == "scale" && len(v) == 2:
			m = m.after(transform{a: v[0], d: v[1]})
		case name == "translate" && len(v) == 2:
			m = m.after(transform{1, 0, 0, 1, v[0], v[1]})
		case name == "rotate" && len(v) == 1:
			sin, cos := math.Sincos(v[0] * math.Pi / 180)
			m = m.after(transform{cos, sin, -sin, cos, 0, 0})
		default:
			return m, fmt.Errorf("transform %q is not understood", s)
		}
	}
	return m, nil
}

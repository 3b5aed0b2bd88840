package screen

import (
	"math"
	"os"
	"strings"
	"time"

	"airtide/internal/tcp"
)

// glyphs are the characters that a chart is drawn with.
type glyphs uint8

const (
	braille glyphs = iota // 2 by 4 dots in a cell
	blocks                // 1 by 2, for fonts without braille
)

// defaultGlyphs returns block glyphs on the Linux console, because its fonts have no braille.
func defaultGlyphs() glyphs {
	if os.Getenv("TERM") == "linux" {
		return blocks
	}
	return braille
}

func (g glyphs) other() glyphs { return 1 - g }

func (g glyphs) dots() (columns, rows int) {
	if g == blocks {
		return 1, 2
	}
	return 2, 4
}

// brailleBits are the dots of U+2800 by column and row.
var brailleBits = [2][4]rune{{0x01, 0x02, 0x04, 0x40}, {0x08, 0x10, 0x20, 0x80}}

// canvas is a field of dots; row 0 is at the bottom.
type canvas struct {
	glyphs        glyphs
	width, height int // cells
	set           []bool
	columns, rows int // dots
}

func newCanvas(width, height int, g glyphs) *canvas {
	c, r := g.dots()
	return &canvas{g, width, height, make([]bool, width*c*height*r), width * c, height * r}
}

// line sets the dots of a column from one row to another.
func (c *canvas) line(column, from, to int) {
	for row := max(0, min(from, to)); row <= min(c.rows-1, max(from, to)); row++ {
		c.set[row*c.columns+column] = true
	}
}

func (c *canvas) lines() []string {
	lines := make([]string, c.height)
	perColumn, perRow := c.glyphs.dots()
	for y := range lines {
		var b strings.Builder
		for x := range c.width {
			at := func(dx, dy int) bool { // dy counts from the top of the cell
				return c.set[(c.rows-1-y*perRow-dy)*c.columns+x*perColumn+dx]
			}
			b.WriteRune(c.glyphs.char(at))
		}
		lines[y] = b.String()
	}
	return lines
}

func (g glyphs) char(at func(dx, dy int) bool) rune {
	if g == blocks {
		switch upper, lower := at(0, 0), at(0, 1); {
		case upper && lower:
			return '█'
		case upper:
			return '▀'
		case lower:
			return '▄'
		}
		return ' '
	}
	r := rune(0)
	for dx := range 2 {
		for dy := range 4 {
			if at(dx, dy) {
				r |= brailleBits[dx][dy]
			}
		}
	}
	if r == 0 {
		return ' '
	}
	return 0x2800 + r
}

// span is the range of a value around a time.
type span struct {
	ns, low, high int64
}

// spans takes one quantity out of a history, from a time on.
func spans(points []Point, fromNs int64, of func(Point) (low, high int64)) []span {
	var out []span
	for _, p := range points {
		if low, high := of(p); p.TimeNs >= fromNs && low != tcp.Absent {
			out = append(out, span{p.TimeNs, low, high})
		}
	}
	return out
}

func cwndOf(p Point) (low, high int64) { return p.CwndMin, p.CwndMax }
func rateOf(p Point) (low, high int64) { return p.Rate, p.Rate }
func rttOf(p Point) (low, high int64)  { return p.RTTMin, p.RTTMax }

// bounds is the range of values, with a little air. From zero when that costs less than half of the
// height, so that a flat line looks flat and a small change on a high level can still be seen.
func bounds(s []span) (low, high int64) {
	if len(s) == 0 {
		return 0, 1
	}
	low = math.MaxInt64
	high = 0
	for _, p := range s {
		low = min(low, p.low)
		high = max(high, p.high)
	}
	if low < high/2 || low == high {
		low = 0
	} else {
		low = max(0, low-(high-low)/8)
	}
	return low, max(high, low+1)
}

// joinNs is the longest gap that a chart's line bridges.
const joinNs = int64(time.Second)

// plot draws spans over a time. Every dot column shows the whole range of the values that fall into
// it.
func (c *canvas) plot(s []span, fromNs, toNs, low, high int64) {
	row := func(v int64) int {
		return int(math.Round(float64(v-low) / float64(high-low) * float64(c.rows-1)))
	}
	column := func(ns int64) int {
		return min(c.columns-1, int(float64(ns-fromNs)/float64(toNs-fromNs)*float64(c.columns)))
	}
	for i, p := range s {
		x := column(p.ns)
		if x < 0 {
			continue
		}
		bottom := row(p.low)
		top := row(p.high)
		c.line(x, bottom, top)
		if i == 0 || p.ns-s[i-1].ns > max(joinNs, 2*(toNs-fromNs)/int64(c.columns)) {
			continue
		}
		// Join with the last point: flat up to here, then up or down, as the value held until the
		// next sample. The nearest end of the last range counts: a range that overlaps needs no
		// joining.
		before := s[i-1]
		level := min(max(row(before.low), bottom), row(before.high))
		for between := max(0, column(before.ns)+1); between < x; between++ {
			c.line(between, level, level)
		}
		c.line(x, level, min(max(level, bottom), top))
	}
}

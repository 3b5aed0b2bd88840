package screen

import (
	"strings"
	"testing"

	"airtide/internal/tcp"
)

func TestAChartShowsRangesJoinsNeighboursAndLeavesGaps(t *testing.T) {
	const ms = int64(1e6)
	var ramp []span
	for i := range int64(8) {
		ramp = append(ramp, span{i * 100 * ms, i, i})
	}
	for _, c := range []struct {
		name  string
		spans []span
		want  []string
	}{
		{"nothing", nil, []string{"        ", "        "}},
		{"a ramp", ramp, []string{"    ▄▄█▀", "▄▄█▀▀   "}},
		{"one value that holds", []span{{0, 0, 0}, {700 * ms, 0, 0}}, []string{"        ", "▄▄▄▄▄▄▄▄"}},
		{"a range keeps its peak", []span{{300 * ms, 0, 7}}, []string{"   █    ", "   █    "}},
		{"a step", []span{{0, 7, 7}, {400 * ms, 0, 0}}, []string{"▀▀▀▀█   ", "    █   "}},
		{"a value before the chart is left out", []span{{-900 * ms, 7, 7}}, []string{"        ", "        "}},
	} {
		t.Run(c.name, func(t *testing.T) {
			field := newCanvas(8, 2, blocks)
			field.plot(c.spans, 0, 800*ms, 0, 7)
			got := strings.Join(field.lines(), "\n")
			if want := strings.Join(c.want, "\n"); got != want {
				t.Errorf("got\n%s\nwant\n%s", got, want)
			}
		})
	}
	t.Run("a gap of seconds", func(t *testing.T) {
		field := newCanvas(8, 1, blocks)
		field.plot([]span{{0, 0, 0}, {7 * second, 0, 0}}, 0, 8*second, 0, 7)
		if got := field.lines()[0]; got != "▄      ▄" {
			t.Errorf("got %q", got)
		}
	})
	t.Run("braille", func(t *testing.T) {
		field := newCanvas(2, 1, braille)
		field.plot([]span{{0, 0, 3}, {1 * second, 0, 0}, {2 * second, 1, 1}, {3 * second, 3, 3}}, 0, 4*second, 0, 3)
		if got := field.lines()[0]; got != "⣇⡼" {
			t.Errorf("got %q", got)
		}
	})
}

func TestTheScaleOfAChartFitsItsValues(t *testing.T) {
	for _, c := range []struct {
		name      string
		spans     []span
		low, high int64
	}{
		{"nothing", nil, 0, 1},
		{"a wide range begins at zero", []span{{0, 10, 100}}, 0, 100},
		{"a narrow one on a high level does not", []span{{0, 900, 980}}, 890, 980},
		{"a constant has zero below it", []span{{0, 50, 50}}, 0, 50},
		{"only zeros", []span{{0, 0, 0}}, 0, 1},
	} {
		if low, high := bounds(c.spans); low != c.low || high != c.high {
			t.Errorf("%s: %d to %d, want %d to %d", c.name, low, high, c.low, c.high)
		}
	}
	points := []Point{
		{1, 5, 6, tcp.Absent, tcp.Absent, tcp.Absent}, {2, tcp.Absent, tcp.Absent, 7, 8, tcp.Absent},
	}
	if s := spans(points, 0, rttOf); len(s) != 1 || s[0] != (span{2, 7, 8}) {
		t.Errorf("RTT spans %v, want only the point that has one", s)
	}
}

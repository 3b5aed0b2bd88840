package plot

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"testing"

	"airtide/internal/tcp"
)

func number(t *testing.T, s string) float64 {
	t.Helper()
	x, err := strconv.ParseFloat(s, 64)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

// Flows side by side have the same axes, so that they can be compared, and one that begins late is
// drawn late.
func TestGridSharesAxes(t *testing.T) {
	fast := synthetic{id: 1, start: 0, end: 10, mbit: 40, rttMs: 20, buffer: 80}
	late := synthetic{id: 2, start: 6, end: 9, mbit: 4, rttMs: 20, buffer: 20}
	o := Options{Grid: true}
	picture := drawSVG(t, Rates, collect(t, []Kind{Rates}, o, fast, late), o)
	picture.CheckLayout(t)
	labels := map[string]int{}
	for _, x := range picture.Texts {
		labels[x.String]++
	}
	for _, twice := range []string{"rate (Mbit/s)", "time (s)", "40", "10"} {
		if labels[twice] < 2 {
			t.Errorf("%q stands %d times, want it on both axes: %s", twice, labels[twice], picture.All())
		}
	}
	if labels["goodput sent"] != 1 {
		t.Errorf("the legend stands %d times, want once for the grid", labels["goodput sent"])
	}
	// Goodput is the line of width 1.4: the legend's, the first cell's, the second cell's.
	var lines [][2]float64
	for _, p := range picture.Paths {
		if strings.Contains(p.Style, "stroke-width:1.4") {
			points := strings.FieldsFunc(p.D, func(r rune) bool { return r == 'M' || r == 'L' })
			first, _, _ := strings.Cut(points[0], ",")
			last, _, _ := strings.Cut(points[len(points)-1], ",")
			lines = append(lines, [2]float64{number(t, first), number(t, last)})
		}
	}
	if len(lines) != 3 {
		t.Fatalf("%d lines of goodput, want the legend's and two", len(lines))
	}
	perSecond := (lines[1][1] - lines[1][0]) / 10
	if took := (lines[2][1] - lines[2][0]) / perSecond; math.Abs(took-3) > 0.1 {
		t.Errorf("the late flow takes %.2f s on the axis, want 3 s", took)
	}
}

func TestGridHoldsManyFlows(t *testing.T) {
	for _, n := range []int{1, 2, 3, 13, MaxGrid} {
		t.Run(fmt.Sprint(n), func(t *testing.T) {
			var flows []synthetic
			for i := range n {
				flows = append(flows, synthetic{id: tcp.FlowID(i + 1), end: 1, mbit: 2, rttMs: 30, buffer: 20})
			}
			o := Options{Grid: true}
			picture := drawSVG(t, Cwnd, collect(t, []Kind{Cwnd}, o, flows...), o)
			picture.CheckLayout(t)
			titles := 0
			for _, x := range picture.Texts {
				if strings.HasPrefix(x.String, "iperf3, ") {
					titles++
				}
			}
			if titles != n {
				t.Errorf("%d cells, want %d", titles, n)
			}
		})
	}
}

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

// The legend of a grid names a series once, also if it is off scale in only some cells.
func TestGridNamesASeriesOnce(t *testing.T) {
	s := NewSeries([]Kind{Rates}, nil, Options{OriginNs: origin})
	for id := range tcp.FlowID(2) {
		if err := s.Flow(&tcp.Flow{ID: id + 1, Comm: "test", CongestionControl: "cubic"}); err != nil {
			t.Fatal(err)
		}
	}
	b := tcp.NewBatch(200)
	for i := range 100 {
		for id := range int64(2) {
			var row tcp.Sample
			for f := range row.Values {
				row.Values[f] = tcp.Absent
			}
			row.Flow = tcp.FlowID(id + 1)
			row.TimeNs = origin + int64(i)*1e8
			row.Values[tcp.DeliveryRateBps] = 30e6
			row.Values[tcp.PacingRateBps] = 40e6 + id*200e6
			b.Append(&row)
		}
	}
	if err := s.Samples(b); err != nil {
		t.Fatal(err)
	}
	picture := drawSVG(t, Rates, s.Flows(), Options{Grid: true})
	if !picture.Has("pacing rate (off scale)") || picture.Has("pacing rate") {
		t.Errorf("the legend does not name the pacing rate once: %s", picture.All())
	}
}

package figure

import (
	"encoding/json"
	"math"
	"strings"
	"testing"

	"airtide/internal/units"
)

// sampleFigure is the figure of the documentation of JSON: an RTT with a gap, and a timeout.
func sampleFigure() *Figure {
	from, to := 0.0, 10e9
	rtt := Series{Name: "smoothed RTT", Style: Style{Ink: Blue, Width: 1.3}, Data: []Sample{
		Point(0, 20_100), Gap(10e6), Point(2e9, 21_000),
	}}
	return &Figure{
		Title: "iperf3, cubic", X: Axis{Label: "time", Kind: Time, Min: &from, Max: &to},
		Cells: []Cell{{Panels: []Panel{{
			Left:   Axis{Label: "RTT", Unit: units.Scale{{Name: "µs", Size: 1}, {Name: "ms", Size: 1e3, From: 1e3}}},
			Series: []Series{rtt},
			Marks: []Marks{{
				Name: "4 timeout", Style: Style{Ink: Text}, Level: 4000, Data: []Mark{{X: 6.2e9, Count: 1}},
			}},
			Rules: []Rule{{X: 2e9, Name: "measurements begin"}},
		}}}},
	}
}

func TestJSONIsInTheUnitsOfTheAxes(t *testing.T) {
	data, err := sampleFigure().JSON(1000)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		`"version":1`, `"title":"iperf3, cubic"`,
		`"x":{"label":"time","unit":"s","kind":"time","min":0,"max":10}`,
		`"left":{"label":"RTT","unit":"ms","kind":"linear","min":0,"max":22.26}`,
		`"name":"smoothed RTT","side":"left","kind":"step","style":{"ink":"blue","width":1.3}`,
		`"x":[0,0.01,2],"y":[20.1,null,21]`,
		`"name":"4 timeout","side":"left","style":{"ink":"text"},"x":[6.2],"low":[4],"high":[4],"count":[1]`,
		`"rules":[{"x":2,"name":"measurements begin"}]`,
	} {
		if !strings.Contains(string(data), part) {
			t.Errorf("%s is missing in %s", part, data)
		}
	}
}

func TestJSONKeepsSpikesAndGapsWhenItIsThinned(t *testing.T) {
	f := sampleFigure()
	var data []Sample
	for i := range 100_000 {
		data = append(data, Point(float64(i)*1e5, 20_000+float64(i%7)))
	}
	data[65_432] = Point(data[65_432].X, 95_000)
	data[50_000] = Gap(data[50_000].X)
	f.Cells[0].Panels[0].Series[0].Data = data
	raw, err := f.JSON(2000)
	if err != nil {
		t.Fatal(err)
	}
	var out struct {
		Cells []struct {
			Panels []struct {
				Series []struct{ X, Y []*float64 }
			}
		}
	}
	if err := json.Unmarshal(raw, &out); err != nil {
		t.Fatal(err)
	}
	s := out.Cells[0].Panels[0].Series[0]
	gaps, most := 0, 0.0
	for i, y := range s.Y {
		if y == nil {
			gaps++
			continue
		}
		if i > 0 && *s.X[i] < *s.X[i-1] {
			t.Fatalf("x goes back at point %d", i)
		}
		most = math.Max(most, *y)
	}
	if len(s.X) != len(s.Y) || len(s.Y) > 2100 || gaps != 1 || most != 95 {
		t.Errorf("%d x, %d y, %d gaps, greatest %g, want at most 2100 points, 1 gap, 95",
			len(s.X), len(s.Y), gaps, most)
	}
}

package plan

import (
	"testing"

	"airtide/internal/cell/medium"
)

// The rates are those that data sheets print, with the modes that they belong to.
func TestPHYRatesAreFoundAsTheyArePrinted(t *testing.T) {
	for _, c := range []struct {
		standard                     Standard
		rate                         Rate
		width, streams, index, guard int
		askWidth, askStreams, askGap int
	}{
		{"n", 65e6, 20, 1, 7, 800, 0, 0, 0},
		{"n", 72.2e6, 20, 1, 7, 400, 0, 0, 0},
		{"n", 150e6, 40, 1, 7, 400, 0, 0, 0},
		{"n", 300e6, 40, 2, 7, 400, 0, 0, 0},
		{"ac", 433.3e6, 80, 1, 9, 400, 0, 0, 0},
		{"ac", 866.7e6, 160, 1, 9, 400, 0, 0, 0},
		{"ac", 866.7e6, 80, 2, 9, 400, 80, 0, 0},
		{"ac", 866.7e6, 80, 2, 9, 400, 0, 2, 0},
		{"ac", 390e6, 80, 1, 9, 800, 80, 0, 0},
		{"ac", 390e6, 80, 1, 8, 400, 80, 0, 400},
		{"ax", 1201e6, 160, 1, 11, 800, 0, 0, 0},
		{"ax", 1201e6, 80, 2, 11, 800, 80, 0, 0},
	} {
		r := Radio{Standard: c.standard, Width: c.askWidth, Streams: c.askStreams, GuardInterval: Duration(c.askGap)}
		p, err := r.phy(c.rate)
		if err != nil || p.WidthMHz != c.width || p.Streams != c.streams || p.Index != c.index || p.GuardNs != c.guard {
			t.Errorf("802.11%s at %s: %d MHz, %d streams, MCS %d, %d ns (%v), expected %+v", c.standard, c.rate,
				p.WidthMHz, p.Streams, p.Index, p.GuardNs, err, c)
		}
	}
	for _, c := range []struct {
		standard Standard
		rate     Rate
	}{{"b", 54e6}, {"g", 55e6}, {"a", 11e6}, {"n", 55e6}, {"n", 780e6}, {"ac", 86e6}, {"ax", 1e6}} {
		if p, err := (&Radio{Standard: c.standard}).phy(c.rate); err == nil {
			t.Errorf("802.11%s has a rate of %s: %+v", c.standard, c.rate, p)
		}
	}
}

// Where only the rate is given, this package and the medium choose the same mode.
func TestModesAgreeWithTheMedium(t *testing.T) {
	for _, s := range standards {
		if len(modes()[s.name]) == 0 {
			t.Errorf("802.11%s has no modes", s.name)
		}
		for _, p := range modes()[s.name] {
			ours, err := (&Radio{Standard: s.name}).phy(Rate(p.RateBps))
			if err != nil {
				t.Fatal(err)
			}
			theirs, err := medium.AtRate(s.is, 0, 0, p.Mbps())
			if err != nil || ours != theirs {
				t.Fatalf("802.11%s at %s: %+v here, %+v in the medium (%v)", s.name, Rate(p.RateBps), ours, theirs, err)
			}
		}
	}
}

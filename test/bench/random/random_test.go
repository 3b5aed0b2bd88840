package main

import (
	"math"
	"reflect"
	"strings"
	"testing"
)

func TestACellIsDrawnFromItsSeed(t *testing.T) {
	seen := map[string]bool{}
	for seed := uint64(1); seed <= 500; seed++ {
		c, err := newCell(seed)
		if err != nil {
			t.Fatal(err)
		}
		again, err := newCell(seed)
		if err != nil || !reflect.DeepEqual(c, again) {
			t.Fatalf("seed %d: another cell the second time: %v, %v", seed, again, err)
		}
		seen[c.String()] = true
		s := &c.scenario
		if n := len(s.Stations); n < 2 || n > 12 || c.foreign() > n-2 || s.APQueue < 50 || s.APQueue > 1000 {
			t.Errorf("seed %d: out of range: %s", seed, c)
		}
		for _, station := range s.Stations {
			mbps := station.PHYs[0].PHY.Mbps()
			if station.Delay < minRTT/2 || station.Delay > maxRTT/2 || mbps < 5.5 || mbps > 1733.4 {
				t.Errorf("seed %d: out of range: %s", seed, c)
			}
			for _, f := range station.Flows {
				if f.Download && !c.down || !f.Download && !c.up {
					t.Errorf("seed %d: a flow in the wrong direction: %s", seed, c)
				}
			}
		}
	}
	if len(seen) != 500 {
		t.Errorf("%d different cells of 500", len(seen))
	}
}

func TestPage(t *testing.T) {
	outcomes, err := judgeAll(t.Context(), 2, 1)
	if err != nil {
		t.Fatal(err)
	}
	for _, o := range outcomes {
		if math.IsNaN(o.total) || !(o.index > 0 && o.index <= 1.0001) || !(o.rtt > 0) {
			t.Errorf("seed %d: total %v, index %v, RTT %v", o.cell.seed, o.total, o.index, o.rtt)
		}
	}
	page := pageOf(outcomes)
	for _, want := range []string{"2 random cells", "| measured, ", "## The cells of the least index\n", "| 1 | "} {
		if !strings.Contains(page, want) {
			t.Errorf("%q is missing in\n%s", want, page)
		}
	}
	var text strings.Builder
	outcomes[0].print(&text)
	if !strings.Contains(text.String(), "seed 1: ") || strings.Count(text.String(), "\n") < 4 {
		t.Error(text.String())
	}
}

package simulate

import (
	"slices"
	"strings"
	"testing"
	"time"

	"airtide/internal/cell/medium"
)

// TestBoundsThatCostTheTotalAreReleased: default carries more than agents in both of these cells.
// The first release probe, after a minute, finds it. CUBIC then needs some seconds to fill the
// queues, and the total is that of the default.
func TestBoundsThatCostTheTotalAreReleased(t *testing.T) {
	if testing.Short() {
		t.Skip("takes 25 s of processor time")
	}
	const firstComparison = 65 * time.Second
	const growth = 15 * time.Second
	const measured = 30 * time.Second
	fast, err := medium.AtRate(medium.Std11ac, 20, 1, 86.7)
	if err != nil {
		t.Fatal(err)
	}
	singleFrames := Scenario{Seed: 1, APQueue: 100, Survey: true, Stations: []ScenarioStation{
		{PHYs: []medium.RateFrom{{PHY: fast}}, Delay: 20 * time.Millisecond, Flows: make([]ScenarioFlow, 4)},
		legacy(t, medium.Std11a, 54, 1),
	}}
	singleFrames.Stations[1].Delay = time.Millisecond
	shortQueue := Scenario{Seed: 1, APQueue: 10, Survey: true}
	for i := range 10 {
		shortQueue.Stations = append(shortQueue.Stations, downloads(t, 65, time.Duration(2+4*i)*time.Millisecond, 8))
	}
	for name, scenario := range map[string]Scenario{
		"single frames beside A-MPDUs":                   singleFrames,
		"an access point's queue below the least window": shortQueue,
	} {
		t.Run(name, func(t *testing.T) {
			cell, err := scenario.NewCell(true)
			if err != nil {
				t.Fatal(err)
			}
			released := func() bool {
				return strings.Contains(strings.Join(cell.Notices(), "\n"), "windows are released for 5m0s")
			}
			for cell.Now() < firstComparison && !released() {
				cell.Until(cell.Now() + 100*time.Millisecond)
			}
			if !released() {
				t.Fatalf("bounds are not released within %s", firstComparison)
			}
			t.Logf("after %s: %q", cell.Now(), cell.Notices())
			cell.Until(cell.Now() + growth)
			from := cell.Now()
			after, err := cell.Measure(measured)
			if err != nil {
				t.Fatal(err)
			}
			without := run(t, scenario, false, from, from+measured)
			if after.Total < 0.97*without.Total {
				t.Errorf("%.1f Mbit/s after the release, default has %.1f", after.Total/1e6, without.Total/1e6)
			}
		})
	}
}

// TestDownloadsBesideForeignUploads: bounds cost no total there, so nothing has to be released.
func TestDownloadsBesideForeignUploads(t *testing.T) {
	const rtt = 20 * time.Millisecond
	s := Scenario{Seed: 1, APQueue: 100, Survey: true, Stations: []ScenarioStation{
		downloads(t, 433.3, rtt, 3), downloads(t, 65, rtt, 3),
		{
			PHYs: []medium.RateFrom{{PHY: rate(t, 433.3)}}, Delay: time.Millisecond,
			Flows: make([]ScenarioFlow, 4), NoAgent: true,
		},
	}}
	with, without := both(t, s, 30*time.Second, 60*time.Second)
	if with.Total < 0.97*without.Total {
		t.Errorf("%.1f Mbit/s with agents, default has %.1f", with.Total/1e6, without.Total/1e6)
	}
}

// downloads is a terminal of a PHY rate in Mbit/s with so many downloads.
func downloads(t testing.TB, mbps float64, rtt time.Duration, flows int) ScenarioStation {
	t.Helper()
	return ScenarioStation{
		PHYs: []medium.RateFrom{{PHY: rate(t, mbps)}}, Delay: rtt / 2,
		Flows: slices.Repeat([]ScenarioFlow{{Download: true}}, flows),
	}
}

package simulate

import (
	"math"
	"reflect"
	"slices"
	"testing"
	"time"

	"airtide/internal/cell/medium"
	"airtide/internal/share/message"
)

func rate(t testing.TB, mbps float64) medium.PHY {
	t.Helper()
	width := 80
	streams := 2
	switch mbps {
	case 433.3:
		streams = 1
	case 65, 26:
		width = 20
		streams = 1
	}
	phy, err := medium.AtRate(medium.Std11ac, width, streams, mbps)
	if err != nil {
		t.Fatal(err)
	}
	return phy
}

// stations are stations with fixed rates.
func stations(t testing.TB, mbps ...float64) (all []ScenarioStation) {
	t.Helper()
	for _, m := range mbps {
		all = append(all, ScenarioStation{PHYs: []medium.RateFrom{{PHY: rate(t, m)}}})
	}
	return all
}

// legacy is a station of single frames with flows.
func legacy(t testing.TB, standard medium.Standard, mbps float64, flows int) ScenarioStation {
	t.Helper()
	phy, err := medium.Legacy(standard, mbps)
	if err != nil {
		t.Fatal(err)
	}
	return ScenarioStation{PHYs: []medium.RateFrom{{PHY: phy}}, Flows: make([]ScenarioFlow, flows)}
}

func run(t testing.TB, s Scenario, agents bool, from, to time.Duration) Result {
	t.Helper()
	r, err := s.Run(agents, from, to)
	if err != nil {
		t.Fatal(err)
	}
	t.Logf("agents %v: %.1f Mbit/s, Jain %.3f, airtimes %.3f, RTTs %v %v",
		agents, r.Total/1e6, r.Jain, r.Airtimes, r.RTTs, r.Notices)
	return r
}

// both runs a scenario with and without agents.
func both(t testing.TB, s Scenario, from, to time.Duration) (with, without Result) {
	t.Helper()
	return run(t, s, true, from, to), run(t, s, false, from, to)
}

// Limits are far from what was measured, since any change moves these numbers a little.
func TestScenarios(t *testing.T) {
	t.Run("unlike uploads", func(t *testing.T) {
		s := Scenario{Seed: 1, Delay: time.Millisecond, Stations: stations(t, 866.7, 65, 65)}
		with, without := both(t, s, 5*time.Second, 20*time.Second)
		if with.Jain < 0.95 || without.Jain > 0.9 || with.Total < 1.5*without.Total {
			t.Error("sharing does not help")
		}
		if again := run(t, s, true, 5*time.Second, 20*time.Second); !reflect.DeepEqual(with, again) {
			t.Errorf("the same scenario gives another result: %+v", again)
		}
	})
	// With windows of two packets each the three flows of 6 Mbit/s take twice their share.
	t.Run("flows of a slow radio", func(t *testing.T) {
		s := Scenario{Seed: 1, Delay: 2 * time.Millisecond, Stations: stations(t, 866.7, 433.3, 433.3, 65, 65)}
		s.Stations = append(s.Stations, legacy(t, medium.Std11a, 6, 3))
		if with := run(t, s, true, 5*time.Second, 20*time.Second); with.Jain < 0.95 {
			t.Error("the slow radio has more than its share")
		}
	})
	// The station with A-MPDUs shrinks its windows though queues are shorter than their target.
	t.Run("single frames beside A-MPDUs", func(t *testing.T) {
		s := Scenario{Seed: 1, Delay: time.Millisecond, Stations: stations(t, 65)}
		s.Stations[0].Delay = 40 * time.Millisecond
		s.Stations[0].Flows = make([]ScenarioFlow, 4)
		s.Stations = append(s.Stations, legacy(t, medium.Std11a, 54, 2))
		if with := run(t, s, true, 10*time.Second, 25*time.Second); with.Jain < 0.95 {
			t.Error("the radio with single frames has less than its share")
		}
	})
	// With a window of one packet each, and delayed ACKs, they use a third of the airtime.
	t.Run("flows of single frames", func(t *testing.T) {
		s := Scenario{Seed: 1, Band: medium.Band2GHz, Delay: 5 * time.Millisecond, APQueue: 50}
		s.Stations = append(s.Stations, legacy(t, medium.Std11b, 5.5, 3), legacy(t, medium.Std11b, 11, 3))
		with, without := both(t, s, 5*time.Second, 20*time.Second)
		if with.Jain < 0.95 || with.Total < 0.8*without.Total {
			t.Error("the medium is not used")
		}
	})
	if testing.Short() {
		return
	}
	t.Run("unlike downloads", func(t *testing.T) {
		s := Scenario{Seed: 1, Delay: time.Millisecond, Stations: stations(t, 866.7, 65, 65)}
		for i := range s.Stations {
			s.Stations[i].Flows = []ScenarioFlow{{Download: true}}
		}
		with, without := both(t, s, 5*time.Second, 20*time.Second)
		if with.Jain < 0.95 || with.Total < 1.3*without.Total {
			t.Error("sharing does not help")
		}
	})
	t.Run("rates that nobody knows", func(t *testing.T) {
		s := Scenario{Seed: 1, Delay: time.Millisecond, Stations: stations(t, 866.7, 65, 65)}
		for i := range s.Stations {
			s.Stations[i].Unknown = true
		}
		with, without := both(t, s, 5*time.Second, 20*time.Second)
		if with.Total < 0.95*without.Total {
			t.Error("queues are too short")
		}
		s.APQueue = 10_000
		for i := range s.Stations {
			s.Stations[i].Flows = []ScenarioFlow{{Download: true}}
		}
		with, without = both(t, s, 5*time.Second, 20*time.Second)
		if with.Total < 0.95*without.Total || slices.Max(with.RTTs) > slices.Max(without.RTTs)*4/5 {
			t.Error("a long queue of the access point is not shorter")
		}
	})
	t.Run("one rate that nobody knows", func(t *testing.T) {
		s := Scenario{Seed: 1, Delay: time.Millisecond, Stations: stations(t, 866.7, 433.3, 65, 65)}
		s.Stations[3].Unknown = true
		with, without := both(t, s, 5*time.Second, 20*time.Second)
		if with.Total < 1.2*without.Total || with.Goodputs[3] < 0.95*without.Goodputs[3] {
			t.Error("the others do not share the airtime that it leaves")
		}
	})
	t.Run("a wire that limits", func(t *testing.T) {
		s := Scenario{
			Seed: 1, Delay: 10 * time.Millisecond, WireBps: 100e6, Stations: stations(t, 866.7, 433.3, 433.3),
		}
		with, without := both(t, s, 15*time.Second, 30*time.Second)
		if with.RTTs[0] > without.RTTs[0]*2/3 || with.Total < 0.9*without.Total {
			t.Error("queues at the wire are not held short")
		}
	})
	t.Run("a terminal without an agent", func(t *testing.T) {
		s := Scenario{Seed: 1, Delay: time.Millisecond, Stations: stations(t, 866.7, 433.3, 65, 65)}
		s.Stations[3].NoAgent = true
		with, without := both(t, s, 30*time.Second, 60*time.Second)
		for i := range 3 {
			if with.Goodputs[i] < 0.6*without.Goodputs[i] {
				t.Errorf("station %d starves", i)
			}
		}
	})
	t.Run("a PHY rate that falls", func(t *testing.T) {
		s := Scenario{Seed: 1, Delay: time.Millisecond, Stations: stations(t, 866.7, 866.7, 65)}
		s.Stations[1].PHYs = append(s.Stations[1].PHYs, medium.RateFrom{FromNs: 15e9, PHY: rate(t, 65)})
		if with := run(t, s, true, 30*time.Second, 45*time.Second); with.Jain < 0.9 {
			t.Error("shares do not follow the rate")
		}
	})
	t.Run("lost reports, several flows and a demand", func(t *testing.T) {
		s := Scenario{Seed: 1, Delay: 5 * time.Millisecond, ReportLoss: 0.2, Stations: stations(t, 433.3, 433.3, 65)}
		s.Stations[0].Flows = []ScenarioFlow{{DemandBps: 10e6}}
		s.Stations[1].Flows = []ScenarioFlow{{}, {Download: true}, {}}
		with := run(t, s, true, 10*time.Second, 25*time.Second)
		if math.Abs(with.Goodputs[0]/10e6-1) > 0.1 {
			t.Error("the terminal with a demand does not get it")
		}
		if with.Airtimes[1] < 0.3 || with.Airtimes[2] < 0.3 {
			t.Error("airtime is not shared")
		}
	})
}

// All kinds of probes run in virtual time: RTT probes beside foreign queues, and a release probe
// within the first minutes.
func TestProbesRun(t *testing.T) {
	s := Scenario{Seed: 1, Delay: time.Millisecond, Stations: stations(t, 866.7, 433.3, 65, 65)}
	s.Stations[3].NoAgent = true
	cell, err := s.NewCell(true)
	if err != nil {
		t.Fatal(err)
	}
	missing := []message.ProbeKind{message.RTTProbe, message.ReleaseProbe}
	for cell.Now() < 2*time.Minute && len(missing) > 0 {
		cell.Until(cell.Now() + 50*time.Millisecond)
		for _, terminal := range cell.terminals {
			missing = slices.DeleteFunc(missing, func(k message.ProbeKind) bool {
				return k == terminal.out.View.Probe
			})
		}
	}
	if len(missing) > 0 {
		t.Errorf("no probe %v ran", missing)
	}
}

package simulate

import (
	"fmt"
	"testing"
	"time"

	"airtide/internal/cell/medium"
)

// mixed are stations at 866.7, 433.3 and 65 Mbit/s in turn.
func mixed(n int) (stations []Station, terminals []Terminal) {
	for i := range n {
		s := Station{
			PHY: []float64{866.7e6, 433.3e6, 65e6}[i%3], Aggregate: []int{64, 64, 43}[i%3], Base: 2 * time.Millisecond,
		}
		stations = append(stations, s)
		terminals = append(terminals, Terminal{Standalone: s.Alone()})
	}
	return stations, terminals
}

// queues makes a cell by the model of queues, as a change of its configuration has it.
func queues(t testing.TB, n int, change func(*Config)) *Cell {
	t.Helper()
	stations, terminals := mixed(n)
	c := Config{Seed: 1, Terminals: terminals, Air: NewQueues(0, stations)}
	if change != nil {
		change(&c)
	}
	cell, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	return cell
}

func (c *Cell) judge(t testing.TB) State {
	t.Helper()
	s, err := c.State()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// converge waits until so many of the terminals are near their shares, for some time.
func (c *Cell) converge(t testing.TB, part float64, stay, limit time.Duration) time.Duration {
	t.Helper()
	at, err := c.Converge(part, c.config.StepEvery, stay, c.now+limit)
	if err != nil {
		t.Fatal(err)
	}
	return at
}

// All start at once, and all of them send. The limits are some twice what was measured
// (docs/results/share-scale.md).
func TestSharesConverge(t *testing.T) {
	for _, c := range []struct {
		terminals     int
		limit, decide time.Duration
	}{
		{2, 2 * time.Second, 0},
		{8, 8 * time.Second, 0},
		{32, 15 * time.Second, 0},
		{128, 90 * time.Second, 2 * time.Second},
	} {
		if testing.Short() && c.terminals > 32 {
			continue
		}
		t.Run(fmt.Sprint(c.terminals), func(t *testing.T) {
			cell := queues(t, c.terminals, func(config *Config) { config.StepEvery = c.decide })
			at := cell.converge(t, 1, time.Second, c.limit)
			reports, airtime := cell.Reports()
			// Who does not yet know how many they are says more: by a fifth at most.
			if part := airtime.Seconds() / cell.Now().Seconds(); part > 0.0125 {
				t.Errorf("in the first %s reports took %.2f %% of the airtime", cell.Now(), 100*part)
			}
			settled := cell.Now()
			cell.Until(settled + time.Minute)
			_, later := cell.Reports()
			if part := (later - airtime).Seconds() / time.Minute.Seconds(); part > 0.0105 {
				t.Errorf("reports take %.2f %% of the airtime", 100*part)
			}
			if s := cell.judge(t); s.Within < 0.95 || s.Known < 0.99 {
				t.Errorf("a minute later: %+v", s)
			}
			t.Logf("%d terminals after %s and %d reports", c.terminals, at, reports)
		})
	}
}

func TestTheSameSeedGivesTheSameRun(t *testing.T) {
	run := func(seed uint64) string {
		c := queues(t, 6, func(c *Config) {
			c.Seed = seed
			c.Loss = 0.3
			c.Late = 0.1
			c.Duplicate = 0.1
		})
		c.Until(10 * time.Second)
		reports, airtime := c.Reports()
		return fmt.Sprint(c.judge(t), reports, airtime)
	}
	if a, b := run(1), run(1); a != b {
		t.Errorf("%s\n%s", a, b)
	}
	if a, b := run(1), run(2); a == b {
		t.Errorf("another seed gives the same: %s", a)
	}
}

// With every frame: a cell of unlike radios, which send once all know each other.
func TestAirtimeIsEvenOnTheEmulatedMedium(t *testing.T) {
	var radios [][]medium.RateFrom
	var alone []float64
	for _, r := range []struct {
		width, streams int
		mbps           float64
	}{{80, 2, 866.7}, {80, 1, 433.3}, {20, 1, 65}, {20, 1, 65}} {
		phy, err := medium.AtRate(medium.Std11ac, r.width, r.streams, r.mbps)
		if err != nil {
			t.Fatal(err)
		}
		one, err := NewEmulated(EmulatedConfig{
			Seed: 1, Delay: time.Millisecond, Radios: [][]medium.RateFrom{{{PHY: phy}}},
		})
		if err != nil {
			t.Fatal(err)
		}
		radios = append(radios, []medium.RateFrom{{PHY: phy}})
		alone = append(alone, one.Alone())
	}
	for _, apart := range []bool{true, false} {
		air, err := NewEmulated(EmulatedConfig{Seed: 1, Delay: time.Millisecond, Radios: radios, Marked: true})
		if err != nil {
			t.Fatal(err)
		}
		var terminals []Terminal
		for i := range radios {
			terminals = append(terminals, Terminal{Standalone: alone[i], NoAgent: apart, Sends: 2 * time.Second})
		}
		c, err := New(Config{Seed: 1, Terminals: terminals, Air: air})
		if err != nil {
			t.Fatal(err)
		}
		c.Until(10 * time.Second)
		c.judge(t)
		c.Until(15 * time.Second)
		s := c.judge(t)
		switch {
		case apart && s.Jain > 0.9:
			t.Errorf("without control the anomaly is missing: %+v", s)
		case !apart && (s.Jain < 0.98 || s.Within < 1):
			t.Errorf("with shares: %+v", s)
		case !apart && air.ReportAirtime().Seconds() > 0.01*c.Now().Seconds():
			t.Errorf("reports took %s of %s", air.ReportAirtime(), c.Now())
		}
	}
}

package control

import (
	"math"
	"math/rand/v2"
	"testing"
	"time"
)

// follows holds rates after a change against what they come to: within two seconds they are there,
// and until then and from then on none goes beyond by more than a tenth. Rates are means of half a
// second, and of several cells, since the order of accesses to the medium is random.
func (c *testCell) follows(t *testing.T, what string, before []float64, rates [][]float64) {
	t.Helper()
	final := mean(rates, len(rates)/2)
	const window = 5
	for i, s := range c.stations {
		if s.away {
			continue
		}
		last := 0.0
		overshoot := 0.0
		for k := window; k <= len(rates); k++ {
			x := mean(rates[:k], window)[i] / final[i]
			if math.Abs(x-1) > 0.15 {
				last = float64(k) / 10
			}
			if final[i] > before[i] {
				overshoot = max(overshoot, x-1)
			}
		}
		if last > 2 || overshoot > 0.1 {
			t.Errorf("%s: station %d reaches %.4g Mbit/s in %.1f s, overshoot %.0f %%",
				what, i+1, final[i]/1e6, last, 100*overshoot)
		}
	}
	if j := c.jainOfPresent(final); j < 0.97 {
		t.Errorf("%s: index %.3f (%.4g)", what, j, final)
	}
}

// runAll lets cells that differ by chance alone go on for a time, and tells what each station
// delivered in the mean of them in each tenth of a second.
func runAll(cells []*testCell, length time.Duration) (rates [][]float64) {
	for _, c := range cells {
		for k, row := range c.run(length) {
			if k == len(rates) {
				rates = append(rates, make([]float64, len(row)))
			}
			for i, x := range row {
				rates[k][i] += x / float64(len(cells))
			}
		}
	}
	return rates
}

func (c *testCell) jainOfPresent(x []float64) float64 {
	present := &testCell{}
	var rates []float64
	for i, s := range c.stations {
		if !s.away {
			present.stations = append(present.stations, s)
			rates = append(rates, x[i])
		}
	}
	return present.jain(rates)
}

func TestSharesFollowChangesWithoutOvershoot(t *testing.T) {
	var cells []*testCell
	for seed := range uint64(8) {
		c := newTestCell(1e9, fast(), fast(), slow(), slow())
		c.random = rand.New(rand.NewPCG(1, seed))
		c.stations[2].away = true
		c.stations[3].away = true
		cells = append(cells, c)
	}
	runAll(cells, 5*time.Second)
	for _, change := range []struct {
		what    string
		station int
		make    func(s *testStation)
	}{
		{"a slow one joins", 2, func(s *testStation) { s.away = false }},
		{"another joins", 3, func(s *testStation) { s.away = false }},
		{"a fast one leaves", 1, func(s *testStation) { s.away = true }},
		{"it comes back", 1, func(s *testStation) { s.away = false }},
		{"a fast one becomes slow", 0, func(s *testStation) {
			s.phy = 65e6
			s.aggregate = 43
		}},
		{"it becomes fast again", 0, func(s *testStation) {
			s.phy = 866e6
			s.aggregate = 64
		}},
		{"one path becomes longer", 0, func(s *testStation) { s.base = 30 * time.Millisecond }},
		{"it becomes shorter again", 0, func(s *testStation) { s.base = 2 * time.Millisecond }},
	} {
		before := mean(runAll(cells, 500*time.Millisecond), 5)
		for _, c := range cells {
			change.make(c.stations[change.station])
		}
		cells[0].follows(t, change.what, before, runAll(cells, 6*time.Second))
	}
}

// All paths become longer at once, as when the access point changes its way to the Internet: it
// looks as if a wire limited, until all hold back and see that round-trip times stay.
func TestALongerPathIsTakenForAWireOnlyUntilAllHoldBack(t *testing.T) {
	c := newTestCell(1e9, fast(), fast(), slow(), slow())
	before := sum(mean(c.run(10*time.Second), 50))
	for _, s := range c.stations {
		s.known = s.base
		s.base = 50 * time.Millisecond
	}
	var doubts [4]bool
	for range 10 {
		c.run(100 * time.Millisecond)
		for i, s := range c.stations {
			doubts[i] = doubts[i] || s.decision.PathSuspected
		}
	}
	if doubts != [4]bool{true, true, true, true} {
		t.Errorf("who doubts that its path is as it was: %v", doubts)
	}
	for _, s := range c.stations {
		s.known = 0 // they have found out
	}
	rates := c.run(6 * time.Second)
	if after := sum(mean(rates[:30], 10)); after < 0.9*before {
		t.Errorf("two seconds later %.0f Mbit/s of %.0f", after/1e6, before/1e6)
	}
	if d := c.stations[0].decision; !math.IsInf(d.Capacity, 1) || d.PathSuspected {
		t.Errorf("at last %+v", d)
	}
}

// A terminal that found a longer path in an RTT probe does not wait for the results of the others,
// which come with their next reports.
func TestALongerPathIsKnownBeforeOthersSaySo(t *testing.T) {
	c := NewShareController(Options{})
	all := greedy(20e6, 20e6)
	for i := range all {
		all[i].MinRTT = 2 * time.Millisecond
		all[i].RTT = 80 * time.Millisecond
	}
	now := time.Duration(0)
	step := func() Decision {
		now += 100 * time.Millisecond
		d, err := c.Step(now, 0, all)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	for range 50 {
		step()
	}
	if d := step(); math.IsInf(d.Capacity, 1) || !d.PathSuspected {
		t.Fatalf("no wire and no doubt: %+v", d)
	}
	all[0].MinRTT = 78 * time.Millisecond
	c.LongerPath()
	for range 3 {
		if d := step(); !math.IsInf(d.Capacity, 1) {
			t.Errorf("the wire is still taken to carry %.3g Mbit/s", d.Capacity/1e6)
		}
	}
}

// Corrections that are too great at all terminals alike leave no terminal behind another, but
// queues longer than they have to be.
func TestACommonFactorOfCorrectionsIsUndone(t *testing.T) {
	c := newTestCell(1e9, fast(), fast(), slow(), slow())
	c.run(10 * time.Second)
	var before []float64
	for _, s := range c.stations {
		before = append(before, s.control.correction)
		s.control.correction *= 3
	}
	c.run(10 * time.Second)
	for i, s := range c.stations {
		if now := s.control.correction; now > 1.5*before[i] && now > 1.5 {
			t.Errorf("the correction of station %d was %.2f and is %.2f after it was tripled", i+1, before[i], now)
		}
	}
}

package control

import (
	"math"
	"testing"
	"time"

	"airtide/internal/share/allocate"
)

// phones and tablets of a cell whose slow stations hold the medium.
func fast() testStation {
	return testStation{phy: 866e6, aggregate: 64, base: 2 * time.Millisecond}
}
func slow() testStation { return testStation{phy: 65e6, aggregate: 43, base: 2 * time.Millisecond} }

func sum(x []float64) (s float64) {
	for _, v := range x {
		s += v
	}
	return s
}

// jain returns Jain's index of rate / standalone rate.
func (c *testCell) jain(x []float64) float64 {
	var s, squares float64
	for i, v := range x {
		part := v / c.stations[i].alone()
		s += part
		squares += part * part
	}
	return s * s / (float64(len(x)) * squares)
}

func (c *testCell) equalAirtime() (total float64) {
	for _, s := range c.stations {
		total += s.alone() / float64(len(c.stations))
	}
	return total
}

func TestEqualAirtimeInACellOfUnlikeStations(t *testing.T) {
	c := newTestCell(1e9, fast(), fast(), slow(), slow())
	c.until(5 * time.Second)
	before := c.reports(5 * time.Second)
	var alike float64
	for _, r := range before {
		alike += r.Rate
	}
	rates := c.run(20 * time.Second)
	late := mean(rates, 100)
	if total := sum(late); total < 2*alike || total < 0.85*c.equalAirtime() {
		t.Errorf("%.0f Mbit/s in all, %.0f without control, %.0f with equal airtime",
			total/1e6, alike/1e6, c.equalAirtime()/1e6)
	}
	if j := c.jain(late); j < 0.98 {
		t.Errorf("Jain's index of airtime is %.3f (%v)", j, late)
	}
	if d := c.stations[0].decision; !math.IsInf(d.Capacity, 1) {
		t.Errorf("the wire of 1 Gbit/s is taken to carry %.0f Mbit/s", d.Capacity/1e6)
	}
	// Within two seconds, and steady from then on.
	for i, row := range rates[20:] {
		if j := c.jain(row); j < 0.9 {
			t.Errorf("after %d ms Jain's index of airtime is %.3f (%v)", 2000+100*i, j, row)
			break
		}
	}
}

// TestOthersAreNoWire: terminals without agents have most of the airtime, and queues stand.
func TestOthersAreNoWire(t *testing.T) {
	capacity := func(others bool) float64 {
		c := NewShareController(Options{})
		c.SetForeign(others)
		all := greedy(20e6, 20e6)
		for i := range all {
			all[i].MinRTT = 2 * time.Millisecond
			all[i].RTT = 80 * time.Millisecond
		}
		var d Decision
		for now := time.Duration(0); now < 5*time.Second; now += 100 * time.Millisecond {
			var err error
			d, err = c.Step(now, 0, all)
			if err != nil {
				t.Fatal(err)
			}
		}
		return d.Capacity
	}
	if with, without := capacity(true), capacity(false); !math.IsInf(with, 1) || math.IsInf(without, 1) {
		t.Errorf("the wire is taken to carry %.3g beside others, and %.3g without", with, without)
	}
}

func TestTheWireIsFoundAndShared(t *testing.T) {
	c := newTestCell(100e6, fast(), fast(), slow(), slow())
	late := mean(c.run(25*time.Second), 200)
	if total := sum(late); total < 97e6 {
		t.Errorf("%.1f Mbit/s in all of 100", total/1e6)
	}
	d := c.stations[0].decision
	if d.Capacity < 97e6 || d.Capacity > 110e6 || d.Binds != allocate.Both && d.Binds != allocate.Wire {
		t.Errorf("the wire of 100 Mbit/s is taken to carry %.1f, limited by %s", d.Capacity/1e6, d.Binds)
	}
	want, err := allocate.Solve(1, allocate.Limits{Wire: 100e6, Airtime: efficiency(4)}, []allocate.Terminal{
		{Max: c.stations[0].alone(), Demand: allocate.Unlimited},
		{Max: c.stations[1].alone(), Demand: allocate.Unlimited},
		{Max: c.stations[2].alone(), Demand: allocate.Unlimited},
		{Max: c.stations[3].alone(), Demand: allocate.Unlimited},
	})
	if err != nil {
		t.Fatal(err)
	}
	for i, x := range late {
		if math.Abs(x/want.Shares[i]-1) > 0.15 {
			t.Errorf("rates are %.4g, shares %.4g", late, want.Shares)
			break
		}
	}
}

func TestAWireThatBecomesFasterOrSlower(t *testing.T) {
	c := newTestCell(100e6, fast(), fast())
	c.run(5 * time.Second)
	for _, wire := range []float64{200e6, 50e6, 150e6} {
		c.wire = wire
		if total := sum(mean(c.run(3*time.Second), 10)); total < 0.95*wire {
			t.Errorf("%.1f Mbit/s of %.0f two seconds after the wire changed", total/1e6, wire/1e6)
		}
	}
}

func TestJoinLeaveAndAnotherPHYRate(t *testing.T) {
	c := newTestCell(1e9, fast(), fast(), slow(), slow())
	for _, s := range c.stations[2:] {
		s.away = true
	}
	two := mean(c.run(6*time.Second), 20)
	if total := sum(two); total < 0.85*c.stations[0].alone() {
		t.Errorf("two fast ones alone: %.4g", two)
	}
	for _, s := range c.stations[2:] {
		s.away = false
	}
	late := mean(c.run(4*time.Second), 20)
	if j := c.jain(late); j < 0.95 {
		t.Errorf("two seconds after two have joined: %.4g, index %.3f", late, j)
	}
	c.stations[0].phy = 65e6
	c.stations[0].aggregate = 43
	late = mean(c.run(4*time.Second), 20)
	if j := c.jain(late); j < 0.95 {
		t.Errorf("two seconds after one has become slow: %.4g, index %.3f", late, j)
	}
	c.stations[2].away = true
	c.stations[3].away = true
	late = mean(c.run(4*time.Second), 20)[:2]
	if x := late[1] / c.stations[1].alone(); x < 0.4 {
		t.Errorf("two seconds after two have left: %.4g", late)
	}
}

// A window of a slow one is small on a path of 40 ms too, but most of it is under way there: it
// must not begin at the size for a queue, nor stay behind because queues are short.
func TestASmallWindowFillsALongPath(t *testing.T) {
	c := NewShareController(Options{Index: 1}) // rates below are parts of equal airtime
	all := []Terminal{{Max: 599e6}, {Max: 338e6}, {Max: 52e6}, {Max: 52e6}}
	for i := range all {
		all[i].Demand = allocate.Unlimited
		all[i].MinRTT = 40 * time.Millisecond
		all[i].RTT = 43 * time.Millisecond
	}
	first := 0.0
	var d Decision
	for now := time.Duration(0); now < 15*time.Second; now += 100 * time.Millisecond {
		var err error
		d, err = c.Step(now, 3, all)
		if err != nil {
			t.Fatal(err)
		}
		if first == 0 {
			first = d.Correction
		}
		for i, part := range []float64{0.7, 0.7, 0.7, 0.6} {
			all[i].Rate = part * d.Share * all[i].Max / all[3].Max
		}
	}
	if first < 0.6 || first > 0.9 {
		t.Errorf("the correction begins at %.2f", first)
	}
	if d.Correction < 0.95 {
		t.Errorf("it is %.2f after fifteen seconds behind the others", d.Correction)
	}
}

func TestWhatOneDoesNotWantGoesToTheOthers(t *testing.T) {
	lazy := fast()
	lazy.demand = 10e6
	c := newTestCell(1e9, fast(), lazy, slow())
	late := mean(c.run(10*time.Second), 50)
	if late[1] < 9.5e6 || late[0] < 0.38*c.stations[0].alone() || late[2] < 0.34*c.stations[2].alone() {
		t.Errorf("rates %.4g, alone %.4g %.4g", late, c.stations[0].alone(), c.stations[2].alone())
	}
}

func TestManyAlikeStations(t *testing.T) {
	for _, n := range []int{2, 8, 32} {
		var all []testStation
		for range n {
			all = append(all, testStation{phy: 433e6, aggregate: 64, base: 2 * time.Millisecond})
		}
		c := newTestCell(1e9, all...)
		c.until(3 * time.Second)
		free := 0.0
		for _, r := range c.reports(3 * time.Second) {
			free += r.Rate
		}
		late := mean(c.run(10*time.Second), 50)
		if total, j := sum(late), c.jain(late); total < 0.95*free || j < 0.98 {
			t.Errorf("%d stations: %.0f Mbit/s of %.0f without control, index %.3f", n, total/1e6, free/1e6, j)
		}
	}
}

// TestSingleFramesNeedNoQueuesForAggregates: none of the terminals has any; one that has changes it
// for all.
func TestSingleFramesNeedNoQueuesForAggregates(t *testing.T) {
	decide := func(single ...bool) Decision {
		var all []Terminal
		for i, s := range single {
			all = append(all, Terminal{Source: source(i), Max: 25e6, Rate: 25e6, Demand: allocate.Unlimited, Single: s})
		}
		d, err := NewShareController(Options{}).Step(0, 0, all)
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	all := decide(true, true, true, true, true, true, true, true, true, true)
	const want = 13900800 * time.Nanosecond
	if math.Abs(all.Share/2.5e6-1) > 1e-6 || (all.QueueTarget-want).Abs() > time.Microsecond {
		t.Errorf("a share of %.3g and a queue target of %s, want 2.5 Mbit/s and %s", all.Share, all.QueueTarget, want)
	}
	but := decide(true, true, true, true, true, true, true, true, true, false)
	if but.Share >= 2e6 || but.QueueTarget != DefaultMaxQueue {
		t.Errorf("a share of %.3g and a queue target of %s beside one with aggregates", but.Share, but.QueueTarget)
	}
}

// greedyAt returns terminals with unlimited demand, by standalone and delivered rates, on a path.
func greedyAt(maxima, rates []float64, base, rtt time.Duration) []Terminal {
	all := greedy(rates...)
	for i := range all {
		all[i].Max = maxima[i]
		all[i].MinRTT = base
		all[i].RTT = rtt
	}
	return all
}

// A terminal that is behind its share gets a longer window, until its own packets wait for three
// queue targets: a longer queue than that gives it no more of the medium.
func TestTheCorrectionDoesNotWindUp(t *testing.T) {
	const base = 2 * time.Millisecond
	decide := func(delay time.Duration) (d Decision) {
		k := NewShareController(Options{})
		for now := time.Duration(0); now < 20*time.Second; now += 100 * time.Millisecond {
			all := greedyAt([]float64{50e6, 50e6}, []float64{12e6, 24e6}, base, base+80*time.Millisecond)
			all[0].RTT = base + delay
			var err error
			d, err = k.Step(now, 0, all)
			if err != nil {
				t.Fatal(err)
			}
		}
		return d
	}
	short := decide(80 * time.Millisecond)
	if short.Correction < 2 {
		t.Errorf("behind its share, with a short queue: %.2f", short.Correction)
	}
	if d := decide(longDelay*short.QueueTarget + time.Millisecond); d.Correction > 1 {
		t.Errorf("behind its share, with a queue of three targets: %.2f", d.Correction)
	}
}

// TestAPeakOfReportsIsForgotten: while shares change, older reported rates and newer own ones add
// up to a total that the wire never carried.
func TestAPeakOfReportsIsForgotten(t *testing.T) {
	const carries = 94e6
	var r wireRun
	const queued, short = 70 * time.Millisecond, 5 * time.Millisecond
	r.run(carries, queued, 3*time.Second)
	if math.Abs(r.capacity/carries-1) > 0.01 {
		t.Fatalf("the wire is taken to carry %.1f Mbit/s, want %.1f", r.capacity/1e6, carries/1e6)
	}
	r.run(1.2*carries, queued, time.Second)
	peak := r.capacity
	r.run(carries, short, 2*time.Second)
	if peak < 1.12*carries || r.capacity != peak {
		t.Errorf("%.1f Mbit/s after a peak, and %.1f without queues, which must not matter", peak/1e6, r.capacity/1e6)
	}
	r.run(carries, queued, 3*time.Second)
	if r.capacity < carries || r.capacity > 1.07*carries {
		t.Errorf("a wire of %.1f Mbit/s 3 s after a peak, want %.1f to 7 %% more", r.capacity/1e6, carries/1e6)
	}
}

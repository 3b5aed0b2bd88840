package control

import (
	"math"
	"testing"
	"time"

	"airtide/internal/share/message"
	"airtide/internal/share/probe"
)

const ms = time.Millisecond

// trial holds bounds, lifts them and holds them again; with and without are totals and RTTs.
func trial(t *comparison, begin, free time.Duration, with, without CellMean) (e Benefit, found bool) {
	at := func(f CellMean) []Terminal {
		return []Terminal{
			{Source: source(1), Rate: f.Total / 4, RTT: f.RTT}, {Source: source(2), Rate: 3 * f.Total / 4, RTT: f.RTT},
		}
	}
	now := begin
	for ; now < begin+20*time.Second; now += 100 * ms {
		t.Step(now, probe.Active{}, now-begin, at(with))
	}
	phase := probe.Active{Kind: message.ReleaseProbe, Own: false, Begin: now, End: now + free}
	for ; now < phase.End; now += 100 * ms {
		f := with // windows have not grown yet
		if now > phase.Begin+comparisonDelay/2 {
			f = without
		}
		if _, found := t.Step(now, phase, 0, at(f)); found {
			return e, false
		}
	}
	return t.Step(now, probe.Active{}, 0, at(with))
}

func TestBoundsAreComparedWithNone(t *testing.T) {
	for _, c := range []struct {
		what          string
		with, without CellMean
		helps         bool
	}{
		{"more and shorter", CellMean{240e6, 20 * ms}, CellMean{100e6, 300 * ms}, true},
		{"as much, shorter", CellMean{95e6, 20 * ms}, CellMean{100e6, 300 * ms}, true},
		{"as much", CellMean{98e6, 20 * ms}, CellMean{100e6, 21 * ms}, true},
		{"much less, shorter", CellMean{85e6, 20 * ms}, CellMean{100e6, 300 * ms}, false},
		{"less, no shorter", CellMean{90e6, 20 * ms}, CellMean{100e6, 21 * ms}, false},
	} {
		var tr comparison
		e, found := trial(&tr, time.Hour, 2*time.Second, c.with, c.without)
		if !found || e.Helps() != c.helps {
			t.Errorf("%s: found %v, %+v", c.what, found, e)
		}
		near := func(got, want float64) bool { return got > 0.999*want && got < 1.001*want }
		if !near(e.With.Total, c.with.Total) || !near(e.Without.Total, c.without.Total) ||
			!near(float64(e.Without.RTT), float64(c.without.RTT)) {
			t.Errorf("%s: %+v", c.what, e)
		}
	}
}

func TestALongReleaseIsNoTrial(t *testing.T) {
	var tr comparison
	if e, found := trial(&tr, time.Hour, time.Minute, CellMean{90e6, 20 * ms}, CellMean{100e6, 20 * ms}); found {
		t.Errorf("compared: %+v", e)
	}
	if _, found := trial(&tr, 2*time.Hour, 2*time.Second, CellMean{90e6, 20 * ms}, CellMean{100e6, 20 * ms}); !found {
		t.Error("the next trial was not compared")
	}
}

// TestATransferThatBeginsInAReleaseProbeIsNoEffectOfIt: nothing, or little, was sent before.
func TestATransferThatBeginsInAReleaseProbeIsNoEffectOfIt(t *testing.T) {
	idle := Terminal{Source: source(1), Max: 100e6, Rate: 1e6, RTT: 3 * ms, Demand: 2e6}
	begun := Terminal{Source: source(1), Max: 100e6, Rate: 90e6, RTT: 30 * ms, Demand: math.Inf(1)}
	old := Terminal{Source: source(2), Max: 100e6, Rate: 30e6, RTT: 20 * ms, Demand: math.Inf(1)}
	for _, c := range []struct {
		what   string
		begins time.Duration // before the end of the bounds
		old    []Terminal    // other terminals, which send all the time
		found  bool
		total  float64
	}{
		{"in the probe", 0, nil, false, 0},
		{"just before", 3 * time.Second, nil, false, 0},
		{"in the probe, beside another", 0, []Terminal{old}, true, 30e6},
		{"long before", 10 * time.Second, []Terminal{old}, true, 120e6},
	} {
		var tr comparison
		now := time.Hour
		begin := now
		end := now + 20*time.Second
		for ; now < end; now += 100 * ms {
			one := idle
			if end-now <= c.begins {
				one = begun
			}
			tr.Step(now, probe.Active{}, now-begin, append([]Terminal{one}, c.old...))
		}
		phase := probe.Active{Kind: message.ReleaseProbe, Begin: now, End: now + 2*time.Second}
		for ; now < phase.End; now += 100 * ms {
			tr.Step(now, phase, 0, append([]Terminal{begun}, c.old...))
		}
		e, found := tr.Step(now, probe.Active{}, 0, append([]Terminal{begun}, c.old...))
		if found != c.found || math.Abs(e.With.Total-c.total) > 1 || math.Abs(e.Without.Total-c.total) > 1 {
			t.Errorf("%s: found %v, %+v", c.what, found, e)
		}
	}
}

// TestWhoHasLessThanWithoutBounds: the total and the mean round-trip time say nothing of each
// terminal.
func TestWhoHasLessThanWithoutBounds(t *testing.T) {
	for _, c := range []struct {
		what               string
		fast, slow         float64 // rates with bounds over rates without
		demand             float64 // the slow one's
		joins              time.Duration
		least              float64
		letsGo, letsGoAlso bool // after the first trial and after the second one, beside others
	}{
		{"both have as much", 1.02, 0.97, math.Inf(1), 0, 0.97, false, false},
		{"the slow one has less", 1.02, 0.88, math.Inf(1), 0, 0.88, false, true},
		{"the fast one has less", 0.9, 1.1, math.Inf(1), 0, 0.9, false, true},
		{"the slow one does not want more", 1.02, 0.88, 20e6, 0, 1.02, false, false},
		{"the slow one has just come", 1.02, 0.88, math.Inf(1), 17 * time.Second, 1.02, false, false},
	} {
		for _, beside := range []bool{true, false} {
			var tr comparison
			var j verdict
			now := time.Hour
			for _, letsGo := range []bool{c.letsGo, c.letsGoAlso} {
				at := func(rtt time.Duration, fast, slow float64, held time.Duration) []Terminal {
					all := []Terminal{{Rate: 270e6 * fast, RTT: rtt, Demand: math.Inf(1)}}
					if held >= c.joins {
						all = append(all, Terminal{Source: source(1), Rate: 20e6 * slow, RTT: rtt, Demand: c.demand})
					}
					return all
				}
				begin := now
				for ; now < begin+20*time.Second; now += 100 * ms {
					tr.Step(now, probe.Active{}, now-begin, at(250*ms, c.fast, c.slow, now-begin))
				}
				phase := probe.Active{Kind: message.ReleaseProbe, Own: false, Begin: now, End: now + 3*time.Second}
				for ; now < phase.End; now += 100 * ms {
					tr.Step(now, phase, 0, at(300*ms, 1, 1, now-begin))
				}
				e, found := tr.Step(now, probe.Active{}, 0, at(250*ms, c.fast, c.slow, now-begin))
				if !found || math.Abs(e.Least-c.least) > 1e-6 {
					t.Fatalf("%s: found %v, %+v", c.what, found, e)
				}
				if why := j.Judge(e, beside); why != "" != (letsGo && beside) {
					t.Errorf("%s, beside others %v: %q", c.what, beside, why)
				}
			}
			if j.Unconfirmed() != (c.letsGoAlso && beside) {
				t.Errorf("%s, beside others %v: doubts %v", c.what, beside, j.Unconfirmed())
			}
		}
	}
	j := verdict{}
	one := CellMean{Total: 1}
	less := Benefit{Least: 0.9, Without: one, With: one}
	enough := Benefit{Least: 1, Without: one, With: one}
	for i, e := range []Benefit{less, enough, less, enough} {
		if why := j.Judge(e, true); why != "" {
			t.Errorf("trial %d: %s, and never twice in a row", i+1, why)
		}
	}
}

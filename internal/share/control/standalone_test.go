package control

import (
	"math"
	"testing"
	"time"

	"airtide/internal/share/message"
	"airtide/internal/share/probe"
)

// solo lets a terminal have a turn of its own in which it delivers a rate with a delay.
func solo(m *standaloneEstimator, now time.Duration, rate float64, delay time.Duration) (found bool) {
	const step = 50 * ms
	phase := probe.Active{Kind: message.RateProbe, Own: true, Begin: now, End: now + 400*ms}
	for t := now + step; t <= phase.End; t += step {
		r := rate
		if t <= now+100*ms {
			r /= 10 // the others' packets in flight take the rest
		}
		m.Step(t, step, phase, standaloneSample{Rate: r, Smooth: r, Greedy: true, Delay: delay, RTT: 2 * ms})
	}
	return m.Step(phase.End+step, step, probe.Active{}, standaloneSample{
		Rate: rate / 4, Smooth: rate / 4, Greedy: true, Delay: delay, RTT: 2 * ms,
	})
}

func (m *standaloneEstimator) near(want float64) bool { return math.Abs(m.Value()-want) < 1 }

func (m *standaloneEstimator) is100(t *testing.T, what string) {
	t.Helper()
	if v := m.Value(); !m.near(100e6) {
		t.Errorf("%s: %.3g", what, v)
	}
}

func TestTheMaximumIsWhatATurnShows(t *testing.T) {
	var m standaloneEstimator
	m.Step(0, 100*ms, probe.Active{}, standaloneSample{Rate: 30e6, Smooth: 30e6, Greedy: true, Delay: 10 * ms})
	if m.Value() != 30e6 || !m.Due(0, 4, Decision{Correction: 1}) {
		t.Errorf("at first the highest rate stands for it: %.3g", m.Value())
	}
	if !solo(&m, time.Second, 100e6, 8*ms) {
		t.Error("nothing was found")
	}
	m.is100(t, "after a turn")
	if m.Due(5*time.Second, 4, Decision{Correction: 1}) || !m.Due(11*time.Second, 4, Decision{Correction: 1}) {
		t.Error("the first turn is to be confirmed soon")
	}
	solo(&m, 11*time.Second, 100e6, 8*ms)
	usual := Decision{Correction: 1}
	if m.Due(60*time.Second, 4, usual) || !m.Due(73*time.Second, 4, usual) || m.Due(73*time.Second, 10, usual) {
		t.Error("it is to be measured anew after a minute, or 15 s for each terminal")
	}
	high := Decision{Correction: 2.5}
	low := Decision{Correction: 0.4}
	if !m.Due(30*time.Second, 4, high) || !m.Due(30*time.Second, 4, low) || m.Due(14*time.Second, 4, high) {
		t.Error("windows that have to be corrected by much say that it has changed")
	}
	// Somebody did not hear of the turn: once is not believed.
	if solo(&m, 70*time.Second, 50e6, 8*ms) {
		t.Error("half of it was believed at once")
	}
	m.is100(t, "after a turn that another disturbed")
	if !m.Due(74*time.Second, 4, Decision{Correction: 1}) {
		t.Error("it is to be looked at again soon")
	}
	if !solo(&m, 75*time.Second, 50e6, 8*ms) || !m.near(50e6) {
		t.Errorf("a radio that has become slower: %.3g", m.Value())
	}
	if !solo(&m, 140*time.Second, 100e6, 8*ms) {
		t.Error("nothing was found")
	}
	m.is100(t, "a radio that has become faster")
}

func TestAWindowThatIsTooSmallForTheTurn(t *testing.T) {
	var m standaloneEstimator
	solo(&m, time.Second, 40e6, ms)
	if !m.near(40e6) || m.Window() != 2*RateProbeFactor || !m.Due(8*time.Second, 4, Decision{Correction: 1}) {
		t.Errorf("%.3g, windows %g times as large next", m.Value(), m.Window())
	}
	solo(&m, 8*time.Second, 100e6, 8*ms)
	m.is100(t, "with a larger window")
	if m.Due(30*time.Second, 4, Decision{Correction: 1}) {
		t.Error("it is known now")
	}
}

// TestATurnIsLongEnoughToCount for all round-trip times and all positions of the steps in it.
func TestATurnIsLongEnoughToCount(t *testing.T) {
	for _, base := range []time.Duration{ms, 20 * ms, 100 * ms, 300 * ms} {
		for mean := base; mean < time.Second; mean += 7 * ms {
			length := RateProbeLength(base, mean)
			if length%message.ProbeLengthStep != 0 || length > message.LongestProbe {
				t.Fatalf("%s and %s: %s is not what a report can say", base, mean, length)
			}
			for at := time.Duration(0); at < stepGap; at += 10 * ms {
				var m standaloneEstimator
				phase := probe.Active{Kind: message.RateProbe, Own: true, Begin: time.Second, End: time.Second + length}
				own := standaloneSample{Rate: 50e6, Smooth: 50e6, Greedy: true, Delay: 50 * ms, RTT: base, Mean: mean}
				before := phase.Begin
				for now := phase.Begin + at; before < phase.End; now += stepGap { // a step is made where a turn ends
					now = min(now, phase.End)
					m.Step(now, now-before, phase, own)
					before = now
				}
				if !m.Step(phase.End+stepGap, stepGap, probe.Active{}, own) || !m.near(50e6) {
					t.Fatalf("%s and %s: a turn of %s with steps at %s shows %g", base, mean, length, at, m.Value())
				}
			}
		}
	}
}

func TestSplit(t *testing.T) {
	inf := math.Inf(1)
	for _, c := range []struct{ demands, want []float64 }{
		{[]float64{inf, inf}, []float64{50, 50}},
		{[]float64{inf, 20, inf}, []float64{40, 20, 40}},
		{[]float64{10, 30}, []float64{40, 60}},
		{[]float64{0, inf}, []float64{0, 100}},
		{[]float64{0, 0}, []float64{50, 50}},
		{nil, []float64{}},
	} {
		got := Split(100, c.demands)
		for i, x := range got {
			if math.Abs(x-c.want[i]) > 1e-9 {
				t.Errorf("100 among %v: %v", c.demands, got)
				break
			}
		}
		if len(got) != len(c.want) {
			t.Errorf("100 among %v: %v", c.demands, got)
		}
	}
}

// A terminal whose uploads get three times as much of a window as its downloads.
func TestDirectionsComeIntoBalance(t *testing.T) {
	var b directionBalance
	up := 1.0
	down := 1.0
	for range 50 {
		up, down = b.Step(100*ms, Direction{50e6, 3 * up * 20e6, true}, Direction{50e6, down * 20e6, true})
	}
	if r := 3 * up / down; math.Abs(r-1) > 0.02 {
		t.Errorf("uploads carry %.2f times as much as downloads", r)
	}
	for range 100 {
		up, down = b.Step(100*ms, Direction{50e6, 60e6, true}, Direction{50e6, 1e6, false})
	}
	if math.Abs(up-1) > 0.01 || math.Abs(down-1) > 0.01 {
		t.Errorf("with one direction alone windows are multiplied by %.2f and %.2f", up, down)
	}
}

// TestAFallOfTheOwnRateIsNoticed: when it lasts, queues stand, and the terminal had its share
// before.
func TestAFallOfTheOwnRateIsNoticed(t *testing.T) {
	type part struct {
		length time.Duration
		part   float64
		queued bool
	}
	for _, c := range []struct {
		what  string
		parts []part
		falls int
	}{
		{"it has its share", []part{{time.Minute, 0.95, true}}, 0},
		{"it falls for good", []part{{5 * time.Second, 0.95, true}, {time.Minute, 0.2, true}}, 1},
		{"it falls twice", []part{
			{5 * time.Second, 0.95, true},
			{5 * time.Second, 0.2, true},
			{5 * time.Second, 1, true},
			{5 * time.Second, 0.3, true},
		}, 2},
		{"it falls for a moment", []part{
			{5 * time.Second, 0.95, true}, {900 * ms, 0.2, true}, {5 * time.Second, 0.95, true},
		}, 0},
		{"it has less to carry", []part{{5 * time.Second, 0.95, true}, {time.Minute, 0.2, false}}, 0},
		{"it never had its share", []part{{time.Minute, 0.3, true}}, 0},
		{"it has less, as when others begin", []part{{5 * time.Second, 0.95, true}, {time.Minute, 0.6, true}}, 0},
	} {
		var f rateDrop
		falls := 0
		for _, p := range c.parts {
			for left := p.length; left > 0; left -= 100 * ms {
				if f.Step(100*ms, p.part, p.queued) {
					falls++
				}
			}
		}
		if falls != c.falls {
			t.Errorf("%s: %d falls, want %d", c.what, falls, c.falls)
		}
	}
}

// TestAfterAFallItIsMeasuredSoon, though doubts have turned out to be wrong before.
func TestAfterAFallItIsMeasuredSoon(t *testing.T) {
	m := standaloneEstimator{}
	now := time.Hour
	m.store(now, 100e6)
	at := now
	now += 2 * time.Second
	m.Recheck(now)
	if m.Due(now, 4, Decision{Correction: 1}) {
		t.Error("a doubt counts at once")
	}
	m.RecheckNow(now)
	if !m.Due(now, 4, Decision{Correction: 1}) {
		t.Error("a fall does not count at once")
	}
	m.spans = []span{{1, 10e6}}
	m.queued = true
	if !m.conclude(at+recheckAfter) || m.Value() != 10e6 {
		t.Errorf("what was found after it is not believed: %g", m.Value())
	}
	if !m.Due(at+2*recheckAfter, 4, Decision{Correction: 1}) {
		t.Error("somebody may not have heard of that turn: it is not looked at again")
	}
	var unknown standaloneEstimator
	unknown.RecheckNow(now)
	if unknown.dueAt != 0 {
		t.Error("what was never measured has not fallen")
	}
}

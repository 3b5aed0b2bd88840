package control

import (
	"testing"
	"time"

	"airtide/share/message"
)

// trial holds bounds, lifts them and holds them again; with and without are totals and RTTs.
func trial(t *Trial, begin, free time.Duration, with, without Figures) (e Effect, found bool) {
	at := func(f Figures) []Terminal {
		return []Terminal{{Rate: f.Total / 4, RTT: f.RTT}, {Rate: 3 * f.Total / 4, RTT: f.RTT}}
	}
	now, free := begin, free
	for ; now < begin+20*time.Second; now += 100 * ms {
		t.Step(now, Phase{}, now-begin, at(with))
	}
	phase := Phase{message.Free, false, now, now + free}
	for ; now < phase.End; now += 100 * ms {
		f := with // windows have not grown yet
		if now > phase.Begin+settled/2 {
			f = without
		}
		if _, found := t.Step(now, phase, 0, at(f)); found {
			return e, false
		}
	}
	return t.Step(now, Phase{}, 0, at(with))
}

func TestBoundsAreComparedWithNone(t *testing.T) {
	for _, c := range []struct {
		what          string
		with, without Figures
		helps         bool
	}{
		{"more and shorter", Figures{240e6, 20 * ms}, Figures{100e6, 300 * ms}, true},
		{"as much, shorter", Figures{95e6, 20 * ms}, Figures{100e6, 300 * ms}, true},
		{"as much", Figures{98e6, 20 * ms}, Figures{100e6, 21 * ms}, true},
		{"much less, shorter", Figures{85e6, 20 * ms}, Figures{100e6, 300 * ms}, false},
		{"less, no shorter", Figures{90e6, 20 * ms}, Figures{100e6, 21 * ms}, false},
	} {
		var tr Trial
		e, found := trial(&tr, time.Hour, 2*time.Second, c.with, c.without)
		if !found || e.Helps() != c.helps {
			t.Errorf("%s: found %v, %+v", c.what, found, e)
		}
		near := func(got, want float64) bool { return got > 0.999*want && got < 1.001*want }
		if !near(e.With.Total, c.with.Total) || !near(e.Without.Total, c.without.Total) || !near(float64(e.Without.RTT), float64(c.without.RTT)) {
			t.Errorf("%s: %+v", c.what, e)
		}
	}
}

func TestALongReleaseIsNoTrial(t *testing.T) {
	var tr Trial
	if e, found := trial(&tr, time.Hour, time.Minute, Figures{90e6, 20 * ms}, Figures{100e6, 20 * ms}); found {
		t.Errorf("compared: %+v", e)
	}
	if _, found := trial(&tr, 2*time.Hour, 2*time.Second, Figures{90e6, 20 * ms}, Figures{100e6, 20 * ms}); !found {
		t.Error("the next trial was not compared")
	}
}

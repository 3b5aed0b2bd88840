package simulate

import (
	"testing"
	"time"

	"airtide/internal/share/control"
)

// The PHY rate of the first of two like terminals gives a standalone rate that is 0.75 of the true
// one, because its A-MPDUs are longer than assumed. It delivers more while it sends alone, so then
// the two differ by less than a tenth.
func TestWhatATerminalDeliversAloneCorrectsItsRate(t *testing.T) {
	for _, alone := range []bool{false, true} {
		s := Scenario{Seed: 3, Stations: stations(t, 433.3, 433.3)}
		if alone {
			s.Stations[1].Sends = 15 * time.Second
		}
		c, err := s.NewCell(true)
		if err != nil {
			t.Fatal(err)
		}
		exact := c.terminals[0].Radio
		c.terminals[0].Radio = func(now time.Duration) control.Radio {
			r := exact(now)
			r.StandaloneBps *= 0.75
			return r
		}
		c.Until(20 * time.Second)
		r, err := c.Measure(20 * time.Second)
		if err != nil {
			t.Fatal(err)
		}
		ratio := r.Goodputs[0] / r.Goodputs[1]
		if alone && (ratio < 0.9 || ratio > 1.05) || !alone && ratio > 0.85 {
			t.Errorf("it sent alone: %v; it carries %.2f of the other's rate", alone, ratio)
		}
	}
}

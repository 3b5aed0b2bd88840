package measure

import (
	"math"
	"testing"
	"time"

	"airtide/internal/cell"
)

// counted has a flow of 1 byte per microsecond (8 Mbit/s) forward and a quarter of that back,
// looked at each 100 ms.
func counted() *Counts {
	c := &Counts{}
	for ms := int64(0); ms <= 1000; ms += 100 {
		c.Add(&cell.Status{TimeNs: ms * 1e6, Flows: []cell.FlowStatus{{
			Name: "up", Forward: cell.Delivered{PayloadBytes: ms * 1000},
			Reverse: cell.Delivered{PayloadBytes: ms * 250},
		}}})
	}
	return c
}

func TestRatesOfAPartOfARun(t *testing.T) {
	for _, c := range []struct {
		name     string
		flow     string
		from, to time.Duration
		known    bool
	}{
		{"all", "up", 0, time.Second, true},
		{"between two statuses", "up", 200 * time.Millisecond, 700 * time.Millisecond, true},
		{"nearly", "up", 203 * time.Millisecond, 698 * time.Millisecond, true},
		{"shorter than the interval", "up", 210 * time.Millisecond, 240 * time.Millisecond, false},
		{"beyond the end", "up", 0, 2 * time.Second, false},
		{"another flow", "down", 0, time.Second, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			forward, reverse := counted().Rates(c.flow, c.from, c.to)
			if !c.known {
				if !math.IsNaN(forward) || !math.IsNaN(reverse) {
					t.Errorf("%g and %g Mbit/s, want none", forward, reverse)
				}
				return
			}
			if math.Abs(forward-8) > 1e-9 || math.Abs(reverse-2) > 1e-9 {
				t.Errorf("%g and %g Mbit/s, want 8 and 2", forward, reverse)
			}
		})
	}
}

func TestWithoutCountsThereIsNoRate(t *testing.T) {
	var none *Counts
	if forward, _ := none.Rates("up", 0, time.Second); !math.IsNaN(forward) {
		t.Errorf("%g Mbit/s of nothing", forward)
	}
}

package control

import (
	"testing"
	"time"

	"airtide/internal/share/allocate"
)

// greedy returns terminals with unlimited demand that deliver these rates.
func greedy(rates ...float64) (all []Terminal) {
	for i, rate := range rates {
		all = append(all, Terminal{Source: source(i), Max: 100e6, Rate: rate, Demand: allocate.Unlimited})
	}
	return all
}

// TestUnusedSharesGoToTheOthers: a terminal that delivers a small part of its share for seconds
// keeps four times its rate, and gets more when its rate grows.
func TestUnusedSharesGoToTheOthers(t *testing.T) {
	c := NewShareController(Options{})
	now := time.Duration(0)
	step := func(length time.Duration, rates ...float64) (own float64) {
		for end := now + length; now < end; {
			now += 100 * time.Millisecond
			d, err := c.Step(now, 0, greedy(rates...))
			if err != nil {
				t.Fatal(err)
			}
			own = d.Share
		}
		return own
	}
	half := step(2*time.Second, 40e6, 1e6)
	if after := step(2*time.Second, 40e6, 1e6); after < 1.8*half {
		t.Errorf("%.3g bit/s of the other's share, which it does not use, and %.3g before", after, half)
	}
	// Between two of its steps the other grows into the share that was left to it.
	for rate := 4e6; rate < 40e6; rate *= 3 {
		step(300*time.Millisecond, 40e6, rate)
	}
	if again := step(300*time.Millisecond, 40e6, 40e6); again > 1.01*half {
		t.Errorf("%.3g bit/s while the other uses its share, and %.3g at first", again, half)
	}
}

// TestABeginnerFindsRoom: an idle terminal that begins has its share at once.
func TestABeginnerFindsRoom(t *testing.T) {
	c := NewShareController(Options{})
	all := greedy(80e6, 0)
	all[1].Demand = 0
	var alone, beside Decision
	var err error
	for i := range 100 {
		alone, err = c.Step(time.Duration(i)*100*time.Millisecond, 0, all)
		if err != nil {
			t.Fatal(err)
		}
	}
	all[1].Demand = allocate.Unlimited
	beside, err = c.Step(10*time.Second, 0, all)
	if err != nil || beside.Share > 0.55*alone.Share {
		t.Errorf("%.3g bit/s beside it, %.3g alone: %v", beside.Share, alone.Share, err)
	}
}

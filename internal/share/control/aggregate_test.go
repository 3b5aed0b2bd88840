package control

import (
	"math"
	"testing"
	"time"

	"airtide/internal/share/allocate"
)

func TestWindowsNearWholeAggregatesAreWhole(t *testing.T) {
	for packets, want := range map[float64]float64{
		2: 2, 47: 47, 48: 64, 64: 64, 95: 64, 96: 128, 159: 128, 161: 192, 640: 640, 700: 704,
	} {
		if got := WholeAggregates(packets); got != want {
			t.Errorf("a window of %g packets became %g, want %g", packets, got, want)
		}
	}
}

// TestQueuesHoldWhatTheNumberOfTerminalsNeeds: as share-windows finds them by hand.
func TestQueuesHoldWhatTheNumberOfTerminalsNeeds(t *testing.T) {
	for _, c := range []struct {
		what          string
		terminals     int
		mean, packets float64
	}{
		{"two", 2, 1, 3 * AggregatePackets},
		{"four", 4, 1, 2 * AggregatePackets},
		{"eight", 8, 1, AggregatePackets},
		{"thirty-two", 32, 1, AggregatePackets},
		{"four of which some are slow", 4, 0.5, 160},
		{"sixteen of which some are slow", 16, 0.5, 136},
	} {
		if got := queuedPackets(1/float64(c.terminals), c.mean); math.Abs(got-c.packets) > 1e-9 {
			t.Errorf("%s: %g packets, want %g", c.what, got, c.packets)
		}
	}
	// Nothing jumps where a cell becomes one of unlike terminals.
	for mean := 0.5; mean < 0.99; mean += 0.01 {
		if step := queuedPackets(0.1, mean) - queuedPackets(0.1, mean+0.01); step < 0 || step > 5 {
			t.Errorf("at a mean share of %.2f of the greatest: %.1f packets more than at %.2f", mean, step, mean+0.01)
		}
	}
}

// TestWindowsAreWholeWhereSharesAreAlike, and radios have aggregates.
func TestWindowsAreWholeWhereSharesAreAlike(t *testing.T) {
	for _, c := range []struct {
		what   string
		maxima []float64
		single bool
		whole  bool
	}{
		{"alike", []float64{338e6, 338e6, 338e6, 338e6}, false, true},
		{"nearly alike", []float64{338e6, 320e6, 350e6, 338e6}, false, true},
		{"two are slow", []float64{338e6, 338e6, 52e6, 52e6}, false, false},
		{"without aggregates", []float64{25e6, 25e6}, true, false},
	} {
		var all []Terminal
		for i, m := range c.maxima {
			all = append(all, Terminal{
				Source: source(i), Max: m, Rate: m / 4, Demand: allocate.Unlimited,
				MinRTT: 2 * time.Millisecond, Single: c.single,
			})
		}
		d, err := NewShareController(Options{}).Step(time.Second, 0, all)
		if err != nil || d.Whole != c.whole {
			t.Errorf("%s: whole %v, %v", c.what, d.Whole, err)
		}
	}
}

// TestReceivedPacketsWaitForHalfAsLong where radios aggregate. Three single packets are few enough.
func TestReceivedPacketsWaitForHalfAsLong(t *testing.T) {
	for _, single := range []bool{false, true} {
		all := greedyAt([]float64{300e6, 300e6}, []float64{120e6, 120e6}, 2*time.Millisecond, 30*time.Millisecond)
		for i := range all {
			all[i].Single = single
		}
		d, err := NewShareController(Options{}).Step(time.Second, 0, all)
		if err != nil {
			t.Fatal(err)
		}
		part := receivedQueue
		if single {
			part = 1
		}
		if got := d.ReceivedTarget.Seconds() / d.QueueTarget.Seconds(); math.Abs(got-part) > 1e-6 {
			t.Errorf("single frames %v: received packets have %.2f of the queue target, want %.2f", single, got, part)
		}
	}
}

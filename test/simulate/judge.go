package simulate

import (
	"fmt"
	"math"
	"time"

	"airtide/internal/share/control"
	"airtide/internal/share/fairness"
)

// State describes how the terminals of a cell are doing. Terminals that are away do not count, and
// those without an agent count for rates only.
type State struct {
	Now time.Duration
	// Known is the part of all pairs of terminals of which one counts with the other.
	Known float64
	// Bounded is the number of terminals that a share bounds.
	Bounded int
	// Within is the part of the terminals whose share is within a tenth of the optimum: the share
	// if all know all.
	Within float64
	// Worst is the greatest difference from the optimum, as a part of it.
	Worst float64
	// Rates are the goodputs since the last State, in bit/s, and RTTs the mean round-trip times,
	// both in order of the terminals.
	Rates []float64
	RTTs  []time.Duration
	// Total is the sum of Rates, and Jain Jain's index of their airtimes (rate / standalone rate),
	// without limited terminals.
	Total, Jain float64
	// Uneven is the distance of those rates from equal airtime with the same airtime in all, by
	// fairness.Distance: about 0.1 if they are a tenth off.
	Uneven float64
}

// Near is how far from the optimum a share may be to count as there, as a part of it.
const Near = 0.1

// State describes the cell as it is now.
func (c *Cell) State() (State, error) {
	s := State{Now: c.now, Rates: make([]float64, len(c.terminals)), RTTs: make([]time.Duration, len(c.terminals))}
	var here []*terminal
	var all []control.Terminal
	var greedy, alone []float64
	for i, t := range c.terminals {
		if t.away {
			continue
		}
		s.Rates[i] = t.bits / max(c.now-c.judged, 1).Seconds()
		if t.bits > 0 {
			s.RTTs[i] = time.Duration(t.rttBits / t.bits * float64(time.Second))
		}
		t.bits = 0
		t.rttBits = 0
		s.Total += s.Rates[i]
		if !t.Limited {
			greedy = append(greedy, s.Rates[i])
			alone = append(alone, t.standalone())
		}
		if t.receiver != nil && t.out.Report.MaxKbps > 0 { // else it has no share
			here = append(here, t)
			all = append(all, t.report())
		}
	}
	c.judged = c.now
	s.Jain = fairness.NormalisedJain(greedy, alone)
	s.Uneven = fairness.Distance(1, greedy, equalAirtime(greedy, alone), nil)
	reference := control.NewShareController(control.Options{})
	within := 0
	known := 0
	for i, t := range here {
		d, err := reference.Step(c.now, i, all)
		if err != nil {
			return State{}, fmt.Errorf("judging a simulated cell: %w", err)
		}
		known += len(t.peers)
		off := 1.0
		if t.bounded() {
			s.Bounded++
			off = math.Abs(t.share-d.Share) / d.Share
		}
		if d.Share == 0 {
			off = 0 // it demands nothing
		}
		if off <= Near {
			within++
		}
		s.Worst = max(s.Worst, off)
	}
	if n := len(here); n > 0 {
		s.Within = float64(within) / float64(n)
		s.Known = float64(known) / float64(max(n*(n-1), 1))
	}
	return s, nil
}

// Share is the share of a terminal in bit/s; false while it is not bounded.
func (c *Cell) Share(terminal int) (bps float64, bounded bool) {
	t := c.terminals[terminal]
	return t.share, t.bounded()
}

// equalAirtime are the rates with which all have the same airtime, as much in all as some rates
// need.
func equalAirtime(rates, alone []float64) []float64 {
	airtime := 0.0
	for i, x := range rates {
		airtime += x / alone[i]
	}
	equal := make([]float64, len(rates))
	for i, m := range alone {
		equal[i] = m * airtime / float64(len(rates))
	}
	return equal
}

// Converge lets time pass until the shares of so many of the terminals, as a part, are near the
// optimum and stay so for some time, looking once in every; it returns when they came near, or an
// error when they do not until the limit.
func (c *Cell) Converge(part float64, every, stay, limit time.Duration) (time.Duration, error) {
	var since time.Duration
	there := false
	for c.now < limit {
		c.Until(c.now + every)
		s, err := c.State()
		switch {
		case err != nil:
			return 0, err
		case s.Within < part:
			there = false
		case !there:
			there = true
			since = c.now
		}
		if there && c.now-since >= stay {
			return since, nil
		}
	}
	return 0, fmt.Errorf("after %s fewer than %.0f %% of %d terminals are within a tenth of their share",
		c.now, 100*part, len(c.terminals))
}

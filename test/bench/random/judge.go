package main

import (
	"math"
	"time"

	"airtide/internal/share/allocate"
	"airtide/internal/share/fairness"
	"airtide/test/simulate"
)

// outcome compares a cell with agents to the same cell without.
type outcome struct {
	cell          *cell
	with, without simulate.Result
	// total is the total with agents as a part of the total without.
	total float64
	// index and defaultIndex are Jain's index of the rates as parts of the optimum, with and
	// without agents: the index of airtimes, unless the wire or windows limit.
	index, defaultIndex float64
	// airtime and defaultAirtime are Jain's index of the airtimes that the goodputs need: goodput
	// over standalone rate. If the wire or windows limit, that of the optimum is below 1, too.
	airtime, defaultAirtime float64
	// optimal is the total of the proportionally fair optimum, without loss by contention, as a
	// part of the total without agents. If it is below 1, the default starves slow terminals.
	optimal float64
	// rtt is the greatest 95th percentile of the RTTs of terminals with agents as a part of that
	// without agents.
	rtt float64
}

// When rates are measured, agents have found them by measureFrom. The default settles sooner.
const (
	measureFrom = 15 * time.Second
	measureTo   = 40 * time.Second
)

// judge runs a cell with and without agents.
func (c *cell) judge() (o outcome, err error) {
	o.cell = c
	if o.with, err = c.scenario.Run(true, measureFrom, measureTo); err != nil {
		return o, err
	}
	if o.without, err = c.scenario.Run(false, measureFrom, measureTo); err != nil {
		return o, err
	}
	optimum, err := c.optimum(o.with)
	if err != nil {
		return o, err
	}
	o.total = o.with.Total / o.without.Total
	for _, x := range optimum {
		o.optimal += x / o.without.Total
	}
	o.index = fairness.NormalisedJain(c.participants(o.with.Goodputs), c.participants(optimum))
	o.defaultIndex = fairness.NormalisedJain(c.participants(o.without.Goodputs), c.participants(optimum))
	o.airtime = fairness.Jain(c.participants(o.with.Airtimes))
	o.defaultAirtime = fairness.Jain(c.participants(o.without.Airtimes))
	var with, without time.Duration
	for i, s := range c.scenario.Stations {
		if !s.NoAgent {
			with, without = max(with, o.with.RTT95[i]), max(without, o.without.RTT95[i])
		}
	}
	o.rtt = with.Seconds() / without.Seconds()
	return o, nil
}

// participants leaves out the values of terminals without an agent.
func (c *cell) participants(values []float64) (kept []float64) {
	for i, s := range c.scenario.Stations {
		if !s.NoAgent {
			kept = append(kept, values[i])
		}
	}
	return kept
}

// optimum are the proportionally fair rates of all terminals, of which each reaches what its
// windows allow at most.
func (c *cell) optimum(r simulate.Result) ([]float64, error) {
	s := &c.scenario
	limits := allocate.Limits{Wire: allocate.Unlimited}
	if s.WireBps > 0 {
		limits.Wire = s.WireBps * simulate.PayloadOfWire
		if c.up && c.down {
			limits.Wire *= 2 // each direction has its own
		}
	}
	terminals := make([]allocate.Terminal, len(s.Stations))
	for i, station := range s.Stations {
		// The standalone rate as the result has it: goodput over airtime.
		standalone := r.Goodputs[i] / r.Airtimes[i]
		if math.IsNaN(standalone) {
			var err error
			if standalone, err = s.Standalone(station.PHYs[0].PHY, 0); err != nil {
				return nil, err
			}
		}
		demand := float64(len(station.Flows)) * simulate.WindowRate(2*(station.Delay+s.Delay))
		terminals[i] = allocate.Terminal{Max: standalone, Demand: demand}
	}
	solved, err := allocate.Solve(1, limits, terminals)
	return solved.Shares, err
}

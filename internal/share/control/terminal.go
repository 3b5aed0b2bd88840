package control

import (
	"time"

	"airtide/internal/share/allocate"
)

const (
	// idlePart is the part of the standalone rate up to which a terminal counts as idle.
	idlePart = 0.02
	// joinSpread is the time within which terminals start together. Their rates show one round trip
	// later.
	joinSpread = 100 * time.Millisecond
)

// terminals lists this terminal first, then the peers whose standalone rates are known. While this
// terminal starts, idle peers count as greedy until a later report says otherwise, because they may
// start too. If each took the whole cell, long queues would delay the first reports.
func (c *Core) terminals(now time.Duration, in Inputs) []Terminal {
	own := c.terminal()
	if c.host.SendRate+c.host.ReceiveRate <= idlePart*own.Max {
		c.idleAt = now
	}
	all := []Terminal{own}
	for i := range in.Peers {
		p := &in.Peers[i]
		if p.Report.MaxKbps == 0 {
			continue
		}
		t := TerminalOf(p)
		known := c.idleAt + own.MinRTT + joinSpread + time.Duration(p.Report.PeriodMs)*time.Millisecond/2
		unknown := now > c.idleAt && time.Duration(p.HeardNs) < known
		if unknown && t.Rate <= idlePart*t.Max && !c.config.Options.off(IdleGreedy) {
			t.Demand = allocate.Unlimited
		}
		all = append(all, t)
	}
	return all
}

// terminal returns this terminal in the form of the others.
func (c *Core) terminal() Terminal {
	t := Terminal{
		Max: c.standaloneRate(), Rate: c.flows.Rate(), Demand: c.flows.Demand(c.standaloneRate()),
		Weight:   c.config.Weight,
		Measured: c.measuresStandalone(), Single: c.radio.SingleFrames,
	}
	t.MinRTT, t.RTT = c.flows.RTTs()
	return t
}

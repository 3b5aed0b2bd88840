package control

import (
	"time"

	"airtide/internal/share/allocate"
)

const (
	// idlePart is the part of the standalone rate up to which a terminal counts as idle.
	idlePart = 0.02
	// joinSpread is the time within which terminals begin together. Their rates show a round trip
	// later.
	joinSpread = 100 * time.Millisecond
)

// terminals lists this terminal first, and then the peers whose standalone rates are known. While
// this terminal begins, idle peers count as greedy until a report made after that says otherwise:
// they may begin too, and if each took the whole cell, long queues would hold up the first reports
// of it.
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
		if !c.config.Options.off(IdleGreedy) && now > c.idleAt && time.Duration(p.HeardNs) < known && t.Rate <= idlePart*t.Max {
			t.Demand = allocate.Unlimited
		}
		all = append(all, t)
	}
	return all
}

// terminal is this terminal among the others.
func (c *Core) terminal() Terminal {
	t := Terminal{
		Max: c.standaloneRate(), Rate: c.flows.Rate(), Demand: c.flows.Demand(c.standaloneRate()), Weight: c.config.Weight,
		Measured: c.measuresStandalone(), Single: c.radio.SingleFrames,
	}
	t.MinRTT, t.RTT = c.flows.RTTs()
	return t
}

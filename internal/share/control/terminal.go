package control

import (
	"slices"
	"time"

	"airtide/internal/share/allocate"
	"airtide/internal/share/message"
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

// foreignSender reports whether a peer whose standalone rate nobody knows carries something. It
// shares its queue only, so its traffic is foreign to the shares of the others.
func foreignSender(peers []message.Peer) bool {
	return slices.ContainsFunc(peers, func(p message.Peer) bool {
		return p.Report.MaxKbps == 0 && p.Report.UploadKbps+p.Report.DownloadKbps > 0
	})
}

// terminal returns this terminal in the form of the others.
func (c *Core) terminal() Terminal {
	t := Terminal{
		Max: c.standaloneRate(), Rate: c.flows.Rate(), Demand: c.flows.Demand(c.standaloneRate()),
		Weight: c.config.Weight, Single: c.radio.SingleFrames,
	}
	t.MinRTT, t.RTT = c.flows.RTTs()
	return t
}

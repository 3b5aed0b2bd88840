package control

import (
	"time"

	"airtide/internal/share/message"
	"airtide/internal/share/probe"
)

// coreClock converts between the caller's times and the core's. The core's time starts an hour
// before its first step, so that time 0 of its parts means "never": longer ago than any time that
// they look back. So no decision depends on the caller's time 0.
type coreClock struct {
	zero    time.Duration // the core's time 0, in the caller's time
	started bool
	peers   []message.Peer
}

// beforeFirstStep is the core's time at its first step.
const beforeFirstStep = time.Hour

func (c *coreClock) start(now time.Duration) {
	if !c.started {
		c.zero = now - beforeFirstStep
		c.started = true
	}
}

func (c *coreClock) internal(t time.Duration) time.Duration { return t - c.zero }

// inputs returns inputs in the core's time. The caller's inputs do not change.
func (c *coreClock) inputs(in Inputs) Inputs {
	c.peers = append(c.peers[:0], in.Peers...)
	for i := range c.peers {
		c.peers[i].HeardNs -= int64(c.zero)
	}
	in.Peers = c.peers
	return in
}

// outputs converts outputs to the caller's time.
func (c *coreClock) outputs(out *Outputs) {
	if out.Probe != (probe.Proposal{}) {
		out.Probe.End += c.zero
		if !out.Probe.Repeat {
			out.Probe.Begin += c.zero
		}
	}
	if out.NextProbe > 0 {
		out.NextProbe += c.zero
	}
	if out.View.Benefit != nil {
		out.View.Benefit.At += c.zero
	}
}

package control

import (
	"math"

	"airtide/internal/share/message"
)

// report returns the terminal's report to its peers after the last decision.
func (c *Core) report() message.Report {
	state := message.Released
	bound := 0.0
	if c.bounded {
		state = message.Controlling
		bound = c.share
	}
	if c.config.Policy == Observe {
		state = message.Observing
	}
	base, mean := c.flows.RTTs()
	r := message.Report{
		State: state, MaxKbps: kbps(c.standaloneRate()),
		PHYKbps: kbps(c.radio.PHYBps), DeliveryKbps: kbps(c.flows.Rate()), UploadKbps: kbps(c.flows.Send.Rate),
		DownloadKbps: kbps(c.flows.Receive.Rate), BoundKbps: kbps(bound),
		Weight:   uint16(math.Round(1000 * c.config.Weight)),
		MinRTTUs: message.Microseconds(base), SmoothedRTTUs: message.Microseconds(mean),
		RTT95Us:     message.Microseconds(max(c.host.RTT95, mean)),
		QueuedBytes: uint32(min(max(c.host.QueuedBytes, 0), message.MostQueuedBytes)), Counts: c.counts,
		FlowsUp: count(c.flows.Send.Flows), FlowsDown: count(c.flows.Receive.Flows),
		ForeignQueues: c.baseRTT.foreignHere() && !c.baseRTT.missed(), SingleFrames: c.radio.SingleFrames,
	}
	switch {
	case c.config.StandaloneBps > 0:
		r.MaxSource = message.Configured
	case c.radio.StandaloneBps > 0:
		r.MaxSource = message.PHY
	}
	if d := c.flows.Demand(c.standaloneRate()); !math.IsInf(d, 1) {
		r.DemandKbps = kbps(d)
		r.ApplicationLimited = true
	}
	return r
}

// kbps truncates, unlike message.RateOf. So a smoothed rate that decays ends at zero: below 1
// kbit/s it counts as none.
func kbps(bps float64) message.Rate { return message.Rate(min(bps/1000, float64(message.HighestRate))) }

func count(n int) uint16 { return uint16(min(n, math.MaxUint16)) }

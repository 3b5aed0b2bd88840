package measure

import (
	"slices"

	"airtide/internal/diagnose"
	"airtide/internal/lab/plan"
	"airtide/internal/tcp"
)

// limitQuantities are shares of time in which a kind of limits held.
var limitQuantities = []plan.Quantity{
	"limited_application", "limited_receiver", "limited_sender", "limited_loss", "limited_capacity",
}

// limitKinds are the limits of each quantity. The rest of the time is unknown or seen by a
// receiver.
var limitKinds = map[plan.Quantity][]diagnose.Limit{
	"limited_application": {
		diagnose.Application, diagnose.Idle, diagnose.RoundTrips, diagnose.Nagle, diagnose.Handshake,
		diagnose.Teardown,
	},
	"limited_receiver": {diagnose.ReceiveWindow, diagnose.ReceivingApplication},
	"limited_sender": {
		diagnose.SendBuffer, diagnose.CwndBound, diagnose.SlowStart, diagnose.Pacing, diagnose.OwnQueue,
		diagnose.OwnDevice, diagnose.SenderHost,
	},
	"limited_loss": {
		diagnose.RandomLoss, diagnose.ShallowQueue, diagnose.Timeout, diagnose.Reordering, diagnose.Stall,
		diagnose.Gaps, diagnose.PathMTU,
	},
	"limited_capacity": {
		diagnose.Capacity, diagnose.SharedCapacity, diagnose.NetworkQueue, diagnose.AckBacklog,
		diagnose.RadioLimit, diagnose.UnfairSharing,
	},
}

// WantsLimits reports whether a measurement needs the diagnosis.
func WantsLimits(all plan.Named[plan.Measurement]) bool {
	return slices.ContainsFunc(all, func(m plan.Item[plan.Measurement]) bool {
		return slices.Contains(limitQuantities, m.Value.Quantity)
	})
}

// limitsOf are the shares of a flow from a time on, in per cent; nil if it has no phases there.
func limitsOf(engine *diagnose.Engine, id tcp.FlowID, fromNs int64) map[plan.Quantity]float64 {
	c, known := engine.Connection(id)
	if !known {
		return nil
	}
	of := map[plan.Quantity]float64{}
	var all float64
	for i := range c.Phases {
		p := &c.Phases[i]
		length := float64(p.EndNs - max(p.StartNs, fromNs))
		if length <= 0 {
			continue
		}
		all += length
		for _, s := range p.Shares {
			for _, q := range limitQuantities {
				if slices.Contains(limitKinds[q], s.Limit) {
					of[q] += 100 * s.Share * length
				}
			}
		}
	}
	if all == 0 {
		return nil
	}
	for q := range of {
		of[q] /= all
	}
	return of
}

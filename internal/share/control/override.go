package control

import (
	"math"
	"time"

	"airtide/internal/share/message"
)

const (
	// unknownPackets is the least sum of a terminal's windows while its standalone rate is unknown:
	// an A-MPDU.
	unknownPackets = AggregatePackets
	// rttProbePackets is the window in an RTT probe. With four packets a loss is still repaired
	// without a timeout.
	rttProbePackets = 4
	// resumeTime is how long after a probe lower bounds restore the windows at once.
	resumeTime = 200 * time.Millisecond
)

// raiseTo raises bounds until their sum is at least packets.
func (b *bounds) raiseTo(packets float64) {
	each := packets / float64(max(len(b.send)+len(b.receive), 1))
	for i := range b.send {
		b.send[i].Packets = max(b.send[i].Packets, uint32(each))
	}
	for i := range b.receive {
		r := &b.receive[i]
		r.bytes = max(r.bytes, uint32(each*float64(r.flow.MSS)))
	}
}

// overrideForProbe replaces bounds by those of a probe, or of the time just after one.
func (c *Core) overrideForProbe(now time.Duration, b *bounds) {
	if c.measuresStandalone() && !c.standalone.Known() {
		b.raiseTo(unknownPackets)
	}
	factor, active := c.standalone.Window(), c.probe.active
	switch {
	case active.Kind == message.RateProbe && active.Own:
		for i := range b.send {
			b.send[i].Packets = uint32(min(factor*float64(b.send[i].Packets), math.MaxInt32))
		}
		for i := range b.receive {
			b.receive[i].bytes = uint32(min(factor*float64(b.receive[i].bytes), math.MaxInt32))
		}
		b.raiseTo(RateProbePackets)
		b.restoreAtOnce()
	case active.Kind == message.RateProbe:
		for i := range b.send {
			b.send[i].Pause = true
		}
		for i := range b.receive {
			b.receive[i].bytes = uint32(b.receive[i].flow.MSS)
		}
	case active.Kind == message.RTTProbe:
		for i := range b.send {
			b.send[i].Packets = min(b.send[i].Packets, rttProbePackets)
		}
		for i := range b.receive {
			r := &b.receive[i]
			r.bytes = min(r.bytes, uint32(rttProbePackets*r.flow.MSS))
		}
	case c.probe.ended > 0 && now-c.probe.ended < resumeTime:
		b.restoreAtOnce()
	}
}

// restoreAtOnce sets lower bounds that raise windows to their upper bounds at once.
func (b *bounds) restoreAtOnce() {
	for i := range b.send {
		b.send[i].Least = b.send[i].Packets
	}
}

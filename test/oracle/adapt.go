package oracle

import (
	"math"
	"time"

	"airtide/internal/share/message"
	"airtide/internal/tcp"
	"airtide/test/oracle/control"
)

const (
	// unknownPackets is what all windows of a terminal have together at least while it is not known
	// what it reaches alone: an A-MPDU.
	unknownPackets = control.AggregatePackets
	// stillPackets is the window while all hold back: a loss is still found without timeout.
	stillPackets = 4
	// resumeFor is for how long windows are brought back at once after a turn.
	resumeFor = 200 * time.Millisecond
)

// atLeast raises bounds to so many packets for all together.
func (b *bounds) atLeast(packets float64, flows map[tcp.FlowID]*flow) {
	each := packets / float64(max(len(b.up)+len(b.down), 1))
	for i := range b.up {
		b.up[i].Packets = max(b.up[i].Packets, uint32(each))
	}
	for id, bytes := range b.down {
		b.down[id] = max(bytes, uint32(each*float64(flows[id].mss)))
	}
}

// adapt changes bounds to what they are in a turn, and just after one.
func (t *together) adapt(now time.Duration, b *bounds, self *self) {
	flows, solo := self.flows, self.found.Window()
	if self.searches() && !self.found.Known() {
		b.atLeast(unknownPackets, flows)
	}
	switch {
	case t.phase.Kind == message.RateProbe && t.phase.Own:
		for i := range b.up {
			b.up[i].Packets = uint32(min(solo*float64(b.up[i].Packets), math.MaxInt32))
		}
		for id, bytes := range b.down {
			b.down[id] = uint32(min(solo*float64(bytes), math.MaxInt32))
		}
		b.atLeast(control.SoloPackets, flows)
		for i := range b.up {
			b.up[i].Least = b.up[i].Packets
		}
	case t.phase.Kind == message.RateProbe:
		for i := range b.up {
			b.up[i].Pause = true
		}
		for id := range b.down {
			b.down[id] = uint32(flows[id].mss)
		}
	case t.phase.Kind == message.RTTProbe:
		for i := range b.up {
			b.up[i].Packets = min(b.up[i].Packets, stillPackets)
		}
		for id := range b.down {
			b.down[id] = min(b.down[id], uint32(stillPackets*flows[id].mss))
		}
	case t.resumed > 0 && now-t.resumed < resumeFor:
		for i := range b.up {
			b.up[i].Least = b.up[i].Packets
		}
	}
}

package setup

import (
	"time"

	"airtide/internal/cell"
	"airtide/internal/cell/engine"
	"airtide/internal/cell/medium"
	"airtide/internal/cell/queue"
)

const (
	// fullPacket is the wire time of a packet of 1500 bytes, in bit.
	fullPacket = 8 * 1538
	// spareSlots is the number of slots for packets between two queues, and for wires with shorter
	// packets.
	spareSlots = 4096
	// mostSlots is the limit of slots, which need 512 MiB. A cell with more packets loses some, and
	// its runs do not count.
	mostSlots = 1 << 18
)

// slots returns the largest number of packets in a cell: full queues, and the packets on the path
// at full wire rate, limited by mostSlots. It is 0 if the engine's default is sufficient.
func slots(c *cell.Config) int {
	n := spareSlots + queues(c) + underWay(c.WireUp, c.Terminals, func(t *cell.Terminal) []cell.LineStep {
		return t.Up
	}) +
		underWay(c.WireDown, c.Terminals, func(t *cell.Terminal) []cell.LineStep { return t.Down })
	if n <= engine.DefaultSlots {
		return 0
	}
	return int(min(n, mostSlots))
}

// queues returns the capacity of all queues and of the air, in packets.
func queues(c *cell.Config) int64 {
	n := packets(c.AP.Limit) + medium.MostFrames
	if c.AP.Discipline == cell.FIFOPerStation {
		n *= int64(len(c.Terminals))
	}
	for _, t := range c.Terminals {
		if t.Radio != nil {
			n += int64(t.Radio.QueuePackets) + medium.MostFrames
		}
	}
	for _, wire := range [][]cell.WireStep{c.WireUp, c.WireDown} {
		if len(wire) > 0 {
			n += packets(wire[0].Wire.Limit)
		}
	}
	return n
}

// packets returns a limit in packets. A limit in bytes is converted by full packets.
func packets(l queue.Limit) int64 {
	if l.Packets > 0 {
		return int64(l.Packets)
	}
	return int64(l.Bytes) * 8 / fullPacket
}

// underWay returns the number of packets that the fastest wire sends during the longest delay.
func underWay(wire []cell.WireStep, terminals []cell.Terminal, lines func(*cell.Terminal) []cell.LineStep) int64 {
	var rateBps, delayNs int64
	for _, s := range wire {
		rateBps = max(rateBps, s.Wire.RateBps)
	}
	for i := range terminals {
		for _, s := range lines(&terminals[i]) {
			delayNs = max(delayNs, s.Line.DelayNs+s.Line.Jitter.Ns)
		}
	}
	return int64(float64(rateBps) / fullPacket * time.Duration(delayNs).Seconds())
}

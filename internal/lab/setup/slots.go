package setup

import (
	"time"

	"airtide/internal/cell"
	"airtide/internal/cell/engine"
	"airtide/internal/cell/medium"
	"airtide/internal/cell/queue"
)

const (
	// fullPacket is what a packet of 1500 bytes takes of a wire's time, in bit.
	fullPacket = 8 * 1538
	// spareSlots are for what is between a queue and the next, and for rates at which packets are
	// shorter.
	spareSlots = 4096
	// mostSlots take 512 MiB. A cell that holds more loses packets, and its runs do not count.
	mostSlots = 1 << 18
)

// slots is how many packets a cell may hold at once: full queues, and as much under way on the path
// as its wires send. It is 0 where the engine's own number is enough.
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

// queues is what all queues hold, with what is on the air.
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

// packets is a limit's, in full packets where it is of bytes.
func packets(l queue.Limit) int64 {
	if l.Packets > 0 {
		return int64(l.Packets)
	}
	return int64(l.Bytes) * 8 / fullPacket
}

// underWay is what the wire sends at its fastest while the longest delay lasts.
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

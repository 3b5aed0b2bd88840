package cell

import (
	"airtide/internal/cell/engine"
	"airtide/internal/cell/path"
)

// since returns the counts since an earlier status of the same cell. Levels keep their present
// value.
func (s *Status) since(earlier *Status) Status {
	d := *s
	d.TimeNs -= earlier.TimeNs
	d.BusyNs -= earlier.BusyNs
	d.Terminals = make([]TerminalStatus, len(s.Terminals))
	d.Flows = make([]FlowStatus, len(s.Flows))
	for i := range s.Terminals {
		d.Terminals[i] = s.Terminals[i].since(&earlier.Terminals[i])
	}
	for i, f := range s.Flows {
		d.Flows[i] = FlowStatus{
			f.Name, f.Forward.since(earlier.Flows[i].Forward), f.Reverse.since(earlier.Flows[i].Reverse),
		}
	}
	d.AP.Radio = s.AP.Radio.since(&earlier.AP.Radio)
	d.AP.Queue = s.AP.Queue.since(&earlier.AP.Queue)
	d.AP.Thinned -= earlier.AP.Thinned
	d.AP.Lowered -= earlier.AP.Lowered
	d.WireUp.Queue = s.WireUp.Queue.since(&earlier.WireUp.Queue)
	d.WireDown.Queue = s.WireDown.Queue.since(&earlier.WireDown.Queue)
	return d
}

func (t *TerminalStatus) since(earlier *TerminalStatus) TerminalStatus {
	d := *t
	d.Up = t.Up.since(&earlier.Up)
	d.Down = t.Down.since(&earlier.Down)
	d.Queue = t.Queue.since(&earlier.Queue)
	d.APQueue = t.APQueue.since(&earlier.APQueue)
	d.PathUp = pathSince(t.PathUp, earlier.PathUp)
	d.PathDown = pathSince(t.PathDown, earlier.PathDown)
	d.Drops.StationQueue -= earlier.Drops.StationQueue
	d.Drops.APQueue -= earlier.Drops.APQueue
	d.Drops.RetryLimit -= earlier.Drops.RetryLimit
	d.Drops.WireQueue -= earlier.Drops.WireQueue
	d.Drops.Path -= earlier.Drops.Path
	d.Port = portSince(t.Port, earlier.Port)
	return d
}

func (r *RadioCounts) since(earlier *RadioCounts) RadioCounts {
	d := *r
	d.AirtimeNs -= earlier.AirtimeNs
	d.TXOPs -= earlier.TXOPs
	d.PPDUs -= earlier.PPDUs
	d.BlockAckRequests -= earlier.BlockAckRequests
	d.Collisions -= earlier.Collisions
	d.Frames -= earlier.Frames
	d.Retries -= earlier.Retries
	d.GivenUp -= earlier.GivenUp
	d.FrameErrors -= earlier.FrameErrors
	d.DeliveredPackets -= earlier.DeliveredPackets
	d.DeliveredBytes -= earlier.DeliveredBytes
	for frames := range d.Sizes {
		d.Sizes[frames] -= earlier.Sizes[frames]
	}
	d.Backlog.PacketNs -= earlier.Backlog.PacketNs
	d.Sojourn = r.Sojourn.Since(&earlier.Sojourn)
	return d
}

func (q *QueueCounts) since(earlier *QueueCounts) QueueCounts {
	d := *q
	d.Pushed -= earlier.Pushed
	d.Popped -= earlier.Popped
	d.Dropped -= earlier.Dropped
	d.PoppedBytes -= earlier.PoppedBytes
	d.Marked -= earlier.Marked
	d.Length.PacketNs -= earlier.Length.PacketNs
	d.Lengths = q.Lengths.Since(&earlier.Lengths)
	d.Sojourn = q.Sojourn.Since(&earlier.Sojourn)
	return d
}

func (d Delivered) since(earlier Delivered) Delivered {
	return Delivered{d.Packets - earlier.Packets, d.PayloadBytes - earlier.PayloadBytes}
}

func pathSince(c, earlier path.Counters) path.Counters {
	return path.Counters{
		Pushed: c.Pushed - earlier.Pushed, Delivered: c.Delivered - earlier.Delivered, Lost: c.Lost - earlier.Lost,
		QueueDropped: c.QueueDropped - earlier.QueueDropped, Duplicated: c.Duplicated - earlier.Duplicated,
		Reordered: c.Reordered - earlier.Reordered,
	}
}

func portSince(c, earlier engine.PortCounts) engine.PortCounts {
	return engine.PortCounts{
		PacketsIn: c.PacketsIn - earlier.PacketsIn, BytesIn: c.BytesIn - earlier.BytesIn,
		PacketsOut: c.PacketsOut - earlier.PacketsOut, BytesOut: c.BytesOut - earlier.BytesOut,
		Unroutable: c.Unroutable - earlier.Unroutable, Malformed: c.Malformed - earlier.Malformed,
		Unresolved: c.Unresolved - earlier.Unresolved, WriteFailed: c.WriteFailed - earlier.WriteFailed,
		Holds: c.Holds - earlier.Holds, Refused: c.Refused - earlier.Refused,
		KernelDropped: c.KernelDropped - earlier.KernelDropped,
	}
}

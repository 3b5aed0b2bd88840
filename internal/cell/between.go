package cell

import "airtide/internal/cell/queue"

// Between returns the activity of a cell from one status to a later status of the same cell.
func Between(from, to *Status) *Window {
	d := to.since(from)
	seconds := float64(d.TimeNs) / 1e9
	w := &Window{
		FromNs: from.TimeNs, ToNs: to.TimeNs,
		AP: APWindow{
			Radio: d.AP.Radio.over(seconds), Queue: d.AP.Queue.over(seconds), Thinned: d.AP.Thinned,
			Lowered: d.AP.Lowered,
		},
		WireUp: d.WireUp.over(seconds), WireDown: d.WireDown.over(seconds),
	}
	for i := range d.Terminals {
		w.Terminals = append(w.Terminals, d.Terminals[i].over(seconds))
	}
	for _, f := range d.Flows {
		w.Flows = append(w.Flows, FlowWindow{
			Name: f.Name, ForwardMbps: mbps(f.Forward.PayloadBytes, seconds),
			ReverseMbps:    mbps(f.Reverse.PayloadBytes, seconds),
			ForwardPackets: f.Forward.Packets, ReversePackets: f.Reverse.Packets,
		})
	}
	return w
}

// ratio returns a / b, or 0 if b is not positive.
func ratio(a, b float64) float64 {
	if b <= 0 {
		return 0
	}
	return a / b
}

func mbps(bytes int64, seconds float64) float64 { return ratio(float64(bytes)*8e-6, seconds) }

func (t *TerminalStatus) over(seconds float64) TerminalWindow {
	w := TerminalWindow{
		Name: t.Name, Ethernet: t.Ethernet, PHYRateBps: t.PHYRateBps, Drops: t.Drops,
		SentMbps: mbps(int64(t.Port.BytesIn), seconds), ReceivedMbps: mbps(int64(t.Port.BytesOut), seconds),
		Up: t.Up.over(seconds), Down: t.Down.over(seconds), Queue: t.Queue.over(seconds),
		APQueue: t.APQueue.over(seconds),
		Lost:    t.PathUp.Lost + t.PathDown.Lost, Duplicated: t.PathUp.Duplicated + t.PathDown.Duplicated,
		Reordered: t.PathUp.Reordered + t.PathDown.Reordered, Refused: int64(t.Port.Refused),
		Holds: int64(t.Port.Holds),
	}
	w.AirtimePercent = w.Up.AirtimePercent + w.Down.AirtimePercent
	return w
}

func (r *RadioCounts) over(seconds float64) RadioWindow {
	return RadioWindow{
		AirtimePercent: 100 * ratio(float64(r.AirtimeNs)/1e9, seconds), TXOPs: r.TXOPs,
		CollisionsPercent: 100 * ratio(float64(r.Collisions), float64(r.PPDUs+r.BlockAckRequests)),
		RetriesPercent:    100 * ratio(float64(r.Retries), float64(r.Frames)),
		Retries:           r.Retries, FrameErrors: r.FrameErrors,
		AggregationFrames: ratio(float64(r.Frames), float64(r.PPDUs)), RateMbps: mbps(r.DeliveredBytes, seconds),
		AggregationMedian: r.Sizes.quantile(0.5), AggregationP95: r.Sizes.quantile(0.95),
		AggregationMax: r.Sizes.quantile(1),
		BacklogPackets: ratio(r.Backlog.PacketNs/1e9, seconds), Sojourn: sojourn(&r.Sojourn),
	}
}

func (q *QueueCounts) over(seconds float64) QueueWindow {
	return QueueWindow{
		MeanPackets: ratio(q.Length.PacketNs/1e9, seconds), EndPackets: q.Length.Now, Pushed: q.Pushed,
		Dropped: q.Dropped,
		// The middle of a bucket may be greater than the greatest length, so both are limited by
		// it.
		P95Packets: min(q.Lengths.Quantile(0.95), q.Length.Max), MaxPackets: min(q.Lengths.Max(), q.Length.Max),
		Marked: q.Marked, Sojourn: sojourn(&q.Sojourn),
	}
}

func (w *WireStatus) over(seconds float64) WireWindow {
	return WireWindow{RateBps: w.RateBps, RateMbps: mbps(w.Queue.PoppedBytes, seconds), Queue: w.Queue.over(seconds)}
}

func sojourn(h *queue.Histogram) Sojourn {
	ms := func(share float64) float64 { return float64(h.Quantile(share)) / 1e6 }
	return Sojourn{Count: h.Count(), MeanMs: h.Mean() / 1e6, MedianMs: ms(0.5), P95Ms: ms(0.95), P99Ms: ms(0.99)}
}

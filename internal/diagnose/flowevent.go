package diagnose

import (
	"airtide/internal/stats"
	"airtide/internal/tcp"
)

// event takes an event. It may come up to a second after samples that are younger.
func (f *flow) event(e *tcp.Event) {
	if f.places != nil {
		f.places.Event(e)
	}
	switch e.Kind {
	case tcp.EventOpen:
		if tcp.State(e.From) != tcp.State(e.To) {
			f.openNs = e.TimeNs
		}
		f.notice(int64(e.To))
	case tcp.EventState:
		f.notice(int64(e.From))
		f.notice(int64(e.To))
		if f.source == Captured { // in others a sample shows it
			f.last.state = int64(e.To)
			f.close(e.TimeNs)
		}
	case tcp.EventClose:
		f.notice(int64(e.From))
		f.reason = e.Reason
		if e.Reason != tcp.ReasonStillOpen {
			f.closedNs = e.TimeNs
		}
	case tcp.EventCCChange:
		f.cc = e.Text
	}
	if len(f.bins) == 0 {
		start := e.TimeNs
		if !f.Inherited && f.FirstNs > 0 {
			start = min(f.FirstNs, start)
		}
		f.bins = append(f.bins, bin{fromNs: start, toNs: start})
	}
	if e.Kind == tcp.EventRetransmit && e.Cause == tcp.CauseSYN {
		f.synRetrans++
	}
	f.count(f.at(e.TimeNs), e)
}

// notice notes a state of the connection.
func (f *flow) notice(state int64) {
	switch tcp.State(state) {
	case tcp.StateSynSent, tcp.StateSynRecv, tcp.StateNewSynRecv:
		f.opens = true
	case tcp.StateEstablished, tcp.StateFinWait1, tcp.StateFinWait2, tcp.StateTimeWait, tcp.StateCloseWait,
		tcp.StateLastAck, tcp.StateClosing:
		f.opened = true
	}
}

// at returns the bin of a time.
func (f *flow) at(ns int64) *bin {
	for i := len(f.bins) - 1; i > 0; i-- {
		if f.bins[i].fromNs <= ns {
			return &f.bins[i]
		}
	}
	return &f.bins[0]
}

// count counts an event in its bin.
func (f *flow) count(b *bin, e *tcp.Event) {
	switch e.Kind {
	case tcp.EventTimeout:
		b.timeouts++
		b.timeoutUs += max(0, e.Value)
		b.toNs = max(b.toNs, e.TimeNs)
	case tcp.EventLocalCongestion:
		b.localRefusals++
	case tcp.EventReordering:
		b.reorderings++
	case tcp.EventUndo:
		b.undos++
	case tcp.EventDsack:
		b.dsacks += int32(max(1, e.Value))
	case tcp.EventZeroWindow:
		b.zeroWindows++
	case tcp.EventLocalZeroWindow:
		shutNs := e.Value * 1000 // 0 unless of a capture
		if e.TimeNs-shutNs-f.shutToNs > int64(1e6) {
			b.ownZeroWindows++ // else it had not opened since the last event
		}
		f.shutToNs = e.TimeNs
		b.shutNs += shutNs
	case tcp.EventRetransmit:
		if f.last.mss > 0 && e.EndSeq-e.Seq >= f.last.mss {
			b.fullResent++
		}
		if e.Reason == tcp.ReasonDeviceRefused {
			b.localRefusals++
		}
	case tcp.EventTLPLoss:
		b.reductions++
	}
}

// reduction counts an entry into recovery, and the rank of its RTT among those since the last one.
func (f *flow) reduction(b *bin, s *sample) {
	if s.caState != int64(tcp.CARecovery) || f.last.caState == s.caState {
		return
	}
	b.reductions++
	f.reductions++
	if f.last.ssthresh != tcp.Absent && f.last.cwnd > 0 {
		cwnd := float64(f.last.cwnd)
		b.cutSum += cwnd
		b.cutSquares += cwnd * cwnd
		b.cuts++
	}
	if s.rtt > 0 {
		b.cutRttUs += float64(s.rtt)
		b.cutRtts++
	}
	if values := f.epoch.Values; len(values) >= leastRankValues && s.rtt > 0 {
		below := 0.0
		for _, v := range values {
			switch {
			case v < s.rtt:
				below++
			case v == s.rtt:
				below += 0.5
			}
		}
		b.rankSum += below / float64(len(values))
		b.ranks++
	}
	f.epoch = stats.Thinned[int64]{Values: f.epoch.Values[:0]}
}

package summary

import (
	"iter"
	"net/netip"

	"airtide/internal/tcp"
)

// Rates returns the goodputs of groups of flows, in Mbit/s, with the names that key returns, in the
// order of their first flow. A goodput is the bytes of the flows in both directions over the active
// time of the whole recording. If both ends of a connection were recorded, the sender's end counts;
// without active time the result is empty.
func (s *Summary) Rates(key func(*tcp.Flow) string) (names []string, mbps []float64) {
	activeS := s.activeS()
	if activeS == 0 {
		return nil, nil
	}
	place := map[string]int{}
	for flow := range s.counting() {
		name := key(&flow.Flow)
		at, ok := place[name]
		if !ok {
			at = len(names)
			place[name] = at
			names = append(names, name)
			mbps = append(mbps, 0)
		}
		for _, bytes := range []*int64{flow.acked.total(flow.Inherited), flow.received.total(flow.Inherited)} {
			if bytes != nil {
				mbps[at] += float64(*bytes) * 8e-6 / activeS
			}
		}
	}
	return names, mbps
}

// activeS is the time in seconds from the first opening or sample of a flow to the last sample.
func (s *Summary) activeS() float64 {
	var from, to int64
	for _, f := range s.order {
		if f.samples == 0 {
			continue
		}
		if begin := f.startNs(); from == 0 || begin < from {
			from = begin
		}
		to = max(to, f.lastSampleNs)
	}
	return max(0, seconds(to-from))
}

// counting are the flows with known bytes, one end of each connection.
func (s *Summary) counting() iter.Seq[*flow] {
	type ends struct{ from, to netip.AddrPort }
	acked := make(map[ends]int64, len(s.order))
	for _, f := range s.order {
		if n := f.acked.total(f.Inherited); n != nil {
			acked[ends{f.Local, f.Remote}] = *n
		}
	}
	return func(yield func(*flow) bool) {
		for _, f := range s.order {
			far, both := acked[ends{f.Remote, f.Local}]
			own := acked[ends{f.Local, f.Remote}]
			less := own < far || own == far && f.Remote.Compare(f.Local) < 0
			known := f.acked.total(f.Inherited) != nil || f.received.total(f.Inherited) != nil
			if known && !(both && less) && !yield(f) {
				return
			}
		}
	}
}

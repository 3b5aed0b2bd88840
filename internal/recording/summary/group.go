package summary

import (
	"iter"
	"net/netip"
)

// Rates returns the goodputs of groups of flows, in Mbit/s, with the names that key returns, in the
// order of their first flow. A goodput is the bytes of the flows in both directions over the active
// time of the whole recording. If both ends of a connection were recorded, the sender's end counts;
// without active time the result is empty.
func (l List) Rates(activeS float64, key func(*Flow) string) (names []string, mbps []float64) {
	if activeS == 0 {
		return nil, nil
	}
	place := map[string]int{}
	for flow := range l.counting() {
		name := key(flow)
		at, ok := place[name]
		if !ok {
			at = len(names)
			place[name] = at
			names = append(names, name)
			mbps = append(mbps, 0)
		}
		for _, bytes := range []*int64{flow.AckedBytes, flow.ReceivedBytes} {
			if bytes != nil {
				mbps[at] += float64(*bytes) * 8e-6 / activeS
			}
		}
	}
	return names, mbps
}

// counting are the flows with known bytes, one end of each connection.
func (l List) counting() iter.Seq[*Flow] {
	type ends struct{ from, to netip.AddrPort }
	acked := map[ends]int64{}
	for flow := range l.Each() {
		if n := flow.AckedBytes; n != nil {
			acked[ends{flow.Local, flow.Remote}] = *n
		}
	}
	return func(yield func(*Flow) bool) {
		for flow := range l.Each() {
			far, both := acked[ends{flow.Remote, flow.Local}]
			own := acked[ends{flow.Local, flow.Remote}]
			less := own < far || own == far && flow.Remote.Compare(flow.Local) < 0
			if flow.AckedBytes == nil && flow.ReceivedBytes == nil || both && less {
				continue
			}
			if !yield(flow) {
				return
			}
		}
	}
}

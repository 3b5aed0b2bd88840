package summary

import "net/netip"

// Rates returns the goodputs of groups of flows, in Mbit/s, with the names that key returns, in the
// order of their first flow. A goodput is the bytes of the flows in both directions over the active
// time of the whole recording. If both ends of a connection were recorded, the sender's end counts;
// without active time the result is empty.
func (r *Report) Rates(key func(*Flow) string) (names []string, mbps []float64) {
	if r.Totals.ActiveS == 0 {
		return nil, nil
	}
	place := map[string]int{}
	for _, flow := range counting(r.Flows) {
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
				mbps[at] += float64(*bytes) * 8e-6 / r.Totals.ActiveS
			}
		}
	}
	return names, mbps
}

// counting returns the flows with known bytes, one end of each connection.
func counting(flows []Flow) []*Flow {
	type ends struct{ from, to netip.AddrPort }
	acked := map[ends]int64{}
	for i := range flows {
		if n := flows[i].AckedBytes; n != nil {
			acked[ends{flows[i].Local, flows[i].Remote}] = *n
		}
	}
	var counting []*Flow
	for i := range flows {
		flow := &flows[i]
		far, both := acked[ends{flow.Remote, flow.Local}]
		own := acked[ends{flow.Local, flow.Remote}]
		less := own < far || own == far && flow.Remote.Compare(flow.Local) < 0
		if flow.AckedBytes == nil && flow.ReceivedBytes == nil || both && less {
			continue
		}
		counting = append(counting, flow)
	}
	return counting
}

package summary

import "net/netip"

// Rates are the goodputs, in Mbit/s, of those that a key names, in the order in which they come:
// the bytes of their flows in both directions over the active time of the whole recording. Of a
// connection of which both ends were recorded the sender's end counts. Nothing comes of a recording
// without active time.
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
			place[name], names, mbps = at, append(names, name), append(mbps, 0)
		}
		for _, bytes := range []*int64{flow.AckedBytes, flow.ReceivedBytes} {
			if bytes != nil {
				mbps[at] += float64(*bytes) * 8e-6 / r.Totals.ActiveS
			}
		}
	}
	return names, mbps
}

// counting are the flows that tell what they moved, one end of each connection.
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

package summary

import "airtide/internal/diagnose"

// totals adds up flows.
type totals struct {
	Totals
	all, senders windows
	counts       counts
	started      bool
}

// windows are the round-trip times, windows and congestion states of flows.
type windows struct {
	sketches
	caNs [numCAStates]int64
	caOK bool
}

func (w *windows) add(s *sketches, caNs []int64, caOK bool) {
	w.merge(s)
	w.caOK = w.caOK || caOK
	addArray(w.caNs[:], caNs)
}

func newTotals() *totals {
	return &totals{all: windows{sketches: newSketches()}, senders: windows{sketches: newSketches()}}
}

// add adds a flow with the sums of its line.
func (t *totals) add(f *flow, m *measures, line *Flow) {
	t.Flows++
	if f.closed {
		t.Closed++
	} else {
		t.Open++
	}
	if f.samples == 0 {
		t.Silent++
	}
	t.sum(&line.Figures)
	t.all.add(&m.sketches, m.caNs[:], m.caOK)
	if line.direction() == sender {
		t.Senders++
		t.senders.add(&m.sketches, m.caNs[:], m.caOK)
	}
	if f.extras != nil {
		t.counts.merge(&f.extras.counts)
	}
}

// merge adds the totals of other flows. The result is the same for flows in any parts.
func (t *totals) merge(o *totals) {
	if o.Flows == 0 {
		return
	}
	t.Flows += o.Flows
	t.Open += o.Open
	t.Closed += o.Closed
	t.Silent += o.Silent
	t.Senders += o.Senders
	t.sum(&o.Figures)
	t.all.add(&o.all.sketches, o.all.caNs[:], o.all.caOK)
	t.senders.add(&o.senders.sketches, o.senders.caNs[:], o.senders.caOK)
	t.counts.merge(&o.counts)
}

// sum adds the sums of a flow or of several.
func (t *totals) sum(g *Figures) {
	if !t.started || g.StartNs < t.StartNs {
		t.StartNs = g.StartNs
	}
	t.started = true
	t.EndNs = max(t.EndNs, g.EndNs)
	t.Samples += g.Samples
	t.Events += g.Events
	addTo(&t.AckedBytes, g.AckedBytes)
	addTo(&t.ReceivedBytes, g.ReceivedBytes)
	addTo(&t.DeliveredPackets, g.DeliveredPackets)
	addTo(&t.LostPackets, g.LostPackets)
	addTo(&t.Retransmissions.Packets, g.Retransmissions.Packets)
	addTo(&t.Retransmissions.Bytes, g.Retransmissions.Bytes)
	if g.Merged != nil {
		if t.Merged == nil {
			t.Merged = new(Merged)
		}
		t.Merged.Segments += g.Merged.Segments
		t.Merged.Samples += g.Merged.Samples
	}
	if g.MinRttUs != nil && (t.MinRttUs == nil || *g.MinRttUs < *t.MinRttUs) {
		t.MinRttUs = g.MinRttUs
	}
}

// losses adds the places where packets of the flows were lost. The order of the places depends on
// the order of the flows.
func (t *totals) losses(flows []*flow) {
	if len(flows) == 0 {
		return
	}
	sum := &diagnose.Losses{Here: []diagnose.Place{}}
	for _, f := range flows {
		if f.extras != nil {
			sum.Add(f.extras.places.Losses())
		}
	}
	t.Retransmissions.Losses = sum
}

func (t *totals) report(s *Summary) Totals {
	if s.drops {
		t.losses(s.order)
	}
	t.DurationS = seconds(t.EndNs - t.StartNs)
	t.ActiveS = s.activeS()
	t.setRates(s.up.Bps(), s.down.Bps())
	// A receiver and an idle control connection have windows, too, but they say nothing about the
	// transfer.
	of := &t.all
	if t.Senders > 0 {
		of = &t.senders
	}
	t.Rtt = distributionOf(&of.rtt)
	t.Srtt = spreadOf(&of.srtt)
	t.Cwnd = spreadOf(&of.cwnd)
	t.InFlight = spreadOf(&of.inFlight)
	t.CAStateShare = caStateShare(of.caNs, of.caOK)
	t.count(t.counts, &s.unseen)
	if s.loss != nil {
		t.Loss = &Loss{
			Records: s.loss.Total(), PerCPU: append([]uint64{}, s.loss.PerCPU...),
			OrphanRecords: s.loss.Orphans, MissedRecords: s.loss.Missed, Untracked: s.loss.Untracked,
			Unowned: s.loss.Unowned,
		}
		if s.loss.IPBytes > 0 {
			t.Loss.IPBytes = &s.loss.IPBytes
			t.Loss.UDP443Bytes = &s.loss.UDP443Bytes
		}
		if s.loss.SYNACKAgain > 0 {
			t.Loss.SYNACKAgain = &s.loss.SYNACKAgain
			t.Loss.SYNACKDone = &s.loss.SYNACKDone
		}
	}
	return t.Totals
}

// addTo adds a known value. A sum without known values stays unknown.
func addTo(sum **int64, v *int64) {
	if v == nil {
		return
	}
	if *sum == nil {
		*sum = new(int64)
	}
	**sum += *v
}

func addArray(sum, v []int64) {
	for i := range v {
		sum[i] += v[i]
	}
}

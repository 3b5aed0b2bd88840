package summary

import (
	"airtide/internal/diagnose"
	"airtide/internal/stats"
)

// totals adds up flows.
type totals struct {
	Totals
	all, senders windows
	counts       counts
	started      bool
}

// windows are the round-trip times, windows and congestion states of flows.
type windows struct {
	rtt, srtt, cwnd, inFlight stats.Sketch
	caNs                      [numCAStates]int64
	caOK                      bool
}

func newWindows() windows {
	return windows{
		rtt: stats.NewSketch(), srtt: stats.NewSketch(), cwnd: stats.NewSketch(), inFlight: stats.NewSketch(),
	}
}

func (w *windows) add(m *measures) {
	w.rtt.Merge(&m.rtt)
	w.srtt.Merge(&m.srtt)
	w.cwnd.Merge(&m.cwnd)
	w.inFlight.Merge(&m.inFlight)
	w.caOK = w.caOK || m.caOK
	addArray(w.caNs[:], m.caNs[:])
}

func newTotals() *totals { return &totals{all: newWindows(), senders: newWindows()} }

func (t *totals) add(f *flow, m *measures, line *Flow) {
	t.Flows++
	if f.closed {
		t.Closed++
	} else {
		t.Open++
	}
	if !t.started || line.StartNs < t.StartNs {
		t.StartNs = line.StartNs
	}
	t.started = true
	t.EndNs = max(t.EndNs, line.EndNs)
	t.Samples += line.Samples
	t.Events += line.Events
	if f.samples == 0 {
		t.Silent++
	}
	addTo(&t.AckedBytes, line.AckedBytes)
	addTo(&t.ReceivedBytes, line.ReceivedBytes)
	addTo(&t.DeliveredPackets, line.DeliveredPackets)
	addTo(&t.LostPackets, line.LostPackets)
	addTo(&t.Retransmissions.Packets, line.Retransmissions.Packets)
	addTo(&t.Retransmissions.Bytes, line.Retransmissions.Bytes)
	if l := line.Retransmissions.Losses; l != nil {
		if t.Retransmissions.Losses == nil {
			t.Retransmissions.Losses = &diagnose.Losses{Here: []diagnose.Place{}}
		}
		t.Retransmissions.Losses.Add(l)
	}
	if line.Merged != nil {
		if t.Merged == nil {
			t.Merged = new(Merged)
		}
		t.Merged.Segments += line.Merged.Segments
		t.Merged.Samples += line.Merged.Samples
	}
	if line.MinRttUs != nil && (t.MinRttUs == nil || *line.MinRttUs < *t.MinRttUs) {
		t.MinRttUs = line.MinRttUs
	}
	t.all.add(m)
	if line.role().Direction == "sender" {
		t.Senders++
		t.senders.add(m)
	}
	if f.extras != nil {
		addArray(t.counts.causes[:], f.extras.counts.causes[:])
		addArray(t.counts.codes[:], f.extras.counts.codes[:])
		addArray(t.counts.undone[:], f.extras.counts.undone[:])
	}
}

func (t *totals) report(s *Summary) Totals {
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

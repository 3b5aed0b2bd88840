package summary

import (
	"airtide/internal/stats"
)

// totals adds up flows.
type totals struct {
	Totals
	rtt, srtt, cwnd, inFlight stats.Sketch
	caNs                      [numCAStates]int64
	caOK                      bool
	counts                    counts
	started                   bool
	activeFrom, activeTo      int64
}

func newTotals() *totals {
	return &totals{
		rtt: stats.NewSketch(), srtt: stats.NewSketch(), cwnd: stats.NewSketch(), inFlight: stats.NewSketch(),
	}
}

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
	} else {
		if from := f.startNs(); t.activeFrom == 0 || from < t.activeFrom {
			t.activeFrom = from
		}
		t.activeTo = max(t.activeTo, f.lastSampleNs)
	}
	addTo(&t.AckedBytes, line.AckedBytes)
	addTo(&t.ReceivedBytes, line.ReceivedBytes)
	addTo(&t.DeliveredPackets, line.DeliveredPackets)
	addTo(&t.LostPackets, line.LostPackets)
	addTo(&t.Retransmissions.Packets, line.Retransmissions.Packets)
	addTo(&t.Retransmissions.Bytes, line.Retransmissions.Bytes)
	if line.MinRttUs != nil && (t.MinRttUs == nil || *line.MinRttUs < *t.MinRttUs) {
		t.MinRttUs = line.MinRttUs
	}
	t.rtt.Merge(&m.rtt)
	t.srtt.Merge(&m.srtt)
	t.cwnd.Merge(&m.cwnd)
	t.inFlight.Merge(&m.inFlight)
	t.caOK = t.caOK || f.caOK
	addArray(t.caNs[:], f.caNs[:])
	if f.counts != nil {
		addArray(t.counts.causes[:], f.counts.causes[:])
		addArray(t.counts.codes[:], f.counts.codes[:])
		addArray(t.counts.undone[:], f.counts.undone[:])
	}
}

func (t *totals) report(s *Summary) Totals {
	t.DurationS = seconds(t.EndNs - t.StartNs)
	t.ActiveS = max(0, seconds(t.activeTo-t.activeFrom))
	t.setRates(s.up, s.down)
	t.Rtt = distributionOf(&t.rtt)
	t.Srtt = spreadOf(&t.srtt)
	t.Cwnd = spreadOf(&t.cwnd)
	t.InFlight = spreadOf(&t.inFlight)
	t.CAStateShare = caStateShare(t.caNs, t.caOK)
	t.count(t.counts, &s.unseen)
	if s.loss != nil {
		t.Loss = &Loss{
			Records: s.loss.Total(), PerCPU: append([]uint64{}, s.loss.PerCPU...),
			OrphanRecords: s.loss.Orphans, MissedRecords: s.loss.Missed, Untracked: s.loss.Untracked,
			Unowned: s.loss.Unowned,
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

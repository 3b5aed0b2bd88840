package summary

import (
	"slices"

	"airtide/internal/stats"
	"airtide/internal/tcp"
)

// Totals returns the totals of the data so far, without flows. More data may follow.
func (s *Summary) Totals() Report { return s.report(func(r *Report) { r.Flows = r.Flows[:0] }) }

// Finish returns the totals, as Totals does, and frees memory: of the samples of each flow it keeps
// only the results. No more data may follow.
func (s *Summary) Finish() Report {
	s.finishing = true
	report := s.Totals()
	s.totals = &report.Totals
	return report
}

// First returns the totals, and of the flows only the first n in an order. It keeps not many
// more in memory.
func (s *Summary) First(n int, o Order) Report {
	compare := o.comparison()
	sorted := false
	report := s.report(func(r *Report) {
		last := len(r.Flows) - 1
		switch {
		case sorted && compare(&r.Flows[last], &r.Flows[n-1]) >= 0:
			r.Flows = r.Flows[:last] // equal flows stay in the order of their first sight
		case len(r.Flows) >= 2*n+minSorted:
			r.keep(n, o)
			sorted = true
		}
	})
	report.keep(n, o)
	return report
}

// Only returns the totals, and of the flows only one, if it exists.
func (s *Summary) Only(id tcp.FlowID) Report {
	return s.report(func(r *Report) {
		if last := len(r.Flows) - 1; r.Flows[last].ID != id {
			r.Flows = r.Flows[:last]
		}
	})
}

// minSorted is the number of flows that is worth sorting.
const minSorted = 1000

// keep keeps the first n flows in an order.
func (r *Report) keep(n int, o Order) {
	r.Sort(o)
	if len(r.Flows) > n {
		clear(r.Flows[n:])
		r.Flows = r.Flows[:n]
	}
}

// report makes a report. It calls added behind each flow.
func (s *Summary) report(added func(*Report)) Report {
	report := Report{Flows: []Flow{}}
	totals := newTotals()
	scratch := newMeasures()
	for _, f := range s.order {
		r := f.final
		var m *measures
		if r == nil {
			m = f.measures(scratch)
			r = m.results()
		}
		line := f.report(r, &s.unseen)
		if s.totals == nil {
			totals.add(f, m, &line)
		}
		if s.finishing {
			f.finish(r)
		}
		report.Flows = append(report.Flows, line)
		added(&report)
	}
	if s.totals != nil {
		report.Totals = *s.totals
	} else {
		report.Totals = totals.report(s)
	}
	return report
}

func (f *flow) report(of *results, unseen *[256]bool) Flow {
	line := Flow{
		Flow: f.Flow, CongestionControls: append([]string{}, f.ccNames...), Closed: f.closed, CloseReason: f.reason,
		Figures: Figures{
			StartNs: f.firstNs, EndNs: f.lastNs, DurationS: seconds(f.lastNs - f.firstNs),
			Samples: f.samples, Events: f.events,
			AckedBytes: f.acked.total(f.Inherited), ReceivedBytes: f.received.total(f.Inherited),
			Rtt: of.rtt, Srtt: of.srtt, Cwnd: of.cwnd, InFlight: of.inFlight,
			DeliveredPackets: f.delivered.total(f.Inherited), LostPackets: f.lost.total(f.Inherited),
			Retransmissions: Retransmissions{
				Packets: f.retransmits.total(f.Inherited), Bytes: f.retransmittedBytes.total(f.Inherited),
			},
			CAStateShare: caStateShare(f.caNs, f.caOK), Merged: f.merged,
		},
	}
	if f.samples > 0 {
		line.ActiveS = max(0, seconds(f.lastSampleNs-f.startNs()))
	}
	if f.minRtt != tcp.Absent {
		minRtt := f.minRtt
		line.MinRttUs = &minRtt
	}
	if f.places != nil {
		line.Retransmissions.Losses = f.places.Losses()
	}
	f.uncounted.complete(f, &line.Retransmissions)
	line.setRates(of.acked, of.received)
	line.count(f.ofCounts(), unseen)
	return line
}

func (g *Figures) setRates(upBps, downBps float64) {
	rate := func(bytes *int64) *float64 {
		if bytes == nil || g.ActiveS <= 0 {
			return nil
		}
		bps := float64(*bytes) * 8 / g.ActiveS
		return &bps
	}
	peak := func(bytes *int64, bps float64) *float64 {
		if bytes == nil || g.ActiveS < seconds(stats.PeakWindowNs) {
			return nil
		}
		return &bps
	}
	g.AckedRateBps = rate(g.AckedBytes)
	g.ReceiveRateBps = rate(g.ReceivedBytes)
	g.AckedPeakBps = peak(g.AckedBytes, upBps)
	g.ReceivePeakBps = peak(g.ReceivedBytes, downBps)
}

// codeKinds are the kinds of events with each error code (docs/papers.md).
var codeKinds = [tcp.NumErrorCodes][]tcp.EventKind{
	tcp.CodeReordering:      {tcp.EventReordering},
	tcp.CodeLocalCongestion: {tcp.EventLocalCongestion},
	tcp.CodeDupAck:          {tcp.EventDupAck, tcp.EventSack, tcp.EventDsack},
	tcp.CodeTimeout:         {tcp.EventTimeout},
}

// count fills in the counts from events, as far as the source can see them.
func (g *Figures) count(n counts, unseen *[256]bool) {
	code := func(c tcp.ErrorCode) *int64 {
		if !slices.ContainsFunc(codeKinds[c], func(k tcp.EventKind) bool { return !unseen[k] }) {
			return nil
		}
		return &n.codes[c]
	}
	g.Errors = Errors{
		code(tcp.CodeReordering), code(tcp.CodeLocalCongestion), code(tcp.CodeDupAck), code(tcp.CodeTimeout),
	}
	if !unseen[tcp.EventRetransmit] {
		c := &Causes{
			Fast: n.causes[tcp.CauseFast], RTO: n.causes[tcp.CauseRTO], RTORecovery: n.causes[tcp.CauseRTORecovery],
			TLP: n.causes[tcp.CauseTLP], RACKTimer: n.causes[tcp.CauseRACKTimer], SYN: n.causes[tcp.CauseSYN],
			Other: n.causes[tcp.CauseOther] + n.causes[tcp.CauseNone],
		}
		told := int64(0)
		for _, of := range n.causes {
			told += of
		}
		if g.Retransmissions.Packets != nil {
			c.WithoutEvent = max(0, *g.Retransmissions.Packets-told)
		}
		g.Retransmissions.Causes = c
	}
	if !unseen[tcp.EventUndo] {
		g.Undone = &Undone{Timestamp: n.undone[0], Dsack: n.undone[1]}
	}
	if sent, delivered := g.Retransmissions.Packets, g.DeliveredPackets; sent != nil && delivered != nil &&
		*delivered > 0 {
		pct := 100 * float64(*sent) / float64(*delivered)
		g.Retransmissions.DeliveredPct = &pct
	}
}

func caStateShare(ns [numCAStates]int64, ok bool) *CAStateShare {
	var sum int64
	for _, n := range ns {
		sum += n
	}
	if !ok || sum == 0 {
		return nil
	}
	share := func(s tcp.CAState) float64 { return float64(ns[s]) / float64(sum) }
	return &CAStateShare{
		share(tcp.CAOpen), share(tcp.CADisorder), share(tcp.CACWR), share(tcp.CARecovery), share(tcp.CALoss),
	}
}

func seconds(ns int64) float64 { return float64(ns) / 1e9 }

package summary

import (
	"slices"

	"airtide/internal/stats"
	"airtide/internal/tcp"
)

// Report returns the summary of the data so far. More data may follow.
func (s *Summary) Report() Report {
	report := Report{Flows: make([]Flow, 0, len(s.order))}
	totals := newTotals()
	for _, f := range s.order {
		line := f.report(&s.unseen)
		report.Flows = append(report.Flows, line)
		totals.add(f, &line)
	}
	report.Totals = totals.report(s)
	return report
}

func (f *flow) report(unseen *[256]bool) Flow {
	line := Flow{
		Flow: f.Flow, CongestionControls: append([]string{}, f.ccNames...), Closed: f.closed, CloseReason: f.reason,
		Figures: Figures{
			StartNs: f.firstNs, EndNs: f.lastNs, DurationS: seconds(f.lastNs - f.firstNs),
			Samples: f.samples, Events: f.events,
			AckedBytes: f.acked.total(f.Inherited), ReceivedBytes: f.received.total(f.Inherited),
			Rtt: distributionOf(&f.rtt), Srtt: spreadOf(&f.srtt),
			Cwnd: spreadOf(&f.cwnd), InFlight: spreadOf(&f.inFlight),
			DeliveredPackets: f.delivered.total(f.Inherited), LostPackets: f.lost.total(f.Inherited),
			Retransmissions: Retransmissions{
				Packets: f.retransmits.total(f.Inherited), Bytes: f.retransmittedBytes.total(f.Inherited),
			},
			CAStateShare: caStateShare(f.caNs, f.caOK),
		},
	}
	if f.samples > 0 {
		line.ActiveS = max(0, seconds(f.lastSampleNs-f.startNs()))
	}
	if f.minRtt != tcp.Absent {
		minRtt := f.minRtt
		line.MinRttUs = &minRtt
	}
	line.setRates(f.acked.rate, f.received.rate)
	line.count(&f.causes, &f.codes, &f.undone, unseen)
	return line
}

func (g *Figures) setRates(up, down *stats.PeakRate) {
	rate := func(bytes *int64) *float64 {
		if bytes == nil || g.ActiveS <= 0 {
			return nil
		}
		bps := float64(*bytes) * 8 / g.ActiveS
		return &bps
	}
	peak := func(bytes *int64, m *stats.PeakRate) *float64 {
		if bytes == nil || g.ActiveS < seconds(stats.PeakWindowNs) {
			return nil
		}
		bps := m.Bps()
		return &bps
	}
	g.AckedRateBps = rate(g.AckedBytes)
	g.ReceiveRateBps = rate(g.ReceivedBytes)
	g.AckedPeakBps = peak(g.AckedBytes, up)
	g.ReceivePeakBps = peak(g.ReceivedBytes, down)
}

// codeKinds are the kinds of events with each error code (docs/papers.md).
var codeKinds = [tcp.NumErrorCodes][]tcp.EventKind{
	tcp.CodeReordering:      {tcp.EventReordering},
	tcp.CodeLocalCongestion: {tcp.EventLocalCongestion},
	tcp.CodeDupAck:          {tcp.EventDupAck, tcp.EventSack, tcp.EventDsack},
	tcp.CodeTimeout:         {tcp.EventTimeout},
}

// count fills in the counts from events, as far as the source can see them.
func (g *Figures) count(
	causes *[numCauses]int64, codes *[tcp.NumErrorCodes]int64, undone *[2]int64, unseen *[256]bool,
) {
	code := func(c tcp.ErrorCode) *int64 {
		if !slices.ContainsFunc(codeKinds[c], func(k tcp.EventKind) bool { return !unseen[k] }) {
			return nil
		}
		n := codes[c]
		return &n
	}
	g.Errors = Errors{
		code(tcp.CodeReordering), code(tcp.CodeLocalCongestion), code(tcp.CodeDupAck), code(tcp.CodeTimeout),
	}
	if !unseen[tcp.EventRetransmit] {
		g.Retransmissions.Causes = &Causes{
			Fast: causes[tcp.CauseFast], RTO: causes[tcp.CauseRTO], RTORecovery: causes[tcp.CauseRTORecovery],
			TLP: causes[tcp.CauseTLP], Reordering: causes[tcp.CauseReordering], SYN: causes[tcp.CauseSYN],
			Other: causes[tcp.CauseOther] + causes[tcp.CauseNone],
		}
	}
	if !unseen[tcp.EventUndo] {
		g.Undone = &Undone{Timestamp: undone[0], Dsack: undone[1]}
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

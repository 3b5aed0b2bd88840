package summary

import (
	"runtime"
	"slices"
	"sync"

	"airtide/internal/diagnose"
	"airtide/internal/stats"
	"airtide/internal/tcp"
)

// Choice chooses the flows of a report. The zero value chooses none.
type Choice struct {
	// Only is a single flow, which need not exist; nil without.
	Only *tcp.FlowID
	// First is the number of the first flows in an order.
	First int
	Order Order
}

// Finish returns the totals and the chosen flows, and frees memory: of the samples of each flow it
// keeps only the results. No more data may follow.
func (s *Summary) Finish(c Choice) Report { return s.report(c, (*flow).finish) }

// needs returns what the flows are chosen by.
func (c Choice) needs() sortedBy {
	if c.First == 0 {
		return sortedBySums
	}
	return c.Order.needs()
}

// limit returns a function that reports whether a further flow of a report may be chosen. Not many
// more than the chosen ones are in memory.
func (c Choice) limit() func(*Report, *Flow) bool {
	compare := c.Order.comparison()
	sorted := false
	return func(r *Report, f *Flow) bool {
		if c.Only != nil {
			return f.ID == *c.Only
		}
		if len(r.Flows) >= 2*c.First+minSorted {
			r.keep(c.First, c.Order)
			sorted = true
		}
		// Equal flows stay in the order of their first sight.
		return c.First > 0 && !(sorted && compare(f, &r.Flows[c.First-1]) >= 0)
	}
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

// report makes a report of the chosen flows. It calls done with the measures of each flow.
func (s *Summary) report(c Choice, done func(*flow, *measures)) Report {
	// Each processor takes a part of the flows.
	length := len(s.order)/runtime.GOMAXPROCS(0) + 1
	var parts []*part
	var running sync.WaitGroup
	for flows := range slices.Chunk(s.order, length) {
		p := &part{totals: newTotals()}
		parts = append(parts, p)
		running.Go(func() { p.add(s, flows, c, done) })
	}
	running.Wait()
	report := Report{Flows: []Flow{}}
	totals := newTotals()
	for _, p := range parts {
		totals.merge(p.totals)
		report.Flows = append(report.Flows, p.Flows...)
	}
	if c.First > 0 {
		report.keep(c.First, c.Order)
	}
	report.Totals = totals.report(s)
	return report
}

// part is the report of a part of the flows.
type part struct {
	Report
	totals *totals
}

func (p *part) add(s *Summary, flows []*flow, c Choice, done func(*flow, *measures)) {
	mayChoose := c.limit()
	scratch := newMeasures()
	numbers := new(results)
	needs := c.needs()
	var line Flow
	for _, f := range flows {
		m := f.measures(scratch)
		numbers.sums = m.sums
		line = s.sums(f, numbers)
		p.totals.add(f, m, &line)
		// The rest takes time, and most flows are not chosen.
		switch needs {
		case sortedBySums:
		case sortedByFigures:
			line = s.line(f, numbers)
		case sortedByQuantiles:
			line = s.line(f, m.results())
		}
		if mayChoose(&p.Report, &line) {
			if needs != sortedByQuantiles {
				line = s.line(f, m.results())
			}
			p.Flows = append(p.Flows, line)
		}
		done(f, m)
	}
}

// sums makes the part of a flow's line that totals need.
func (s *Summary) sums(f *flow, of *results) Flow {
	line := Flow{
		Flow: f.Flow, Closed: f.closed, CloseReason: f.reason,
		Figures: Figures{
			StartNs: f.firstNs, EndNs: f.lastNs, DurationS: seconds(f.lastNs - f.firstNs),
			Samples: f.samples, Events: f.events,
			AckedBytes: f.acked.total(f.Inherited), ReceivedBytes: f.received.total(f.Inherited),
			Rtt: of.rtt, Srtt: of.srtt, Cwnd: of.cwnd, InFlight: of.inFlight,
			DeliveredPackets: of.delivered.total(f.Inherited), LostPackets: of.lost.total(f.Inherited),
			Retransmissions: Retransmissions{
				Packets: of.retransmits.total(f.Inherited), Bytes: of.retransmittedBytes.total(f.Inherited),
			},
		},
	}
	if minRtt := of.minRtt; minRtt != tcp.Absent {
		line.MinRttUs = &minRtt
	}
	if merged := of.merged; merged.Samples > 0 {
		line.Merged = &merged
	}
	if f.extras != nil {
		f.extras.uncounted.complete(f, &line.Retransmissions)
	}
	return line
}

// line makes the line of a flow from its results.
func (s *Summary) line(f *flow, of *results) Flow {
	line := s.sums(f, of)
	line.CongestionControls = append([]string{}, f.controls()...)
	line.CAStateShare = caStateShare(of.caNs, of.caOK)
	if f.samples > 0 {
		line.ActiveS = max(0, seconds(f.lastSampleNs-f.startNs()))
	}
	if s.drops {
		line.Retransmissions.Losses = &diagnose.Losses{Here: []diagnose.Place{}}
	}
	var counted counts
	if extra := f.extras; extra != nil {
		if s.drops {
			line.Retransmissions.Losses = extra.places.Losses()
		}
		counted = extra.counts
	}
	line.setRates(of.acked, of.received)
	line.count(counted, &s.unseen)
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

package summary

import (
	"bufio"
	"fmt"
	"io"
	"strings"

	"airtide/internal/diagnose"
	"airtide/internal/tcp"
	"airtide/internal/units"
)

// write writes the totals.
func (t *Totals) write(out io.Writer, o TextOptions) {
	field := func(name, value string) { o.field(out, name, value) }
	if t.Flows == 0 {
		field("flows", "none: nothing was observed")
	} else {
		senders := ""
		if t.Senders > 0 && t.Senders < t.Flows {
			senders = "; rtt to ca_state of " + units.Count(t.Senders, "sender")
		}
		field("flows", fmt.Sprintf("%d (%d open, %d closed%s), %s, %s, %s", t.Flows, t.Open, t.Closed, senders,
			durationText(t.DurationS), units.Count(t.Samples, "sample"), units.Count(t.Events, "event")))
		t.Figures.write(out, o)
	}
	const lost = "lost records"
	switch l := t.Loss; {
	case l == nil:
		field(lost, absent)
	case l.Records == 0 && l.Untracked == 0:
		field(lost, "none")
	default:
		field(lost, o.red(fmt.Sprintf("%d (per CPU %s; %d of flows that are not known, %d never made), %s not followed",
			l.Records, perCPU(l.PerCPU), l.OrphanRecords, l.MissedRecords, units.Count(l.Untracked, "flow"))))
	}
	if t.Loss != nil && t.Loss.IPBytes != nil {
		field("not seen", fmt.Sprintf("UDP port 443, mostly QUIC: %sB, %s of all bytes of this host",
			metric(float64(*t.Loss.UDP443Bytes)),
			units.Percent(float64(*t.Loss.UDP443Bytes)/float64(*t.Loss.IPBytes))))
	}
	if t.Loss != nil && t.Loss.SYNACKAgain != nil {
		field("handshakes", fmt.Sprintf("the SYN-ACK was sent again for %s, of which %d opened",
			units.Count(*t.Loss.SYNACKAgain, "handshake"), *t.Loss.SYNACKDone))
	}
	if t.Loss != nil && t.Loss.Unowned > 0 {
		field("left out", units.Count(t.Loss.Unowned, "flow")+
			" (filter by process): the owner was unknown until the end")
	}
}

// field writes the line of a named value.
func (o TextOptions) field(out io.Writer, name, value string) {
	fmt.Fprintf(out, "%s %s\n", o.bold(fmt.Sprintf("%-14s", name)), value)
}

// perCPU names the processors that lost records.
func perCPU(lost []uint64) string {
	var texts []string
	for cpu, n := range lost {
		if n > 0 {
			texts = append(texts, fmt.Sprintf("%d: %d", cpu, n))
		}
	}
	if len(texts) == 0 {
		return "none"
	}
	return strings.Join(texts, ", ")
}

// WriteFlow writes everything about one flow.
func (r *Report) WriteFlow(w io.Writer, id tcp.FlowID, o TextOptions) error {
	f, found := r.Flow(id)
	if !found {
		return fmt.Errorf("no flow %d: %s", id, r.choice())
	}
	out := bufio.NewWriter(w)
	fmt.Fprintf(out, "%s  %s > %s\n", o.bold(fmt.Sprintf("flow %d", f.ID)), tcp.Endpoint(f.Local),
		tcp.Endpoint(f.Remote))
	field := func(name, value string) { o.field(out, name, value) }
	field("process", f.process())
	field("cgroup", orAbsent(units.Printable(f.CgroupPath)))
	netns := absent
	if f.NetNS != 0 {
		netns = fmt.Sprint(f.NetNS)
	}
	field("netns", netns)
	field("congestion", f.controls())
	opened := "seen from its opening"
	if f.Inherited {
		opened = "was open before"
	}
	field("life", fmt.Sprintf("%s, %s; end: %s", durationText(f.DurationS), opened, f.CloseReason))
	field("records", units.Count(f.Samples, "sample")+", "+units.Count(f.Events, "event"))
	f.Figures.write(out, o)
	return out.Flush()
}

// choice describes the chosen flows.
func (r *Report) choice() string {
	if len(r.Flows) == 0 {
		return "the recording has none"
	}
	low := r.Flows[0].ID
	high := r.Flows[0].ID
	for i := range r.Flows {
		low = min(low, r.Flows[i].ID)
		high = max(high, r.Flows[i].ID)
	}
	return fmt.Sprintf("choose one from %d to %d", low, high)
}

func orAbsent(s string) string {
	if s == "" {
		return absent
	}
	return s
}

// write writes the lines that flows and totals share, one for each subject.
func (g *Figures) write(out io.Writer, o TextOptions) {
	field := func(name, value string) { o.field(out, name, value) }
	direction := func(name string, bytes *int64, rate, peak *float64) {
		if bytes == nil {
			field(name, absent)
			return
		}
		text := fmt.Sprintf("%s bytes, %s bit/s over %s", bytesText(bytes), rateText(rate), durationText(g.ActiveS))
		if peak != nil {
			text += fmt.Sprintf(", peak %s bit/s", rateText(peak))
		}
		field(name, text)
	}
	direction("acked", g.AckedBytes, g.AckedRateBps, g.AckedPeakBps)
	direction("received", g.ReceivedBytes, g.ReceiveRateBps, g.ReceivePeakBps)
	field("rtt", show(g.Rtt, func(d Distribution) string {
		return fmt.Sprintf("min %s, median %s, p95 %s, p99 %s, max %s ms",
			milliseconds(d.Min), milliseconds(d.Median), milliseconds(d.P95), milliseconds(d.P99), milliseconds(d.Max))
	}))
	field("srtt", show(g.Srtt, func(s Spread) string {
		return fmt.Sprintf("min %s, median %s, max %s ms; kernel's minimum %s", milliseconds(s.Min),
			milliseconds(s.Median), milliseconds(s.Max), show(g.MinRttUs, milliseconds))
	}))
	packets := func(s Spread) string { return fmt.Sprintf("min %d, median %d, max %d packets", s.Min, s.Median, s.Max) }
	field("cwnd", show(g.Cwnd, packets))
	field("in flight", show(g.InFlight, packets))
	again := g.Retransmissions
	field("retransmitted", fmt.Sprintf("%s packets, %s bytes, %s of %s delivered; %s marked lost", count(again.Packets),
		bytesText(again.Bytes), show(again.DeliveredPct, func(p float64) string { return units.Percent(p / 100) }),
		count(g.DeliveredPackets), count(g.LostPackets)))
	field("  by cause", show(again.Causes, Causes.text))
	if again.Losses != nil {
		field("  by place", again.Losses.String())
	}
	e := g.Errors
	field("errors", fmt.Sprintf("reordering %s, local congestion %s, duplicate ACK/SACK %s, timeout %s",
		count(e.Reordering), count(e.LocalCongestion), count(e.DupAck), count(e.Timeout)))
	field("undone", show(g.Undone, func(u Undone) string {
		return fmt.Sprintf("%d by time stamp or F-RTO, %d by DSACK", u.Timestamp, u.Dsack)
	}))
	field("ca_state", sharesText(g.CAStateShare.list()))
	if g.Merged != nil {
		field("merged", fmt.Sprintf("%s arrived as %d, joined before TCP saw them or never split",
			units.Count(g.Merged.Segments, "segment"), g.Merged.Samples))
	}
	field("limited by", diagnose.SharesText(g.Limits, len(g.Limits)))
}

// text lists the causes that occurred.
func (c Causes) text() string {
	var texts []string
	for _, cause := range []struct {
		name string
		n    int64
	}{
		{tcp.CauseFast.Title(), c.Fast},
		{tcp.CauseRTO.Title(), c.RTO},
		{tcp.CauseRTORecovery.Title(), c.RTORecovery},
		{tcp.CauseTLP.Title(), c.TLP},
		{tcp.CauseRACKTimer.Title(), c.RACKTimer},
		{tcp.CauseSYN.Title(), c.SYN},
		{tcp.CauseOther.Title(), c.Other},
		{"without an event", c.WithoutEvent},
	} {
		if cause.n > 0 {
			texts = append(texts, fmt.Sprintf("%s %d", cause.name, cause.n))
		}
	}
	if len(texts) == 0 {
		return "none"
	}
	return strings.Join(texts, ", ")
}

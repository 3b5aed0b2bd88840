package summary

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"airtide/internal/diagnose"
	"airtide/internal/tcp"
	"airtide/internal/units"
)

// TopFlows is the number of flows in the table.
const TopFlows = 20

// TextOptions configure the text of a report.
type TextOptions struct {
	Colour bool
}

// Column is a column of the table of flows.
type Column struct {
	Title string
	Left  bool // aligned
	// Rank orders the removal of columns if space is short: the highest goes first, and 0 stays.
	Rank int
	// Least is the width to which cells may be cut; 0 if they may not.
	Least int
	// Endpoint cells are an address and a port, of which only the address may be cut.
	Endpoint bool
	Cell     func(*Flow) string
}

// Columns are the columns of the table of flows. Process, rates and limit answer the question for
// which people read it, so they stay when space is short.
func Columns() []Column {
	return []Column{
		{Title: "FLOW", Cell: func(f *Flow) string { return fmt.Sprint(f.ID) }},
		{Title: "PROCESS", Left: true, Rank: 3, Least: 8, Cell: (*Flow).process},
		{
			Title: "LOCAL", Left: true, Rank: 6, Least: leastEndpoint, Endpoint: true,
			Cell: func(f *Flow) string { return tcp.Endpoint(f.Local) },
		},
		{
			Title: "REMOTE", Left: true, Rank: 2, Least: leastEndpoint, Endpoint: true,
			Cell: func(f *Flow) string { return tcp.Endpoint(f.Remote) },
		},
		{Title: "CC", Left: true, Rank: 9, Cell: (*Flow).controls},
		{Title: "TIME", Rank: 10, Cell: func(f *Flow) string { return durationText(f.DurationS) }},
		{Title: "ACKED B", Rank: 11, Cell: func(f *Flow) string { return bytesText(f.AckedBytes) }},
		{Title: "RECV B", Rank: 12, Cell: func(f *Flow) string { return bytesText(f.ReceivedBytes) }},
		{Title: "ACKED bit/s", Rank: 4, Cell: func(f *Flow) string { return rateText(f.AckedRateBps) }},
		{Title: "RECV bit/s", Rank: 7, Cell: func(f *Flow) string { return rateText(f.ReceiveRateBps) }},
		{Title: "RTT ms", Rank: 5, Cell: (*Flow).medianRtt},
		{Title: "p99", Rank: 13, Cell: func(f *Flow) string {
			return show(f.Rtt, func(d Distribution) string { return milliseconds(d.P99) })
		}},
		{Title: "CWND", Rank: 8, Cell: func(f *Flow) string {
			return show(f.Cwnd, func(s Spread) string { return fmt.Sprint(s.Median) })
		}},
		{Title: "RETRANS", Rank: 1, Cell: func(f *Flow) string { return f.Retransmissions.text() }},
		{Title: "REORD", Rank: 14, Cell: func(f *Flow) string { return count(f.Errors.Reordering) }},
		{Title: "LCONG", Rank: 14, Cell: func(f *Flow) string { return count(f.Errors.LocalCongestion) }},
		{Title: "DUPACK", Rank: 14, Cell: func(f *Flow) string { return count(f.Errors.DupAck) }},
		{Title: "RTO", Rank: 14, Cell: func(f *Flow) string { return count(f.Errors.Timeout) }},
		{Title: "LIMITED BY", Left: true, Cell: func(f *Flow) string { return diagnose.SharesText(f.Limits, 1) }},
		{Title: "END", Left: true, Rank: 15, Cell: func(f *Flow) string { return f.CloseReason.String() }},
	}
}

// leastEndpoint is the width of a part of an address, and a port.
const leastEndpoint = 11

// WriteTotals writes the totals of all flows.
func (r *Report) WriteTotals(w io.Writer, o TextOptions) error {
	out := bufio.NewWriter(w)
	r.Totals.write(out, o)
	for i := range r.Radios {
		o.field(out, "radio", r.Radios[i].String())
	}
	return out.Flush()
}

// First returns the flows of the table, the first ones in an order, and a remark about the others.
func (r *Report) First(order Order) (flows []*Flow, others string) {
	if order.Key == "" {
		order = OrderByBytes
	}
	sorted := Report{Flows: slices.Clone(r.Flows)}
	sorted.Sort(order)
	flows = sorted.top(TopFlows)
	if more := r.Totals.Flows - TopFlows; more > 0 {
		others = "and " + units.Count(more, "more flow")
		if order == OrderByBytes {
			others += " with fewer bytes"
		}
		others += "; --flow N shows any one, --json all"
	}
	return flows, others
}

// top returns the first n flows.
func (r *Report) top(n int) []*Flow {
	flows := make([]*Flow, min(n, len(r.Flows)))
	for i := range flows {
		flows[i] = &r.Flows[i]
	}
	return flows
}

func (f *Flow) bytes() int64 {
	var sum int64
	for _, n := range []*int64{f.AckedBytes, f.ReceivedBytes} {
		if n != nil {
			sum += *n
		}
	}
	return sum
}

func (f *Flow) process() string {
	switch {
	case f.PID == 0 && f.Comm == "":
		return absent
	case f.PID == 0:
		return units.Printable(f.Comm)
	}
	return fmt.Sprintf("%s %d", units.Printable(f.Comm), f.PID)
}

func (f *Flow) controls() string {
	if len(f.CongestionControls) == 0 {
		return absent
	}
	return units.Printable(strings.Join(f.CongestionControls, ">"))
}

// medianRtt returns the median of the samples. If the source has no single round-trip times, it
// uses the smoothed ones and marks them by ~.
func (f *Flow) medianRtt() string {
	if f.Rtt == nil && f.Srtt != nil {
		return "~" + milliseconds(f.Srtt.Median)
	}
	return show(f.Rtt, func(d Distribution) string { return milliseconds(d.Median) })
}

func (o TextOptions) bold(s string) string { return o.paint("1", s) }

func (o TextOptions) red(s string) string { return o.paint("31", s) }

func (o TextOptions) paint(code, s string) string {
	if !o.Colour {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

package summary

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"airtide/internal/diagnose"
	"airtide/internal/tcp"
	"airtide/internal/units"
)

// TopFlows is the number of flows in the table.
const TopFlows = 20

// TextOptions configure the text of a report.
type TextOptions struct {
	// Width is the width of the terminal in columns; 0 means no limit. Columns of the table that do
	// not fit are left out.
	Width  int
	Colour bool
	// Order chooses the flows of the table: the first ones in this order.
	Order Order
}

// column is a column of the table.
type column struct {
	title string
	left  bool // aligned
	// rank orders the removal of columns if space is short: the highest goes first, and 0 stays.
	rank int
	cell func(*Flow) string
}

var tableColumns = []column{
	{"FLOW", false, 0, func(f *Flow) string { return fmt.Sprint(f.ID) }},
	{"PROCESS", true, 4, func(f *Flow) string { return f.process() }},
	{"LOCAL", true, 0, func(f *Flow) string { return tcp.Endpoint(f.Local) }},
	{"REMOTE", true, 0, func(f *Flow) string { return tcp.Endpoint(f.Remote) }},
	{"CC", true, 5, func(f *Flow) string { return f.controls() }},
	{"TIME", false, 6, func(f *Flow) string { return durationText(f.DurationS) }},
	{"ACKED B", false, 0, func(f *Flow) string { return bytesText(f.AckedBytes) }},
	{"RECV B", false, 2, func(f *Flow) string { return bytesText(f.ReceivedBytes) }},
	{"ACKED bit/s", false, 0, func(f *Flow) string { return rateText(f.AckedRateBps) }},
	{"RECV bit/s", false, 1, func(f *Flow) string { return rateText(f.ReceiveRateBps) }},
	{"RTT ms", false, 0, func(f *Flow) string { return f.medianRtt() }},
	{
		"p99", false, 7,
		func(f *Flow) string { return show(f.Rtt, func(d Distribution) string { return milliseconds(d.P99) }) },
	},
	{
		"CWND", false, 3,
		func(f *Flow) string { return show(f.Cwnd, func(s Spread) string { return fmt.Sprint(s.Median) }) },
	},
	{"RETRANS", false, 0, func(f *Flow) string { return f.Retransmissions.text() }},
	{"REORD", false, 4, func(f *Flow) string { return count(f.Errors.Reordering) }},
	{"LCONG", false, 4, func(f *Flow) string { return count(f.Errors.LocalCongestion) }},
	{"DUPACK", false, 4, func(f *Flow) string { return count(f.Errors.DupAck) }},
	{"RTO", false, 2, func(f *Flow) string { return count(f.Errors.Timeout) }},
	{"LIMITED BY", true, 8, func(f *Flow) string { return diagnose.SharesText(f.Limits, 1) }},
	{"END", true, 9, func(f *Flow) string { return f.CloseReason.String() }},
}

// WriteText writes the totals and a table of the first flows in the order, usually those with the
// most bytes.
func (r *Report) WriteText(w io.Writer, o TextOptions) error {
	out := bufio.NewWriter(w)
	r.Totals.write(out, o)
	sorted := Report{Flows: slices.Clone(r.Flows)}
	if o.Order.Key == "" {
		o.Order = OrderByBytes
	}
	sorted.Sort(o.Order)
	if len(sorted.Flows) > 0 {
		fmt.Fprintln(out)
		writeTable(out, sorted.top(TopFlows), o)
	}
	if more := r.Totals.Flows - TopFlows; more > 0 {
		which := "more flows"
		if o.Order == OrderByBytes {
			which += " with fewer bytes"
		}
		fmt.Fprintf(out, "and %d %s; --flow N shows any one, --json all\n", more, which)
	}
	return out.Flush()
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

// writeTable writes as many aligned columns as fit.
func writeTable(out io.Writer, flows []*Flow, o TextOptions) {
	type filled struct {
		column
		cells []string
		width int
	}
	var table []filled
	for _, c := range tableColumns {
		f := filled{column: c, width: utf8.RuneCountInString(c.title)}
		for _, flow := range flows {
			cell := c.cell(flow)
			f.cells = append(f.cells, cell)
			f.width = max(f.width, utf8.RuneCountInString(cell))
		}
		table = append(table, f)
	}
	const gap = 2
	for o.Width > 0 {
		width, victim := -gap, 0
		for i, c := range table {
			width += c.width + gap
			if c.rank > table[victim].rank {
				victim = i
			}
		}
		if width <= o.Width || table[victim].rank == 0 {
			break
		}
		table = slices.Delete(table, victim, victim+1)
	}
	line := func(cell func(filled) string) string {
		texts := make([]string, len(table))
		for i, c := range table {
			text := cell(c)
			pad := strings.Repeat(" ", c.width-utf8.RuneCountInString(text))
			if c.left {
				texts[i] = text + pad
			} else {
				texts[i] = pad + text
			}
		}
		return strings.TrimRight(strings.Join(texts, strings.Repeat(" ", gap)), " ")
	}
	fmt.Fprintln(out, o.bold(line(func(c filled) string { return c.title })))
	for i := range flows {
		fmt.Fprintln(out, line(func(c filled) string { return c.cells[i] }))
	}
}

func (o TextOptions) bold(s string) string { return o.paint("1", s) }

func (o TextOptions) red(s string) string { return o.paint("31", s) }

func (o TextOptions) paint(code, s string) string {
	if !o.Colour {
		return s
	}
	return "\x1b[" + code + "m" + s + "\x1b[0m"
}

package summary

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"airtide/internal/tcp"
)

// Order is the order of the flows of a report. Numbers descend and texts ascend; Reverse inverts
// both. Flows without the value come last, and equal flows stay in the order of their first sight.
type Order struct {
	Key     string // one of SortKeys
	Reverse bool
}

// OrderByBytes is the usual order of a table: by the bytes of both directions.
var OrderByBytes = Order{Key: "bytes"}

// sortKey compares flows by a number or by a text. ok is false if the flow lacks the value.
type sortKey struct {
	name   string
	number func(*Flow) (v float64, ok bool)
	text   func(*Flow) string
	needs  sortedBy
}

// sortedBy is the part of a flow's line that an order needs.
type sortedBy uint8

const (
	sortedByFigures   sortedBy = iota // all but the quantiles
	sortedBySums                      // the part that totals need
	sortedByQuantiles                 // quantiles of the samples
)

var sortKeys = []sortKey{
	{name: "bytes", needs: sortedBySums, number: func(f *Flow) (float64, bool) {
		return float64(f.bytes()), f.Samples > 0
	}},
	{name: "rate_bps", number: func(f *Flow) (float64, bool) {
		up, upOK := number(f.AckedRateBps)
		down, downOK := number(f.ReceiveRateBps)
		return up + down, upOK || downOK
	}},
	// The lowest number first, against the habit of numbers.
	{name: "flow", number: func(f *Flow) (float64, bool) { return -float64(f.ID), true }},
	{name: "process", text: func(f *Flow) string { return f.Comm }},
	{name: "local", text: func(f *Flow) string { return sortableEndpoint(f.Local) }},
	{name: "remote", text: func(f *Flow) string { return sortableEndpoint(f.Remote) }},
	{name: "congestion_control", text: func(f *Flow) string { return strings.Join(f.CongestionControls, ">") }},
	{name: "close_reason", text: func(f *Flow) string { return f.CloseReason.String() }},
	{name: "start_ns", number: func(f *Flow) (float64, bool) { return -float64(f.StartNs), true }},
	{name: "duration_s", number: func(f *Flow) (float64, bool) { return f.DurationS, true }},
	{name: "samples", number: func(f *Flow) (float64, bool) { return float64(f.Samples), true }},
	{name: "events", number: func(f *Flow) (float64, bool) { return float64(f.Events), true }},
	{name: "acked_bytes", number: func(f *Flow) (float64, bool) { return number(f.AckedBytes) }},
	{name: "received_bytes", number: func(f *Flow) (float64, bool) { return number(f.ReceivedBytes) }},
	{name: "acked_rate_bps", number: func(f *Flow) (float64, bool) { return number(f.AckedRateBps) }},
	{name: "receive_rate_bps", number: func(f *Flow) (float64, bool) { return number(f.ReceiveRateBps) }},
	{name: "rtt_us", needs: sortedByQuantiles, number: func(f *Flow) (float64, bool) {
		return number(f.medianRttUs())
	}},
	{name: "rtt_p99_us", needs: sortedByQuantiles, number: func(f *Flow) (float64, bool) {
		return number(of(f.Rtt, func(d *Distribution) int64 { return d.P99 }))
	}},
	{name: "srtt_us", needs: sortedByQuantiles, number: func(f *Flow) (float64, bool) {
		return number(of(f.Srtt, (*Spread).median))
	}},
	{name: "min_rtt_us", number: func(f *Flow) (float64, bool) { return number(f.MinRttUs) }},
	{name: "cwnd_packets", needs: sortedByQuantiles, number: func(f *Flow) (float64, bool) {
		return number(of(f.Cwnd, (*Spread).median))
	}},
	{name: "in_flight_packets", needs: sortedByQuantiles, number: func(f *Flow) (float64, bool) {
		return number(of(f.InFlight, (*Spread).median))
	}},
	{name: "lost_packets", number: func(f *Flow) (float64, bool) { return number(f.LostPackets) }},
	{name: "retransmits_packets", number: func(f *Flow) (float64, bool) { return number(f.Retransmissions.Packets) }},
	{name: "reordering", number: func(f *Flow) (float64, bool) { return number(f.Errors.Reordering) }},
	{name: "local_congestion", number: func(f *Flow) (float64, bool) { return number(f.Errors.LocalCongestion) }},
	{name: "dup_ack", number: func(f *Flow) (float64, bool) { return number(f.Errors.DupAck) }},
	{name: "timeout", number: func(f *Flow) (float64, bool) { return number(f.Errors.Timeout) }},
}

// SortKeys are the valid keys of an Order.
func SortKeys() []string {
	names := make([]string, len(sortKeys))
	for i, k := range sortKeys {
		names[i] = k.name
	}
	return names
}

// ParseOrder reads a key with or without its unit (cwnd_packets or cwnd), and with a leading "-"
// for the reverse order.
func ParseOrder(s string) (Order, error) {
	key, reverse := strings.CutPrefix(s, "-")
	for _, k := range sortKeys {
		if key == k.name || key == tcp.PlainName(k.name) {
			return Order{k.name, reverse}, nil
		}
	}
	return Order{}, fmt.Errorf("sort key %q: want one of %s, with a leading - for the reverse order",
		s, strings.Join(SortKeys(), ", "))
}

// Sort sorts the flows of the report.
func (r *Report) Sort(o Order) {
	compare := o.comparison()
	order := make([]*Flow, len(r.Flows)) // pointers, because a flow is large
	for i := range r.Flows {
		order[i] = &r.Flows[i]
	}
	slices.SortStableFunc(order, compare)
	sorted := make([]Flow, len(order))
	for i, f := range order {
		sorted[i] = *f
	}
	r.Flows = sorted
}

// comparison returns the function that compares two flows in the order.
func (o Order) comparison() func(a, b *Flow) int {
	return func(a, b *Flow) int { return o.compare(o.value(a), o.value(b)) }
}

// sortValue is the value of a flow by which it is sorted: a text or a number.
type sortValue struct {
	text   string
	number float64
	ok     bool
}

// key returns the index of the order's key, -1 for none.
func (o Order) key() int {
	return slices.IndexFunc(sortKeys, func(k sortKey) bool { return k.name == o.Key })
}

// needs returns what the order needs.
func (o Order) needs() sortedBy {
	if i := o.key(); i >= 0 {
		return sortKeys[i].needs
	}
	return sortedByFigures
}

func (o Order) value(f *Flow) (v sortValue) {
	i := o.key()
	switch {
	case i < 0:
	case sortKeys[i].text != nil:
		v.text = sortKeys[i].text(f)
		v.ok = v.text != ""
	default:
		v.number, v.ok = sortKeys[i].number(f)
	}
	return v
}

// compare compares two values. Flows without one come last.
func (o Order) compare(a, b sortValue) int {
	switch {
	case !a.ok && !b.ok:
		return 0
	case !b.ok:
		return -1
	case !a.ok:
		return 1
	}
	c := cmp.Or(cmp.Compare(a.text, b.text), cmp.Compare(b.number, a.number))
	if o.Reverse {
		return -c
	}
	return c
}

// sortableEndpoint puts addresses in the order of their numbers.
func sortableEndpoint(ap netip.AddrPort) string {
	if !ap.IsValid() {
		return ""
	}
	a := ap.Addr().As16()
	return fmt.Sprintf("%x%05d", a, ap.Port())
}

// medianRttUs is the median of the single round-trip times in µs, else of the smoothed ones.
func (f *Flow) medianRttUs() *int64 {
	if f.Rtt != nil {
		return &f.Rtt.Median
	}
	return of(f.Srtt, (*Spread).median)
}

func (s *Spread) median() int64 { return s.Median }

// of reads a value that is absent together with its group.
func of[T any](group *T, value func(*T) int64) *int64 {
	if group == nil {
		return nil
	}
	v := value(group)
	return &v
}

func number[T int64 | float64](v *T) (float64, bool) {
	if v == nil {
		return 0, false
	}
	return float64(*v), true
}

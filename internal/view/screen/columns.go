package screen

import (
	"slices"
	"strconv"
)

// column is one column of the table. It is sorted by number, or by text if number is nil.
type column struct {
	title, key string
	// keep is the order of removal on a narrow terminal: columns with the highest numbers vanish
	// first.
	keep      int
	min, most int // width in cells; above min if there is room
	right     bool
	text      func(*Row) string
	number    func(*Row) Value
}

// columns are the columns in the order of display.
var columns = func() []column {
	count := func(title, key string, keep, width int, v func(*Row) Value) column {
		return column{title, key, keep, width, width, true, func(r *Row) string { return countText(v(r)) }, v}
	}
	size := func(title, key string, keep int, v func(*Row) Value) column {
		return column{title, key, keep, 6, 6, true, func(r *Row) string { return scaledText(v(r)) }, v}
	}
	rate := func(title, key string, keep int, v func(*Row) Value) column {
		return column{title, key, keep, 8, 8, true, func(r *Row) string { return scaledText(v(r)) }, v}
	}
	name := func(title, key string, keep, min, most int, text func(*Row) string) column {
		return column{title: title, key: key, keep: keep, min: min, most: most, text: text}
	}
	return []column{
		name("PROCESS", "process", 1, 12, 22, processText),
		name("LOCAL", "local", 19, 18, 47, func(r *Row) string { return orDash(r.Local) }),
		name("PEER", "remote", 0, 18, 47, func(r *Row) string { return orDash(r.Remote) }),
		name("LIMIT", "limit", 3, 12, 21, limitText),
		name("CC", "congestion_control", 8, 6, 10, func(r *Row) string { return orDash(r.CongestionControl) }),
		name("STATE", "state", 18, 11, 11, stateText),
		name("CA", "ca_state", 10, 8, 8, func(r *Row) string { return orDash(r.CAState) }),
		count("CWND", "cwnd_packets", 2, 5, func(r *Row) Value { return r.Cwnd }),
		count("SSTHR", "ssthresh_packets", 11, 5, func(r *Row) Value { return r.Ssthresh }),
		{"SRTT/MIN ms", "srtt_us", 4, 11, 11, true, rttText, func(r *Row) Value { return r.Srtt }},
		count("INFL", "in_flight_packets", 9, 5, func(r *Row) Value { return r.InFlight }),
		size("SENDQ", "send_queued_bytes", 12, func(r *Row) Value { return r.SendQueued }),
		size("RECVQ", "receive_queued_bytes", 17, func(r *Row) Value { return r.ReceiveQueued }),
		rate("SEND b/s", "send_rate_bps", 5, func(r *Row) Value { return r.SendRate }),
		rate("RECV b/s", "receive_rate_bps", 6, func(r *Row) Value { return r.ReceiveRate }),
		count("RETR", "retransmits_packets", 7, 5, func(r *Row) Value { return r.Retransmits }),
		count("REORD", "reordering", 16, 5, func(r *Row) Value { return r.Errors.Reordering }),
		count("LCONG", "local_congestion", 15, 5, func(r *Row) Value { return r.Errors.LocalCongestion }),
		count("DUPACK", "dup_ack", 14, 6, func(r *Row) Value { return r.Errors.DupAck }),
		count("RTO", "timeout", 13, 4, func(r *Row) Value { return r.Errors.Timeout }),
	}
}()

// wants returns the width of each column's widest content in these rows.
func wants(rows []*Row) []int {
	w := make([]int, len(columns))
	for i, c := range columns {
		w[i] = c.min
		if c.most == c.min {
			continue
		}
		for _, r := range rows {
			w[i] = max(w[i], c.length(r))
		}
		w[i] = min(w[i], c.most)
	}
	return w
}

// length is the length of a column's text without making it: this is asked for every row, not only
// for those in sight.
func (c *column) length(r *Row) int {
	switch c.key {
	case "process":
		return len(r.Comm) + 1 + len(strconv.FormatInt(max(0, int64(r.PID)), 10))
	case "local":
		return len(r.Local)
	case "remote":
		return len(r.Remote)
	case "limit":
		return len(r.Limit)
	}
	return len(r.CongestionControl)
}

// placed is a column with its place among all columns and the width that it got.
type placed struct {
	*column
	index, width int
}

// narrow is the width below which names are cut further, so that a value stays in sight.
const narrow = 50

// leasts are the least widths of the columns at a width.
func leasts(width int) []int {
	w := make([]int, len(columns))
	for i, c := range columns {
		w[i] = c.min
		if width < narrow && c.number == nil {
			w[i] = min(w[i], 14, 3*c.min/4)
		}
	}
	return w
}

// fit selects the columns for a width. If not all fit at their least width, it drops the least
// important columns. Spare width goes to columns that want more, the most important first.
func fit(width int, least, wants []int) []placed {
	shown := make([]int, len(columns))
	need := len(columns) - 1
	for i := range columns {
		shown[i] = i
		need += least[i]
	}
	for len(shown) > 1 && need > width {
		victim := 0
		for i, c := range shown {
			if columns[c].keep > columns[shown[victim]].keep {
				victim = i
			}
		}
		need -= least[shown[victim]] + 1
		shown = slices.Delete(shown, victim, victim+1)
	}
	out := make([]placed, len(shown))
	order := make([]int, len(shown))
	for i, c := range shown {
		out[i] = placed{&columns[c], c, least[c]}
		order[i] = i
	}
	slices.SortFunc(order, func(a, b int) int { return out[a].keep - out[b].keep })
	spare := max(0, width-need)
	for _, i := range order {
		more := min(spare, wants[shown[i]]-out[i].width)
		out[i].width += more
		spare -= more
	}
	if len(out) == 1 {
		out[0].width = max(1, min(out[0].width, width))
	}
	return out
}

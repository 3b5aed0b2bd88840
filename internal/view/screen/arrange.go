package screen

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"airtide/internal/tcp"
)

// SortByRate is the default key: the sum of both rates.
const SortByRate = "rate_bps"

// Sort is the order of the rows. Numbers descend and texts ascend; Reverse inverts both. Absent
// values come last in either direction, and equal rows are ordered by flow number.
type Sort struct {
	Key     string // a key of SortKeys; "" is SortByRate
	Reverse bool
}

// SortKeys returns the valid keys of a Sort: the table's columns, SortByRate and "flow".
func SortKeys() []string {
	keys := []string{SortByRate, "flow"}
	for _, c := range columns {
		keys = append(keys, c.key)
	}
	return keys
}

// ParseSort reads a key with or without its unit (cwnd_packets or cwnd), and with a leading "-" for
// the reverse order.
func ParseSort(s string) (Sort, error) {
	key, reverse := strings.CutPrefix(s, "-")
	i := slices.IndexFunc(SortKeys(), func(k string) bool { return k == key || tcp.PlainName(k) == key })
	if i < 0 {
		return Sort{}, fmt.Errorf("sort key %q: want one of %s, with a leading - for the reverse order", s,
			strings.Join(SortKeys(), ", "))
	}
	return Sort{Key: SortKeys()[i], Reverse: reverse}, nil
}

// Filter selects the rows to show.
type Filter struct {
	// Text holds words that must all occur in the process, an address, the congestion control or
	// the state; letter case does not matter.
	Text string
	// HideIdle leaves out flows without traffic in the last seconds.
	HideIdle bool
}

func (f Filter) match(r *Row, words []string) bool {
	if f.HideIdle && r.Idle {
		return false
	}
	if len(words) == 0 {
		return true
	}
	text := strings.ToLower(strings.Join([]string{
		processText(r), string(r.Local), string(r.Remote), string(r.CongestionControl), string(r.State),
	}, " "))
	for _, w := range words {
		if !strings.Contains(text, w) {
			return false
		}
	}
	return true
}

// Arrange filters and sorts rows into a new slice.
func Arrange(rows []*Row, s Sort, f Filter) []*Row {
	words := strings.Fields(strings.ToLower(f.Text))
	kept := make([]*Row, 0, len(rows))
	for _, r := range rows {
		if f.match(r, words) {
			kept = append(kept, r)
		}
	}
	slices.SortFunc(kept, s.comparison(kept))
	return kept
}

// comparison looks the keys up once for each row: making a text for every comparison would cost
// more than the sorting.
func (s Sort) comparison(rows []*Row) func(a, b *Row) int {
	direction := 1
	if s.Reverse {
		direction = -1
	}
	if number := numberOf(s.Key); number != nil {
		return func(a, b *Row) int {
			x := number(a)
			y := number(b)
			if x == tcp.Absent || y == tcp.Absent {
				return cmp.Or(compareBool(x == tcp.Absent, y == tcp.Absent), cmp.Compare(a.Flow, b.Flow))
			}
			return cmp.Or(direction*cmp.Compare(y, x), cmp.Compare(a.Flow, b.Flow))
		}
	}
	text := columnByKey(s.Key).text
	keys := make(map[*Row]string, len(rows))
	for _, r := range rows {
		keys[r] = text(r)
	}
	return func(a, b *Row) int {
		x := keys[a]
		y := keys[b]
		if x == absentText || y == absentText {
			return cmp.Or(compareBool(x == absentText, y == absentText), cmp.Compare(a.Flow, b.Flow))
		}
		return cmp.Or(direction*cmp.Compare(x, y), cmp.Compare(a.Flow, b.Flow))
	}
}

// compareBool puts false first.
func compareBool(a, b bool) int {
	switch {
	case a == b:
		return 0
	case a:
		return 1
	}
	return -1
}

func numberOf(key string) func(*Row) Value {
	switch key {
	case "", SortByRate:
		return func(r *Row) Value {
			if r.SendRate == tcp.Absent && r.ReceiveRate == tcp.Absent {
				return tcp.Absent
			}
			return max(0, r.SendRate) + max(0, r.ReceiveRate)
		}
	case "flow":
		// The lowest number first, against the habit of numbers.
		return func(r *Row) Value { return -Value(r.Flow) }
	}
	return columnByKey(key).number
}

func columnByKey(key string) column {
	i := slices.IndexFunc(columns, func(c column) bool { return c.key == key })
	if i < 0 {
		// Keys come from SortKeys; an unknown one leaves the order to the flow's number.
		return column{text: func(*Row) string { return "" }}
	}
	return columns[i]
}

package engine

import (
	"fmt"
	"strconv"

	"airtide/internal/stats"
)

// histogram counts durations in classes 3 % wide: 32 to each power of two.
type histogram struct {
	counts [classes]uint64
	total  uint64
	max    int64
}

const (
	octave = stats.Buckets(5)
	// classes covers durations up to 2^41 ns (36 minutes). Longer durations count in the last
	// class.
	classes = (41 - int(octave) + 1) << int(octave)
)

func (h *histogram) record(ns int64) {
	ns = max(ns, 0)
	h.counts[class(ns)]++
	h.total++
	h.max = max(h.max, ns)
}

// class returns the class of a duration of at least 0.
func class(ns int64) int { return min(octave.Index(ns), classes-1) }

// quantile is the duration that a share q of all did not exceed, as the upper end of its class.
func (h *histogram) quantile(q float64) int64 {
	rank := stats.Rank(q, h.total)
	var seen uint64
	for i, n := range h.counts {
		seen += n
		if n > 0 && seen >= rank {
			return min(octave.Upper(i), h.max)
		}
	}
	return h.max
}

// Lateness is a distribution of delays in nanoseconds. Quantiles are exact to 3 %.
type Lateness struct {
	Count  uint64 `json:"count"`
	P50Ns  int64  `json:"p50_ns"`
	P99Ns  int64  `json:"p99_ns"`
	P999Ns int64  `json:"p999_ns"`
	MaxNs  int64  `json:"max_ns"`
}

func (h *histogram) lateness() Lateness {
	return Lateness{h.total, h.quantile(.5), h.quantile(.99), h.quantile(.999), h.max}
}

// exceeds reports whether the lags make a run invalid: more than 1 % of the packets are later than
// the limit, or more than 0.1 % are later than ten times the limit. On a virtual machine the second
// limit allows for pauses of the host.
func (l *Lateness) exceeds(limitNs int64) bool {
	return l.P99Ns > limitNs || l.P999Ns > tenTimes*limitNs
}

const tenTimes = 10

// Against describes the lateness of packets in words, for a message.
func (l *Lateness) Against(limitNs int64) string {
	ms := func(ns int64) string { return strconv.FormatFloat(float64(ns)/1e6, 'f', 2, 64) + " ms" }
	return fmt.Sprintf("1 packet in 100 left more than %s late (%s are allowed), 1 in 1000 more than %s (%s)",
		ms(l.P99Ns), ms(limitNs), ms(l.P999Ns), ms(tenTimes*limitNs))
}

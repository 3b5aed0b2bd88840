package screen

import (
	"math"
	"slices"
	"time"

	"airtide/internal/tcp"
)

// historySpan is the past that a flow's history covers.
const historySpan = 60 * time.Second

// Point is the range of cwnd and RTT within a short time, so that a peak survives the decimation. A
// range that is not known is tcp.Absent in both ends.
type Point struct {
	TimeNs           int64
	CwndMin, CwndMax int64
	RTTMin, RTTMax   int64 // µs; the latest RTT, or the smoothed one when the source has no other
}

const absent32 = math.MaxUint32

// bucket is a Point in little memory.
type bucket struct {
	number           uint32
	cwndMin, cwndMax uint32
	rttMin, rttMax   uint32
}

// history is a ring of buckets; its memory grows up to the limit.
type history struct {
	ring     []bucket
	next     int // where the oldest is, once the ring is full
	limit    int
	originNs int64
}

func (h *history) widthNs() int64 { return historySpan.Nanoseconds() / int64(h.limit) }

func (h *history) add(ns, cwnd, rttUs int64) {
	if len(h.ring) == 0 {
		h.originNs = ns
	}
	number := uint32(max(0, ns-h.originNs) / h.widthNs())
	if n := len(h.ring); n > 0 {
		if newest := &h.ring[(h.next+n-1)%n]; newest.number >= number {
			widen(&newest.cwndMin, &newest.cwndMax, cwnd)
			widen(&newest.rttMin, &newest.rttMax, rttUs)
			return
		}
	}
	b := bucket{number, absent32, absent32, absent32, absent32}
	widen(&b.cwndMin, &b.cwndMax, cwnd)
	widen(&b.rttMin, &b.rttMax, rttUs)
	if len(h.ring) < h.limit {
		h.ring = append(h.ring, b)
		return
	}
	h.ring[h.next] = b
	h.next = (h.next + 1) % len(h.ring)
}

func widen(low, high *uint32, v int64) {
	if v == tcp.Absent || v < 0 {
		return
	}
	u := uint32(min(v, absent32-1))
	if *low == absent32 {
		*low, *high = u, u
		return
	}
	*low, *high = min(*low, u), max(*high, u)
}

func (h *history) points() []Point {
	points := make([]Point, 0, len(h.ring))
	for _, b := range slices.Concat(h.ring[h.next:], h.ring[:h.next]) {
		points = append(points, Point{
			TimeNs:  h.originNs + int64(b.number)*h.widthNs(),
			CwndMin: orAbsent(b.cwndMin), CwndMax: orAbsent(b.cwndMax),
			RTTMin: orAbsent(b.rttMin), RTTMax: orAbsent(b.rttMax),
		})
	}
	return points
}

func orAbsent(u uint32) int64 {
	if u == absent32 {
		return tcp.Absent
	}
	return int64(u)
}

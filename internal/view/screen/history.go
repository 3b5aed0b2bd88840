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
// value that is not known is tcp.Absent.
type Point struct {
	TimeNs           int64
	CwndMin, CwndMax int64
	RTTMin, RTTMax   int64 // µs; the latest RTT, or the smoothed one when the source has no other
	// Rate is the payload that was acknowledged or received in the last half second, in bit/s.
	Rate int64
}

// rateOverNs is the least time over which the rate of a Point is taken.
const rateOverNs = int64(500 * time.Millisecond)

const absent32 = math.MaxUint32

// bucket is a Point in little memory.
type bucket struct {
	number           uint32
	cwndMin, cwndMax uint32
	rttMin, rttMax   uint32
	delivered        uint32 // payload until the end of the bucket, in units that wrap around
}

// deliveredUnit is a number of bytes. The unit keeps a bucket small, and the growth within a
// history below the range of 32 bits (270 GB).
const deliveredUnit = 64

// history is a ring of buckets; its memory grows up to the limit.
type history struct {
	ring     []bucket
	next     int // index of the oldest, once the ring is full
	limit    int
	originNs int64
}

func (h *history) widthNs() int64 { return historySpan.Nanoseconds() / int64(h.limit) }

// add takes a reading; delivered is payload in bytes since the start.
func (h *history) add(ns, cwnd, rttUs, delivered int64) {
	if len(h.ring) == 0 {
		h.originNs = ns
	}
	number := uint32(max(0, ns-h.originNs) / h.widthNs())
	if n := len(h.ring); n > 0 {
		if newest := &h.ring[(h.next+n-1)%n]; newest.number >= number {
			widen(&newest.cwndMin, &newest.cwndMax, cwnd)
			widen(&newest.rttMin, &newest.rttMax, rttUs)
			newest.deliver(delivered)
			return
		}
	}
	b := bucket{number, absent32, absent32, absent32, absent32, absent32}
	widen(&b.cwndMin, &b.cwndMax, cwnd)
	widen(&b.rttMin, &b.rttMax, rttUs)
	b.deliver(delivered)
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
		*low = u
		*high = u
		return
	}
	*low = min(*low, u)
	*high = max(*high, u)
}

func (b *bucket) deliver(bytes int64) {
	if bytes != tcp.Absent {
		b.delivered = uint32(bytes / deliveredUnit)
	}
}

func (h *history) points() []Point {
	points := make([]Point, 0, len(h.ring))
	buckets := slices.Concat(h.ring[h.next:], h.ring[:h.next])
	from := 0
	for i, b := range buckets {
		p := Point{
			TimeNs:  h.originNs + int64(b.number)*h.widthNs(),
			CwndMin: orAbsent(b.cwndMin), CwndMax: orAbsent(b.cwndMax),
			RTTMin: orAbsent(b.rttMin), RTTMax: orAbsent(b.rttMax),
			Rate: tcp.Absent,
		}
		age := func(j int) int64 { return int64(b.number-buckets[j].number) * h.widthNs() }
		for from+1 < i && age(from+1) >= rateOverNs {
			from++
		}
		before := buckets[from].delivered
		if ns := age(from); ns >= rateOverNs && before != absent32 && b.delivered != absent32 {
			p.Rate = int64(float64(b.delivered-before) * deliveredUnit * 8 * 1e9 / float64(ns))
		}
		points = append(points, p)
	}
	return points
}

func orAbsent(u uint32) int64 {
	if u == absent32 {
		return tcp.Absent
	}
	return int64(u)
}

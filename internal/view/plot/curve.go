package plot

import (
	"cmp"
	"math"
	"slices"

	"airtide/internal/tcp"
)

// noGap is the gap of a bucket whose last value is held until the next bucket.
const noGap = math.MaxInt64

// bucket is the values of one span of time. Times are in monotonic nanoseconds.
type bucket struct {
	t0, t1                int64 // times of the first and the last value
	gap                   int64 // time at which the value became absent after t1, or noGap
	first, min, max, last int64
}

// curve is a value over time in at most limit buckets. The spans are aligned to powers of two of
// nanoseconds: bucket b covers the times with the same t >> shift, so two neighbours merge without
// looking at the samples again. As long as there are fewer values than limit, each has a bucket of
// its own and the curve is exact.
type curve struct {
	shift   uint
	limit   int
	buckets []bucket
}

// add appends the value v at time t, tcp.Absent for none. Values come in the order of time; a late
// value is inserted.
func (c *curve) add(t, v int64) {
	n := len(c.buckets)
	if v == tcp.Absent {
		if n > 0 && c.buckets[n-1].gap == noGap {
			c.buckets[n-1].gap = max(t, c.buckets[n-1].t1)
		}
		return
	}
	if n > 0 {
		if o := &c.buckets[n-1]; t >= o.t1 && t>>c.shift == o.t1>>c.shift { // the most frequent case by far
			o.t1 = t
			o.gap = noGap
			o.min = min(o.min, v)
			o.max = max(o.max, v)
			o.last = v
			return
		}
	}
	b := bucket{t0: t, t1: t, gap: noGap, first: v, min: v, max: v, last: v}
	if n > 0 && t < c.buckets[n-1].t1 {
		c.insert(b)
	} else {
		c.buckets = append(c.buckets, b)
	}
	if len(c.buckets) > c.limit {
		c.shrink(c.limit)
	}
}

// insert adds a value that came late.
func (c *curve) insert(b bucket) {
	i, found := slices.BinarySearchFunc(c.buckets, b.t0>>c.shift, func(o bucket, span int64) int {
		return cmp.Compare(o.t0>>c.shift, span)
	})
	if !found {
		c.buckets = slices.Insert(c.buckets, i, b)
		return
	}
	o := &c.buckets[i]
	o.min = min(o.min, b.min)
	o.max = max(o.max, b.max)
	if b.t0 < o.t0 {
		o.t0 = b.t0
		o.first = b.first
	} else if b.t0 >= o.t1 && b.t0 < o.gap {
		o.t1 = b.t0
		o.last = b.last
	}
}

// shrink doubles the span until a quarter of the limit is free.
func (c *curve) shrink(limit int) {
	c.limit = limit
	c.buckets, c.shift = thinned(c.buckets, c.shift, limit)
}

func (b bucket) start() int64 { return b.t0 }

// joined merges the next bucket.
func (b bucket) joined(next bucket) bucket {
	return bucket{
		t0: b.t0, t1: next.t1, gap: next.gap,
		first: b.first, min: min(b.min, next.min), max: max(b.max, next.max), last: next.last,
	}
}

func (c *curve) empty() bool { return len(c.buckets) == 0 }

// between is the visible part of the curve between two times. The bucket whose value is held at
// from comes first.
func (c *curve) between(from, to int64) []bucket {
	start, _ := slices.BinarySearchFunc(c.buckets, from, func(b bucket, t int64) int { return cmp.Compare(b.t0, t) })
	end, _ := slices.BinarySearchFunc(c.buckets, to, func(b bucket, t int64) int { return cmp.Compare(b.t0, t+1) })
	if start > 0 && c.buckets[start-1].gap > from {
		start--
	}
	return c.buckets[min(start, end):end]
}

// extremes are the least and the greatest visible value between two times.
func (c *curve) extremes(from, to int64) (lo, hi int64, ok bool) {
	for i, b := range c.between(from, to) {
		if b.t1 < from { // only the held value is visible
			b.min = b.last
			b.max = b.last
		}
		if i == 0 {
			lo = b.min
			hi = b.max
		}
		lo = min(lo, b.min)
		hi = max(hi, b.max)
		ok = true
	}
	return lo, hi, ok
}

// at is the value of a counter at time t, interpolated between the values around it, since a
// counter that is sampled now and then has grown in between. It is false before the first value.
func (c *curve) at(t int64) (float64, bool) {
	i, _ := slices.BinarySearchFunc(c.buckets, t, func(b bucket, t int64) int { return cmp.Compare(b.t0, t+1) })
	if i == 0 {
		return 0, false
	}
	b := c.buckets[i-1]
	t0 := b.t0
	v0 := b.first
	t1 := b.t1
	v1 := b.last
	if t >= b.t1 {
		if i == len(c.buckets) {
			return float64(b.last), true
		}
		t0 = b.t1
		v0 = b.last
		t1 = c.buckets[i].t0
		v1 = c.buckets[i].first
	}
	return float64(v0) + float64(v1-v0)*float64(t-t0)/float64(t1-t0), true
}

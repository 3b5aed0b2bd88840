package queue

import "airtide/internal/stats"

// An octave of values has 2^octave buckets. A quantile is the middle of its bucket, so it is off
// by at most 1/32.
const (
	octave    = stats.Buckets(4)
	maxOctave = 43 // 2^44 ns are 4.9 hours
	buckets   = (maxOctave - int(octave) + 2) << int(octave)
)

// Histogram counts values of zero and more (times in nanoseconds, lengths) in buckets of
// logarithmic width. Its size is fixed and adding never allocates. Extremes and mean are exact,
// quantiles within 3.2 %; below 32 they are exact. The zero value is empty and ready for use.
type Histogram struct {
	counts   [buckets]uint64
	count    uint64
	sum      float64
	min, max int64
}

// bucketOf returns the bucket of a value of at least 0.
func bucketOf(v int64) int { return min(octave.Index(v), buckets-1) }

// middle returns the value that represents a bucket.
func middle(bucket int) int64 { return octave.Middle(bucket) }

// Add counts a value. A negative one counts as zero.
func (h *Histogram) Add(v int64) {
	v = max(v, 0)
	if h.count == 0 {
		h.min = v
	}
	h.min = min(h.min, v)
	h.max = max(h.max, v)
	h.count++
	h.sum += float64(v)
	h.counts[bucketOf(v)]++
}

// Merge adds the counts of another histogram.
func (h *Histogram) Merge(other *Histogram) {
	if other.count == 0 {
		return
	}
	if h.count == 0 {
		h.min = other.min
	}
	h.min = min(h.min, other.min)
	h.max = max(h.max, other.max)
	h.count += other.count
	h.sum += other.sum
	for i, n := range other.counts {
		h.counts[i] += n
	}
}

// Reset empties the histogram.
func (h *Histogram) Reset() { *h = Histogram{} }

// Count of the values.
func (h *Histogram) Count() int64 { return int64(h.count) }

// Min returns the smallest value, or 0 without values.
func (h *Histogram) Min() int64 { return h.min }

// Max returns the largest value, or 0 without values.
func (h *Histogram) Max() int64 { return h.max }

// Mean returns the mean, or 0 without values.
func (h *Histogram) Mean() float64 {
	if h.count == 0 {
		return 0
	}
	return h.sum / float64(h.count)
}

// Quantile returns the nearest-rank quantile for a share (0 to 1), or 0 without values.
func (h *Histogram) Quantile(share float64) int64 {
	if h.count == 0 {
		return 0
	}
	rank := stats.Rank(share, h.count)
	// The extremes are known better than their buckets say.
	if rank == 1 {
		return h.min
	}
	if rank == h.count {
		return h.max
	}
	var seen uint64
	for i, n := range h.counts {
		seen += n
		if seen >= rank {
			return min(max(middle(i), h.min), h.max)
		}
	}
	return h.max
}

package queue

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Since returns the counts since an earlier state of the same histogram. Its extremes are only as
// exact as its quantiles.
func (h *Histogram) Since(earlier *Histogram) Histogram {
	if earlier.count == 0 {
		return *h
	}
	d := Histogram{count: h.count - earlier.count, sum: h.sum - earlier.sum}
	first := true
	for i := range h.counts {
		d.counts[i] = h.counts[i] - earlier.counts[i]
		if d.counts[i] == 0 {
			continue
		}
		// The middle of a bucket may lie outside of the observed values.
		value := min(max(middle(i), h.min), h.max)
		if first {
			d.min = value
			first = false
		}
		d.max = value
	}
	return d
}

// MarshalText writes the histogram in few characters: base64 of its extremes, its sum and the
// buckets that are not empty.
func (h Histogram) MarshalText() ([]byte, error) {
	if h.count == 0 {
		return nil, nil
	}
	b := binary.AppendUvarint(nil, uint64(h.min))
	b = binary.AppendUvarint(b, uint64(h.max))
	b = binary.BigEndian.AppendUint64(b, math.Float64bits(h.sum))
	return base64.RawStdEncoding.AppendEncode(nil, appendBuckets(b, h.counts[:])), nil
}

// appendBuckets encodes the non-empty buckets: the distance from the previous one, and the count.
func appendBuckets(b []byte, counts []uint64) []byte {
	last := 0
	for i, n := range counts {
		if n > 0 {
			b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(i-last)), n)
			last = i
		}
	}
	return b
}

// readBuckets decodes the form of appendBuckets. It returns false for anything else.
func readBuckets(b []byte, counts []uint64) bool {
	for at := uint64(0); len(b) > 0; {
		step, n := binary.Uvarint(b)
		if n <= 0 {
			return false
		}
		count, m := binary.Uvarint(b[n:])
		at += step
		if m <= 0 || at >= uint64(len(counts)) {
			return false
		}
		counts[at] += count
		b = b[n+m:]
	}
	return true
}

// UnmarshalText decodes the form of MarshalText.
func (h *Histogram) UnmarshalText(text []byte) error {
	h.Reset()
	b, err := base64.RawStdEncoding.AppendDecode(nil, text)
	if err != nil {
		return fmt.Errorf("reading a histogram: %w", err)
	}
	if len(b) == 0 {
		return nil
	}
	broken := false
	number := func() uint64 {
		v, n := binary.Uvarint(b)
		if n <= 0 {
			broken = true
			return 0
		}
		b = b[n:]
		return v
	}
	h.min = int64(number())
	h.max = int64(number())
	if broken || len(b) < 8 {
		return errors.New("reading a histogram: it is cut off")
	}
	h.sum = math.Float64frombits(binary.BigEndian.Uint64(b))
	b = b[8:]
	if !readBuckets(b, h.counts[:]) {
		return errors.New("reading a histogram: its buckets are not as they should be")
	}
	for _, n := range h.counts {
		h.count += n
	}
	if h.count == 0 {
		return errors.New("reading a histogram: it has extremes but no values")
	}
	return nil
}

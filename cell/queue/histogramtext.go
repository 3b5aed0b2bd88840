package queue

import (
	"encoding/base64"
	"encoding/binary"
	"errors"
	"fmt"
	"math"
)

// Since is what a histogram has counted that has grown from an earlier state of itself. Its extremes are then known only as
// well as its quantiles.
func (h *Histogram) Since(earlier *Histogram) Histogram {
	if earlier.count == 0 {
		return *h
	}
	d := Histogram{count: h.count - earlier.count, sum: h.sum - earlier.sum}
	first := true
	for i := range h.counts {
		if d.counts[i] = h.counts[i] - earlier.counts[i]; d.counts[i] == 0 {
			continue
		}
		// A middle may lie beyond what there has been at all.
		value := min(max(middle(i), h.min), h.max)
		if first {
			d.min, first = value, false
		}
		d.max = value
	}
	return d
}

// MarshalText writes the histogram in few characters: base64 of its extremes, its sum and the buckets that are not empty.
func (h Histogram) MarshalText() ([]byte, error) {
	if h.count == 0 {
		return nil, nil
	}
	b := binary.AppendUvarint(nil, uint64(h.min))
	b = binary.AppendUvarint(b, uint64(h.max))
	b = binary.BigEndian.AppendUint64(b, math.Float64bits(h.sum))
	last := 0
	for i, n := range h.counts {
		if n > 0 {
			b = binary.AppendUvarint(binary.AppendUvarint(b, uint64(i-last)), n)
			last = i
		}
	}
	return base64.RawStdEncoding.AppendEncode(nil, b), nil
}

// UnmarshalText reads what MarshalText has written.
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
	h.min, h.max = int64(number()), int64(number())
	if broken || len(b) < 8 {
		return errors.New("reading a histogram: it is cut off")
	}
	h.sum = math.Float64frombits(binary.BigEndian.Uint64(b))
	b = b[8:]
	for at := uint64(0); len(b) > 0; {
		at += number()
		n := number()
		if broken || at >= buckets {
			return errors.New("reading a histogram: its buckets are not as they should be")
		}
		h.counts[at] += n
		h.count += n
	}
	if h.count == 0 {
		return errors.New("reading a histogram: it has extremes but no values")
	}
	return nil
}

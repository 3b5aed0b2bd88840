package queue

import (
	"encoding/base64"
	"errors"
	"fmt"
)

// Length is a Level that also knows for how long it had each value.
type Length struct {
	Level
	times Times
}

// Set changes the length at nowNs, which is never earlier than in the last call.
func (l *Length) Set(value, nowNs int64) {
	l.times.add(l.value, nowNs-l.sinceNs)
	l.Level.Set(value, nowNs)
}

// Add changes the length by so much.
func (l *Length) Add(change, nowNs int64) { l.Set(l.value+change, nowNs) }

// Restart forgets the past but not the present value, as at the end of a warm-up.
func (l *Length) Restart(nowNs int64) {
	l.times = Times{}
	l.Level.Restart(nowNs)
}

// Times returns the times until now, counted from the start or the last Restart.
func (l *Length) Times(nowNs int64) Times {
	t := l.times
	t.add(l.value, nowNs-l.sinceNs)
	return t
}

// Times holds the time in nanoseconds that a length had each value. Its buckets are those of a
// Histogram: exact below 32, and within 3.2 % above. It is small because each report of the
// engine's status has a copy for each queue.
type Times [timesBuckets]uint64

// maxTimesOctave is the octave of 65,535 packets. A longer queue counts as one of that length.
const (
	maxTimesOctave = 15
	timesBuckets   = (maxTimesOctave - int(octave) + 2) << int(octave)
)

func (t *Times) add(value, ns int64) {
	if ns > 0 {
		t[min(bucketOf(max(value, 0)), timesBuckets-1)] += uint64(ns)
	}
}

// Quantile returns the length that was not exceeded for a share (0 to 1) of the time, or 0 without
// values.
func (t *Times) Quantile(share float64) int64 {
	total := uint64(0)
	for _, ns := range t {
		total += ns
	}
	rest := share * float64(total)
	for i, ns := range t {
		rest -= float64(ns)
		if ns > 0 && rest <= 0 {
			return middle(i)
		}
	}
	return t.Max()
}

// Max returns the greatest length, or 0 without values.
func (t *Times) Max() int64 {
	for i := timesBuckets - 1; i >= 0; i-- {
		if t[i] > 0 {
			return middle(i)
		}
	}
	return 0
}

// Since are the times that passed since an earlier state.
func (t *Times) Since(earlier *Times) (d Times) {
	for i := range t {
		d[i] = t[i] - earlier[i]
	}
	return d
}

// MarshalText writes the times in few characters: base64 of the buckets that are not empty.
func (t Times) MarshalText() ([]byte, error) {
	return base64.RawStdEncoding.AppendEncode(nil, appendBuckets(nil, t[:])), nil
}

// UnmarshalText decodes the form of MarshalText.
func (t *Times) UnmarshalText(text []byte) error {
	*t = Times{}
	b, err := base64.RawStdEncoding.AppendDecode(nil, text)
	if err != nil {
		return fmt.Errorf("reading the times of a length: %w", err)
	}
	if !readBuckets(b, t[:]) {
		return errors.New("reading the times of a length: a bucket is cut off or out of range")
	}
	return nil
}

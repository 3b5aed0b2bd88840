package units

import (
	"fmt"
	"math"
	"strconv"
	"time"
)

// Flag reads a command-line flag into a variable. It implements pflag.Value.
type Flag[T comparable] struct {
	to    *T
	kind  string
	parse func(text string) (T, error)
	print func(T) string
}

// Set reads a value. After an error the variable is unchanged.
func (f *Flag[T]) Set(text string) error { return set(f.to, text, f.parse) }

// Type names the kind of value in help texts.
func (f *Flag[T]) Type() string { return f.kind }

// String is the value, empty for zero.
func (f *Flag[T]) String() string {
	var zero T
	if f.to == nil || *f.to == zero {
		return ""
	}
	return f.print(*f.to)
}

// RateFlag reads a rate above 0.
func RateFlag(to *Rate) *Flag[Rate] { return &Flag[Rate]{to, "rate", parseRateAbove0, Rate.String} }

func parseRateAbove0(text string) (Rate, error) {
	r, err := ParseRate(text)
	if err == nil && r == 0 {
		err = &SyntaxError{Text: text, Expected: "more than 0: " + expectedRate}
	}
	return r, err
}

// BitRateFlag reads a rate above 0. A number without a unit is in bit/s.
func BitRateFlag(to *uint64) *Flag[uint64] {
	parse := func(text string) (uint64, error) {
		if v, ok := ParseNumber(text); ok && math.Round(v) >= 1 && v < math.MaxInt64 {
			return uint64(math.Round(v)), nil
		}
		r, err := parseRateAbove0(text)
		return uint64(r), err
	}
	return &Flag[uint64]{to, "rate", parse, func(v uint64) string { return Rate(v).String() }}
}

// DurationFlag reads a duration. A number without a unit is in seconds.
func DurationFlag(to *time.Duration) *Flag[time.Duration] {
	parse := func(text string) (time.Duration, error) {
		if v, ok := ParseNumber(text); ok && v*1e9 < math.MaxInt64 {
			return time.Duration(math.Round(v * 1e9)), nil
		}
		d, err := ParseDuration(text)
		return time.Duration(d), err
	}
	return &Flag[time.Duration]{to, "duration", parse, func(d time.Duration) string { return Duration(d).String() }}
}

// BufferSizeFlag reads a size above 0 in bytes, as ParseBufferSize does.
func BufferSizeFlag(to *uint32) *Flag[uint32] {
	parse := func(text string) (uint32, error) {
		s, err := ParseBufferSize(text)
		if err == nil && (s < 1 || s > math.MaxUint32) {
			err = &SyntaxError{Text: text, Expected: expectedBufferSize}
		}
		return uint32(s), err
	}
	return &Flag[uint32]{to, "size", parse, func(v uint32) string { return Size(v).String() }}
}

// WholeFlag reads a whole number within limits.
func WholeFlag(to *uint32, least, most uint32) *Flag[uint32] {
	parse := func(text string) (uint32, error) {
		v, err := strconv.ParseUint(text, 0, 32)
		if err != nil || uint32(v) < least || uint32(v) > most {
			return 0, &SyntaxError{Text: text, Expected: fmt.Sprintf("a whole number from %d to %d", least, most)}
		}
		return uint32(v), nil
	}
	return &Flag[uint32]{to, "uint32", parse, func(v uint32) string { return strconv.FormatUint(uint64(v), 10) }}
}

// NumberFlag reads a number of at least 0.
func NumberFlag(to *float64) *Flag[float64] {
	parse := func(text string) (float64, error) {
		v, ok := ParseNumber(text)
		if !ok {
			return 0, &SyntaxError{Text: text, Expected: "a number of at least 0, such as 2.5"}
		}
		return v, nil
	}
	return &Flag[float64]{to, "number", parse, func(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }}
}

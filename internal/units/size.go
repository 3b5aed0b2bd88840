package units

import (
	"math"
	"strings"
)

// Size is a number of bytes.
type Size int64

const expectedSize = "a size in B, kB, MB, GB, KiB, MiB or GiB, such as 64 kB"

// ParseSize reads a size such as 64 kB or 2 MiB.
func ParseSize(text string) (Size, error) {
	v, err := sizes.parse(text, expectedSize)
	return Size(v), err
}

// String is the exact size in a decimal or a binary unit, whichever takes fewer digits: 64 kB, 2
// MiB.
func (s Size) String() string {
	decimal := sizes.print(int64(s))
	binary := binarySizes.print(int64(s))
	if s >= 1<<10 && digits(binary) < digits(decimal) {
		return binary
	}
	return decimal
}

// digits counts the letters of a printed number, without its unit.
func digits(printed string) int { return strings.IndexByte(printed, ' ') }

// Short is the size with three digits: 1.23 MB.
func (s Size) Short() string { return Sizes.Format(float64(s)) }

// MarshalText writes String.
func (s Size) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the grammar of ParseSize.
func (s *Size) UnmarshalText(text []byte) error { return set(s, string(text), ParseSize) }

const expectedBufferSize = "a size such as 64 kB, or a number of bytes, which k, M or G (of 1024) may follow"

// ParseBufferSize reads a size, a bare number of bytes, or a number with k, M or G of 1024 as
// socket tools have it.
func ParseBufferSize(text string) (Size, error) {
	number := text
	factor := 1.0
	for i, prefix := range []string{"k", "M", "G"} {
		if n, ok := strings.CutSuffix(text, prefix); ok {
			number = n
			factor = math.Pow(1024, float64(i+1))
		}
	}
	if v, ok := ParseNumber(number); ok && v*factor < math.MaxInt64 {
		return Size(math.Round(v * factor)), nil
	}
	return ParseSize(text)
}

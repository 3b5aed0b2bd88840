package units

import (
	"strconv"
	"strings"
)

// Share is a part of a whole, 0 to 1.
type Share float64

const expectedShare = "a share from 0 to 1, or in per cent, such as 0.002 or 0.2 %"

// ParseShare reads a share such as 0.002 or 0.2 %.
func ParseShare(text string) (Share, error) {
	number, percent := strings.CutSuffix(text, "%")
	v, ok := ParseNumber(strings.TrimRight(number, " "))
	if percent {
		v /= 100
	}
	if !ok || v > 1 {
		return 0, &SyntaxError{Text: text, Expected: expectedShare}
	}
	return Share(v), nil
}

// String is the share in per cent, with up to six digits: 0.2 %.
func (s Share) String() string { return strconv.FormatFloat(float64(s)*100, 'g', 6, 64) + " %" }

// MarshalText writes String.
func (s Share) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// UnmarshalText reads the grammar of ParseShare.
func (s *Share) UnmarshalText(text []byte) error { return set(s, string(text), ParseShare) }

package timewarp

import (
	"fmt"
	"math/big"
	"regexp"
	"strings"
)

// Ratio is N = Num / Den, in lowest terms: how many times as fast as real time the clock runs.
type Ratio struct{ Num, Den uint32 }

// One is real time.
var One = Ratio{1, 1}

// Limits of the module for N and for the terms of the fraction.
const (
	slowest = 10   // N is at least 1/10
	fastest = 1000 // greatest ratio
	maxTerm = 1_000_000
)

// maxText is longer than any ratio that is within the limits.
const maxText = 24

// RatioPattern is a regular expression of ratios: a number without an exponent, or a fraction.
const RatioPattern = `^[0-9]+(\.[0-9]+|/[0-9]+)?$`

var ratioRegexp = regexp.MustCompile(RatioPattern)

// ParseRatio reads N: a whole number, a fraction or a decimal number (10, 5/2, 2.5).
func ParseRatio(text string) (Ratio, error) {
	bad := func(why string) (Ratio, error) { return Ratio{}, fmt.Errorf("ratio %q: %s", shorten(text), why) }
	if !ratioRegexp.MatchString(strings.TrimPrefix(text, "-")) || len(text) > maxText {
		return bad("want a number such as 10, 5/2 or 0.5, from 1/10 to 1000")
	}
	r, ok := new(big.Rat).SetString(text)
	switch {
	case !ok: // a division by 0
		return bad("want a number such as 10, 5/2 or 0.5, from 1/10 to 1000")
	case r.Sign() <= 0:
		return bad("time can only go forward: want 1/10 to 1000")
	case r.Cmp(big.NewRat(1, slowest)) < 0 || r.Cmp(big.NewRat(fastest, 1)) > 0:
		return bad("out of range: want 1/10 to 1000")
	case r.Num().Cmp(big.NewInt(maxTerm)) > 0 || r.Denom().Cmp(big.NewInt(maxTerm)) > 0:
		return bad("too fine: in lowest terms both of its terms must be at most 1000000")
	}
	return Ratio{uint32(r.Num().Uint64()), uint32(r.Denom().Uint64())}, nil
}

func shorten(text string) string {
	if len(text) > maxText {
		return text[:maxText] + "..."
	}
	return text
}

// String is the module's spelling: 10 or 5/2.
func (r Ratio) String() string {
	if r.Den == 1 {
		return fmt.Sprint(r.Num)
	}
	return fmt.Sprintf("%d/%d", r.Num, r.Den)
}

// Float is N.
func (r Ratio) Float() float64 { return float64(r.Num) / float64(r.Den) }

// MarshalText makes a ratio a string in JSON, because a fraction is no number there.
func (r Ratio) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// UnmarshalText decodes the form of MarshalText.
func (r *Ratio) UnmarshalText(text []byte) (err error) {
	*r, err = ParseRatio(string(text))
	return err
}

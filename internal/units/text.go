package units

import (
	"math"
	"strconv"
)

// ThreeDigits writes a number up to 999 with three digits: 0.12, 1.23, 12.3 or 123.
func ThreeDigits(v float64) string {
	switch {
	case v < 9.995:
		return strconv.FormatFloat(v, 'f', 2, 64)
	case v < 99.95:
		return strconv.FormatFloat(v, 'f', 1, 64)
	}
	return strconv.FormatFloat(v, 'f', 0, 64)
}

// Prefixed writes a number with three digits and its SI prefix: 12.3 and M. Whole numbers below
// 1000 have no decimals.
func Prefixed(v float64) (digits, prefix string) {
	for _, p := range []string{"k", "M", "G", "T"} {
		if math.Abs(v) < 999.5 {
			break
		}
		v /= 1000
		prefix = p
	}
	if prefix == "" && v == math.Trunc(v) {
		return strconv.FormatFloat(v, 'f', 0, 64), ""
	}
	return ThreeDigits(v), prefix
}

// Percent writes a share from 0 to 1. Shares above zero that round to zero have their own sign.
func Percent(share float64) string {
	switch {
	case share > 0 && share < 0.001:
		return "<0.1%"
	case share < 0.0995:
		return strconv.FormatFloat(100*share, 'f', 1, 64) + "%"
	}
	return strconv.FormatFloat(100*share, 'f', 0, 64) + "%"
}

// Count writes a number of things: 1 flow, 2 flows. The plural of the noun ends in s.
func Count[N int | int64 | uint32 | uint64](n N, noun string) string {
	text := strconv.FormatInt(int64(n), 10) + " " + noun
	if n != 1 {
		text += "s"
	}
	return text
}

// Digits writes a number with so many significant digits and without an exponent, "-" if it is not
// finite.
func Digits(v float64, digits int) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return "-"
	case v == 0:
		return "0"
	}
	// Rounded first: 999.99 with four digits has no decimals left.
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'e', digits-1, 64), 64)
	decimals := digits - 1 - int(math.Floor(math.Log10(math.Abs(rounded))))
	return strconv.FormatFloat(v, 'f', min(max(decimals, 0), 9), 64)
}

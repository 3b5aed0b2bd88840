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

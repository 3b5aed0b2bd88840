package show

import (
	"fmt"
	"math"
	"strconv"

	"airtide/internal/lab/judge"
)

// absent stands for a figure that there is not.
const absent = "-"

// digits of printed figures: what a paper prints, and more than repeats of a run agree in.
const digits = 4

// number writes a value with four significant digits and no exponent.
func number(v float64) string {
	switch {
	case math.IsNaN(v) || math.IsInf(v, 0):
		return absent
	case v == 0:
		return "0"
	}
	// Rounded first: 999.99 has no decimals left.
	rounded, _ := strconv.ParseFloat(strconv.FormatFloat(v, 'e', digits-1, 64), 64)
	decimals := digits - 1 - int(math.Floor(math.Log10(math.Abs(rounded))))
	return strconv.FormatFloat(v, 'f', min(max(decimals, 0), 9), 64)
}

func interval(i judge.Interval) string {
	if math.IsNaN(i.Low) || math.IsNaN(i.High) {
		return absent
	}
	return fmt.Sprintf("%s .. %s", number(i.Low), number(i.High))
}

// withUnit names a measurement with its unit.
func withUnit(name, unit string) string {
	if unit == "" {
		return name
	}
	return fmt.Sprintf("%s (%s)", name, unit)
}

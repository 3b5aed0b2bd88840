package show

import (
	"fmt"
	"math"

	"airtide/internal/lab/judge"
	"airtide/internal/units"
)

// absent stands for a missing number.
const absent = "-"

// digits is the number of printed digits, as in papers. The repeats of a run agree in fewer digits.
const digits = 4

func number(v float64) string { return units.Digits(v, digits) }

func interval(i judge.Interval) string {
	if math.IsNaN(i.Low) || math.IsNaN(i.High) {
		return absent
	}
	return fmt.Sprintf("%s .. %s", number(i.Low), number(i.High))
}

// withUnit returns the name of a measurement with its unit.
func withUnit(name, unit string) string {
	if unit == "" {
		return name
	}
	return fmt.Sprintf("%s (%s)", name, unit)
}

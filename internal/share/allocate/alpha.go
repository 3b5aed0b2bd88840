package allocate

import "airtide/internal/units"

// ParseAlpha reads a number of at least 0, or inf.
func ParseAlpha(text string) (float64, error) {
	if text == "inf" {
		return FairnessFirst, nil
	}
	v, ok := units.ParseNumber(text)
	if !ok {
		return 0, &units.SyntaxError{Text: text, Expected: "a number of at least 0, or inf"}
	}
	return v, nil
}

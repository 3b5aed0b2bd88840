package units

import (
	"math"
	"strconv"
)

// Quantity is a number with a unit as a text gives it.
type Quantity struct {
	Number float64
	// Unit is empty for a bare number and for a duration of several parts.
	Unit string
	// Base is the value in base units: bit/s, s, bytes, packets or 1.
	Base float64
}

// ParseQuantity reads a bare number, duration, number of packets, rate, size or share.
func ParseQuantity(text string) (Quantity, bool) {
	if v, ok := ParseNumber(text); ok {
		return Quantity{v, "", v}, true
	}
	q := Quantity{Number: math.NaN()}
	if m := quantityRegexp.FindStringSubmatch(text); m != nil {
		q.Number, _ = strconv.ParseFloat(m[1], 64)
		q.Unit = m[4]
	}
	if d, err := ParseDuration(text); err == nil {
		q.Base = d.Seconds()
		if _, ok := times.lookUp(q.Unit); !ok { // 1m30s
			q.Number = q.Base
			q.Unit = ""
		}
		return q, true
	}
	if packets := math.Round(q.Number); (q.Unit == "packet" || q.Unit == "packets") && packets >= 1 {
		q.Base = packets
		return q, true
	}
	if r, err := ParseRate(text); err == nil {
		q.Base = float64(r)
		return q, true
	}
	if s, err := ParseSize(text); err == nil {
		q.Base = float64(s)
		return q, true
	}
	if s, err := ParseShare(text); err == nil {
		q.Base = float64(s)
		return q, true
	}
	return Quantity{}, false
}

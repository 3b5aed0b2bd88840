package summary

import (
	"fmt"
	"strings"
	"time"

	"airtide/internal/units"
)

// absent stands in text for a value that the source could not see.
const absent = "-"

// metric prints a number with three digits and an SI prefix: 94.2M.
func metric(v float64) string {
	digits, prefix := units.Prefixed(v)
	return digits + prefix
}

// show formats a value, or returns the sign for an absent value.
func show[T any](v *T, format func(T) string) string {
	if v == nil {
		return absent
	}
	return format(*v)
}

func bytesText(v *int64) string  { return show(v, func(n int64) string { return metric(float64(n)) }) }
func rateText(v *float64) string { return show(v, metric) }
func count(v *int64) string      { return show(v, func(n int64) string { return fmt.Sprint(n) }) }

// milliseconds prints microseconds as ms with three digits.
func milliseconds(us int64) string { return units.ThreeDigits(float64(us) / 1000) }

func durationText(s float64) string {
	d := time.Duration(s * 1e9)
	switch {
	case d < time.Second:
		return d.Round(time.Millisecond).String()
	case d < time.Minute:
		return fmt.Sprintf("%.1fs", s)
	}
	return d.Round(time.Second).String()
}

// text prints the retransmitted packets and their share of the delivered ones.
func (r *Retransmissions) text() string {
	if r.DeliveredPct == nil || *r.Packets == 0 {
		return count(r.Packets)
	}
	return count(r.Packets) + " " + units.Percent(*r.DeliveredPct/100)
}

// share is a named part of a whole.
type share struct {
	name string
	part float64
}

func (s *CAStateShare) list() []share {
	if s == nil {
		return nil
	}
	return []share{
		{"open", s.Open}, {"disorder", s.Disorder}, {"cwr", s.CWR}, {"recovery", s.Recovery}, {"loss", s.Loss},
	}
}

// sharesText formats the nonzero parts.
func sharesText(shares []share) string {
	var texts []string
	for _, s := range shares {
		if s.part > 0 {
			texts = append(texts, s.name+" "+units.Percent(s.part))
		}
	}
	if len(texts) == 0 {
		return absent
	}
	return strings.Join(texts, ", ")
}

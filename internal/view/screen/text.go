package screen

import (
	"fmt"
	"strconv"
	"strings"

	"github.com/charmbracelet/x/ansi"

	"airtide/internal/diagnose"
	"airtide/internal/tcp"
	"airtide/internal/units"
)

// absentText replaces an unknown value.
const absentText = "-"

func orDash(t Text) string {
	if t == "" {
		return absentText
	}
	return units.Printable(string(t))
}

func processText(r *Row) string {
	switch {
	case r.Comm == "" && r.PID == tcp.Absent:
		return absentText
	case r.PID == tcp.Absent:
		return units.Printable(string(r.Comm))
	}
	return fmt.Sprintf("%s/%d", orDash(r.Comm), r.PID)
}

// stateText returns the state of a flow or, after its end, the reason for the end.
func stateText(r *Row) string {
	if r.Closed {
		return "gone"
	}
	return orDash(r.State)
}

// countText writes a number of things in at most five cells.
func countText(v Value) string {
	if v == tcp.Absent || (v >= 0 && v < 100_000) {
		return plainText(v)
	}
	return scaledText(v)
}

func plainText(v Value) string {
	if v == tcp.Absent {
		return absentText
	}
	return strconv.FormatInt(int64(v), 10)
}

// scaledText writes a number with three digits and a decimal prefix: 999, 1.50k, 15.0M.
func scaledText(v Value) string {
	if v == tcp.Absent {
		return absentText
	}
	sign := ""
	f := float64(v)
	if f < 0 {
		sign = "-"
		f = -f
	}
	if f < 1000 {
		return plainText(v)
	}
	prefix := 0
	for f >= 1000 || units.ThreeDigits(f) == "1000" {
		f /= 1000
		prefix++
	}
	return sign + units.ThreeDigits(f) + "kMGTPE"[prefix-1:prefix]
}

// msText writes microseconds as milliseconds.
func msText(us Value) string {
	switch {
	case us == tcp.Absent:
		return absentText
	case us == 0:
		return "0"
	case us < 1000:
		return strconv.FormatFloat(float64(us)/1000, 'f', 3, 64)
	case us >= 100_000_000:
		return scaledText(us / 1000)
	}
	return units.ThreeDigits(float64(us) / 1000)
}

func rttText(r *Row) string {
	if r.Srtt == tcp.Absent && r.MinRTT == tcp.Absent {
		return absentText
	}
	return msText(r.Srtt) + "/" + msText(r.MinRTT)
}

// limitText is the limit of the rate.
func limitText(r *Row) string {
	if r.Limit == "" || r.Limit == Text(diagnose.Unknown.String()) {
		return absentText
	}
	return string(r.Limit)
}

// cell cuts or pads a text to a width in cells.
func cell(s string, width int, right bool) string {
	w := ansi.StringWidth(s)
	if w > width {
		s = ansi.Truncate(s, width, "…")
		w = ansi.StringWidth(s)
	}
	pad := strings.Repeat(" ", max(0, width-w))
	if right {
		return pad + s
	}
	return s + pad
}

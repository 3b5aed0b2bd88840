package document

import (
	"encoding"
	"fmt"
	"math"
	"testing"
)

type quantity interface {
	encoding.TextUnmarshaler
	fmt.Stringer
}

func TestQuantitiesAreReadAndWritten(t *testing.T) {
	for _, c := range []struct {
		text   string
		number float64
		shown  string
	}{
		{"54 Mbit/s", 54e6, "54 Mbit/s"},
		{"72.2Mbit/s", 72.2e6, "72.2 Mbit/s"},
		{"1 Gbit/s", 1e9, "1 Gbit/s"},
		{"20 ms", 0.02, "20 ms"},
		{"0.5 s", 0.5, "500 ms"},
		{"2 min", 120, "120 s"},
		{"64 kB", 64e3, "64 kB"},
		{"64 KiB", 65536, "64 KiB"},
		{"100 packets", 100, "100 packets"},
		{"0.2 %", 0.002, "0.2 %"},
	} {
		if got := NumberOf(c.text); got != c.number {
			t.Errorf("%s is %g, expected %g", c.text, got, c.number)
		}
		shown := ""
		for _, q := range []quantity{new(Rate), new(Duration), new(Limit), new(Size), new(Share)} {
			if q.UnmarshalText([]byte(c.text)) == nil && shown == "" {
				shown = q.String()
				if q.UnmarshalText([]byte(shown)) != nil || NumberOf(shown) != c.number {
					t.Errorf("%s is written as %s, which is something else", c.text, shown)
				}
			}
		}
		if shown != c.shown {
			t.Errorf("%s is written as %q, expected %q", c.text, shown, c.shown)
		}
	}
	for _, text := range []string{
		"", "fast", "54", "54 MHz", "-1 ms", "1 ms ms", "1. ms", ".5 s", "99999999999 Gbit/s", "NaN", "Inf s",
	} {
		for _, q := range []quantity{new(Rate), new(Duration), new(Limit), new(Size), new(Share)} {
			if err := q.UnmarshalText([]byte(text)); err == nil {
				t.Errorf("%q is read as the %T %v", text, q, q)
			}
		}
	}
	if !math.IsNaN(NumberOf("cubic")) {
		t.Error("cubic is a number")
	}
}

package plot

import (
	"testing"

	"airtide/internal/view/figure"
)

func TestUnitsFollowTheValues(t *testing.T) {
	for _, c := range []struct {
		s    figure.Scale
		v    float64
		want string
	}{
		{bitRate, 250e3, "250 kbit/s"},
		{bitRate, 5.5e6, "5.5 Mbit/s"},
		{bitRate, 4e9, "4000 Mbit/s"},
		{bitRate, 25e9, "25 Gbit/s"},
		{microseconds, 80, "80 µs"},
		{microseconds, 20_000, "20 ms"},
		{microseconds, 12e6, "12 s"},
		{octets, 999, "999 B"},
		{octets, 2.6e6, "2600 kB"},
		{octets, 12e6, "12 MB"},
	} {
		if got := c.s.Format(c.v); got != c.want {
			t.Errorf("%g is %q, want %q", c.v, got, c.want)
		}
	}
}

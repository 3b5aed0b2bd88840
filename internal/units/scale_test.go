package units

import "testing"

func TestUnitsFollowTheValues(t *testing.T) {
	for _, c := range []struct {
		s    Scale
		v    float64
		want string
	}{
		{Rates, 250e3, "250 kbit/s"},
		{Rates, 5.5e6, "5.5 Mbit/s"},
		{Rates, 4e9, "4000 Mbit/s"},
		{Rates, 25e9, "25 Gbit/s"},
		{Microseconds, 80, "80 µs"},
		{Microseconds, 20_000, "20 ms"},
		{Microseconds, 12e6, "12 s"},
		{Sizes, 999, "999 B"},
		{Sizes, 2.6e6, "2600 kB"},
		{Sizes, 12e6, "12 MB"},
	} {
		if got := c.s.Format(c.v); got != c.want {
			t.Errorf("%g is %q, want %q", c.v, got, c.want)
		}
	}
}

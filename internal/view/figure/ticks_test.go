package figure

import (
	"strings"
	"testing"
	"time"
)

func texts(ticks []tick) string {
	var all []string
	for _, t := range ticks {
		all = append(all, t.text)
	}
	return strings.Join(all, " ")
}

func TestTicksAreRound(t *testing.T) {
	for _, c := range []struct {
		got  []tick
		want string
	}{
		{evenTicks(0, 10, 5), "0 2 4 6 8 10"},
		{evenTicks(0, 1, 4), "0.0 0.5 1.0"},
		{evenTicks(2.4, 2.9, 5), "2.4 2.5 2.6 2.7 2.8 2.9"},
		{evenTicks(12.344, 12.346, 4), "12.3440 12.3445 12.3450 12.3455 12.3460"},
		{evenTicks(-3, 3, 3), "-2 0 2"},
		{evenTicks(0, 0, 5), "0"},
		{logTicks(0.05, 300, 6), "0.1 1 10 100"},
		{logTicks(1, 50, 8), "1 2 5 10 20 50"},
		{logTicks(21, 43, 4), "30 40"},
	} {
		if got := texts(c.got); got != c.want {
			t.Errorf("ticks %q, want %q", got, c.want)
		}
	}
}

func TestClockTicksAreRoundTimesOfDay(t *testing.T) {
	kolkata := time.FixedZone("IST", 5*3600+1800)
	for _, c := range []struct {
		origin time.Time
		lo, hi float64
		n      int
		want   string
	}{
		{time.Date(2026, 3, 14, 15, 9, 26, 5e8, time.UTC), 0, 10, 5, "15:09:28 15:09:30 15:09:32 15:09:34 15:09:36"},
		{time.Date(2026, 3, 14, 15, 9, 26, 5e8, time.UTC), 0, 0.5, 3, "15:09:26.6 15:09:26.8 15:09:27.0"},
		{time.Date(2026, 3, 14, 22, 50, 0, 0, time.UTC), 0, 3600, 4, "23:00 23:15 23:30 23:45"},
		{time.Date(2026, 3, 14, 22, 50, 0, 0, kolkata), 0, 7200, 2, "23:00 00:00"},
	} {
		if got := texts(clockTicks(c.origin, c.lo, c.hi, c.n)); got != c.want {
			t.Errorf("ticks %q, want %q", got, c.want)
		}
	}
}

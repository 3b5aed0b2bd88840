package machine

import (
	"testing"
	"time"
)

func TestProcessorTime(t *testing.T) {
	before, err := parseProcessorTime("cpu  100 20 30 4000 500 6 7 80 9 10")
	if err != nil {
		t.Fatal(err)
	}
	// user, nice, system, irq and softirq; guests' time is in the user's.
	want := ProcessorTime{All: 47430 * time.Millisecond, Busy: 1630 * time.Millisecond, Stolen: 800 * time.Millisecond}
	if before != want {
		t.Errorf("read as %+v, want %+v", before, want)
	}
	after, err := parseProcessorTime("cpu  160 20 30 4020 500 6 7 100 69 10")
	if err != nil {
		t.Fatal(err)
	}
	if got := after.StolenPercent(before); got != 20 {
		t.Errorf("%v %% are stolen, want 20", got)
	}
	if got := before.StolenPercent(before); got != 0 {
		t.Errorf("in no time %v %% are stolen", got)
	}
	for _, line := range []string{"", "cpu 1 2 3", "intr 1 2 3 4 5 6 7 8 9", "cpu 1 2 3 4 5 6 7 x 9"} {
		if p, err := parseProcessorTime(line); err == nil {
			t.Errorf("%q is read as %+v", line, p)
		}
	}
	if now, err := ReadProcessorTime(); err != nil || now.Busy <= 0 || now.All < now.Busy+now.Stolen {
		t.Errorf("of this computer it is %+v, %v", now, err)
	}
}

package run

import (
	"strings"
	"testing"
	"time"

	"airtide/internal/cell"
	"airtide/internal/cell/engine"
)

func TestWhatTheEmulatorLosesMakesARunNotValid(t *testing.T) {
	status := func(change func(*cell.Status)) *cell.Status {
		s := &cell.Status{
			Engine:    &cell.EngineStatus{Slots: 4711, LagLimitNs: 2e6, Servers: []engine.PortStatus{{Name: "server"}}},
			Terminals: make([]cell.TerminalStatus, 2),
		}
		change(s)
		return s
	}
	for _, c := range []struct {
		name   string
		change func(*cell.Status)
		want   []string
		late   bool
	}{
		{"nothing", func(*cell.Status) {}, nil, false},
		{"late", func(s *cell.Status) { s.Engine.LagExceeded = true }, []string{"fell behind", "12.5 %"}, true},
		{"no slot", func(s *cell.Status) { s.Engine.Exhausted = 7 }, []string{"lost 7 packets", "4711"}, false},
		{
			"of a terminal", func(s *cell.Status) { s.Terminals[1].Port.KernelDropped = 3 },
			[]string{"lost 3 packets", "read"},
			true,
		},
		{
			"of a server", func(s *cell.Status) { s.Engine.Servers[0].KernelDropped = 4 },
			[]string{"lost 4 packets", "read"},
			true,
		},
	} {
		s := status(c.change)
		problems := emulatorProblems(s, 12.5)
		if len(problems) != min(len(c.want), 1) {
			t.Errorf("%s: problems %q", c.name, problems)
		}
		for _, want := range c.want {
			if !strings.Contains(strings.Join(problems, ""), want) {
				t.Errorf("%s: %q lacks %q", c.name, problems, want)
			}
		}
		if late(s) != c.late {
			t.Errorf("%s: late is %t", c.name, late(s))
		}
	}
	if problems := emulatorProblems(nil, 0); problems != nil {
		t.Errorf("without a status: %q", problems)
	}
}

func TestCountersThatAreReadLateMakeARunNotValid(t *testing.T) {
	const warmup, end = 8 * time.Second, 20 * time.Second
	for _, c := range []struct {
		from, to time.Duration
		want     string
	}{
		{warmup, end, ""},
		{warmup + time.Second, end + time.Second, ""},
		{warmup + 1210*time.Millisecond, end, "1.21s late"},
		{warmup, end + 5*time.Second, "5s late"},
	} {
		s := &cellSampler{
			warmup: warmup, from: &cell.Status{TimeNs: int64(c.from)}, to: &cell.Status{TimeNs: int64(c.to)},
		}
		if got := s.readLate(end); !strings.Contains(got, c.want) || (got == "") != (c.want == "") {
			t.Errorf("read at %s and %s: %q, want %q", c.from, c.to, got, c.want)
		}
	}
	if got := (&cellSampler{}).readLate(end); got != "" {
		t.Errorf("a run that ended before: %q", got)
	}
}

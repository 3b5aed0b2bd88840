package run

import (
	"strings"
	"testing"

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

package run

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airtide/internal/lab/plan"
)

// A run is invalid if a clock ran at another rate than requested, or if a kernel reported a fault.
func TestWhatMakesARunWithAVirtualMachineUnusable(t *testing.T) {
	for _, c := range []struct {
		ratio         plan.ClockRatio
		clock, within float64
		wrong         bool
	}{
		{"10", 10.05, 0, false},
		{"10", 10.15, 0, true},
		{"10", 10.15, 0.01, false}, // it is not known better
		{"10", 1, 0.01, true},
		{"", 1.001, 0, false},
	} {
		g := &guestClock{name: "phone", asked: c.ratio.Value(), rate: c.clock, rateError: c.within}
		if said := g.problem(); (said != "") != c.wrong || c.wrong && !strings.Contains(said, "phone") {
			t.Errorf("%+v: %q", c, said)
		}
	}
	for said, complaint := range map[string]string{
		"": "", "a line\n": "",
		"one\nWARNING: CPU: 0 PID: 7 at net/ipv4/tcp.c:1\nCall Trace:\n": "" +
			"the kernel of phone reported: WARNING: CPU: 0 PID: 7 at net/ipv4/tcp.c:1",
	} {
		m := &machines{dir: t.TempDir()}
		console, err := os.Create(filepath.Join(m.dir, consoleFile("phone")))
		if err != nil {
			t.Fatal(err)
		}
		if _, err := console.WriteString(said); err != nil {
			t.Fatal(err)
		}
		if err := m.saveConsole(&guest{name: "phone", console: console}); err != nil {
			t.Error(err)
		}
		if got := strings.Join(m.problems, "; "); got != complaint {
			t.Errorf("%q makes the problems %q, want %q", said, got, complaint)
		}
		if _, err := os.Stat(console.Name()); (err == nil) != (said != "") {
			t.Errorf("with %q its file: %v", said, err)
		}
	}
}

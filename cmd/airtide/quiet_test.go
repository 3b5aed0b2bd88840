package main

import (
	"path/filepath"
	"strings"
	"testing"

	"airtide/internal/tcp"
	"airtide/internal/view/terminal"
)

func TestWhatIsLostIsSaidHoweverQuiet(t *testing.T) {
	needRoot(t)
	stop := make(chan bool)
	go busyTraffic(stop)
	dir := t.TempDir()
	for _, args := range [][]string{nil, {"-q"}} {
		_, stderr, status := run(
			t,
			append(
				[]string{
					"record",
					"--source",
					"bpf",
					"--max-flows",
					"1",
					"-f",
					"-o",
					filepath.Join(dir, "a.atr"),
					"-d",
					"1s",
				},
				args...)...)
		if status != 0 || !strings.Contains(stderr, "raise --max-flows") {
			t.Errorf("record %v: status %d: %s", args, status, stderr)
		}
	}
	close(stop)
	// Of much traffic the kernel itself leaves out a run now and then, and what is under way ends a
	// little later.
	var stderr string
	for range 5 {
		var status int
		if _, stderr, status = run(t, "record", "-q", "-f", "-o", filepath.Join(dir, "b.atr"), "-d", "1s"); status != 0 {
			t.Fatalf("a quiet recording: status %d: %s", status, stderr)
		}
		if stderr == "" {
			return
		}
	}
	t.Errorf("five quiet recordings say: %s", stderr)
}

func TestLossIsSaidWithWhatWouldHelp(t *testing.T) {
	for _, c := range []struct {
		loss tcp.Loss
		want string
	}{
		{tcp.Loss{PerCPU: []uint64{0, 0}}, ""},
		{
			tcp.Loss{PerCPU: []uint64{0, 7}, Orphans: 2, Missed: 1},
			"10 records lost: [0 7] per processor, 2 of unknown flows, 1 never made; a larger --buffer-mb or a " +
				"lower --density helps\n",
		},
		{tcp.Loss{Untracked: 3}, "3 times a flow could not be followed because the table was full: raise " +
			"--max-flows\n"},
	} {
		var b strings.Builder
		printLoss(&terminal.Terminal{Err: &b}, &c.loss)
		if b.String() != c.want {
			t.Errorf("%q, want %q", b.String(), c.want)
		}
	}
}

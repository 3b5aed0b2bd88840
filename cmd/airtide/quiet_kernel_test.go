//go:build kernel

package main

import (
	"path/filepath"
	"strings"
	"testing"

	"airtide/test/need"
)

func TestQuietRecordingsReportLosses(t *testing.T) {
	need.Root(t)
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
	// Under heavy traffic the kernel omits a run now and then, and runs in progress end a little
	// later.
	var stderr string
	for range 5 {
		var status int
		_, stderr, status = run(t, "record", "-q", "-f", "-o", filepath.Join(dir, "b.atr"), "-d", "1s")
		if status != 0 {
			t.Fatalf("a quiet recording: status %d: %s", status, stderr)
		}
		if stderr == "" {
			return
		}
	}
	t.Errorf("five quiet recordings say: %s", stderr)
}

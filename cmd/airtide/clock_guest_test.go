//go:build guest

package main

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"testing"

	"airtide/internal/vm"
	"airtide/test/need"
)

// clockScript records a transfer of five seconds while the wall clock steps back by years, and
// forward again.
const clockScript = `set -e
ip link set lo up
iperf3 -s -D -1 >&2
sleep 1
airtide record --source $1 -o /a.atr --force -- sh -c '
	iperf3 -c 127.0.0.1 -t 5 -b 1M &
	sleep 1
	date -s 2001-01-01
	sleep 1
	date -s 2037-01-01
	wait' >&2
airtide info --json /a.atr
`

// Recordings have the times of the monotonic clock, so steps of the wall clock change none.
func TestStepsOfTheWallClockChangeNoRecording(t *testing.T) {
	t.Parallel()
	need.Guest(t)
	kernel, err := vm.Fetch(t.Context(), "6.1")
	if err != nil {
		t.Fatal(err)
	}
	var programs []string
	for _, name := range []string{"sh", "ip", "iperf3", "date", "sleep"} {
		path, err := exec.LookPath(name)
		if err != nil {
			t.Fatalf("%v: make setup installs it", err)
		}
		programs = append(programs, path)
	}
	var console bytes.Buffer
	g, err := vm.Start(t.Context(), vm.Config{
		Kernel: kernel, Program: built(t), Programs: programs, MemoryMB: 768, Console: &console,
	})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Close()
	for _, source := range []string{"bpf", "diag"} {
		var out, said bytes.Buffer
		err = g.Run(t.Context(), vm.Command{
			Path: programs[0], Args: []string{"-c", clockScript, "sh", source},
			Env:    []string{"PATH=/bin:/sbin:/usr/bin:/usr/sbin"},
			Stdout: &out, Stderr: &said,
		})
		if err != nil {
			t.Fatalf("%s: %v\n%s\n%s\n%s", source, err, &out, &said, &console)
		}
		var r struct {
			Totals struct {
				Flows int
			}
			Flows []struct {
				ActiveS float64 `json:"active_s"`
			}
		}
		if err := json.Unmarshal(out.Bytes(), &r); err != nil {
			t.Fatalf("%s: %v\n%s", source, err, &out)
		}
		longest := 0.0
		for _, f := range r.Flows {
			longest = max(longest, f.ActiveS)
		}
		if r.Totals.Flows < 2 || longest < 4 || longest > 9 {
			t.Errorf("%s: %d flows, the longest lasts %g s, want 5 s\n%s", source, r.Totals.Flows, longest, &said)
		}
	}
}

//go:build guest

package main

import (
	"encoding/json"
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
	runScript := inGuest(t, kernel, []string{"ip", "iperf3", "date", "sleep"}, nil)
	for _, source := range []string{"bpf", "diag"} {
		out, said := runScript(clockScript, source)
		var r struct {
			Totals struct {
				Flows int
			}
			Flows []struct {
				ActiveS float64 `json:"active_s"`
			}
		}
		if err := json.Unmarshal(out, &r); err != nil {
			t.Fatalf("%s: %v\n%s", source, err, out)
		}
		longest := 0.0
		for _, f := range r.Flows {
			longest = max(longest, f.ActiveS)
		}
		if r.Totals.Flows < 2 || longest < 4 || longest > 9 {
			t.Errorf("%s: %d flows, the longest lasts %g s, want 5 s\n%s", source, r.Totals.Flows, longest, said)
		}
	}
}

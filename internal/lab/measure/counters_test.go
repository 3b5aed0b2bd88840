package measure

import (
	"math"
	"testing"

	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
)

func TestCountersOfATerminal(t *testing.T) {
	r := &Run{Machines: []result.Machine{
		{Name: "phone", Counters: map[string]uint64{
			"RetransSegs": 5, "TCPTimeouts": 4, "TCPDSACKRecv": 3, "TCPSackRecovery": 1, "TCPRenoRecovery": 1,
			"TCPLossUndo": 2, "TCPSpuriousRTOs": 1,
		}},
		{Name: "board"},
	}}
	for q, want := range map[plan.Quantity]float64{
		"tcp_errors": 14, "tcp_retransmits": 5, "tcp_timeouts": 4, "tcp_duplicates": 3, "tcp_recoveries": 2,
		"tcp_spurious_timeouts":  3,
		"tcp_failed_retransmits": 0,
	} {
		if got := r.terminal(q, "phone"); got != want {
			t.Errorf("%s of phone is %g, want %g", q, got, want)
		}
		for _, name := range []string{"board", "nobody"} {
			if got := r.terminal(q, name); !math.IsNaN(got) {
				t.Errorf("%s of %s is %g, and was not counted", q, name, got)
			}
		}
	}
}

func TestEveryCountedQuantityCanBeMeasured(t *testing.T) {
	for q := range counters {
		if q.OfFlows() || q.OfCell() {
			t.Errorf("%s is not of terminals", q)
		}
	}
}

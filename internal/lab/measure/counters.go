package measure

import (
	"math"

	"airtide/internal/lab/plan"
)

// counters lists the kernel counters whose sum is a quantity of a terminal.
var counters = map[plan.Quantity][]string{
	"tcp_errors": {
		"RetransSegs", "TCPTimeouts", "TCPDSACKRecv", "TCPSackRecovery", "TCPRenoRecovery", "TCPRetransFail",
	},
	"tcp_retransmits":        {"RetransSegs"},
	"tcp_timeouts":           {"TCPTimeouts"},
	"tcp_duplicates":         {"TCPDSACKRecv"},
	"tcp_recoveries":         {"TCPSackRecovery", "TCPRenoRecovery"},
	"tcp_failed_retransmits": {"TCPRetransFail"},
	"tcp_spurious_timeouts":  {"TCPLossUndo", "TCPSpuriousRTOs"},
	"tcp_probes":             {"TCPLossProbes"},
	"tcp_syn_retransmits":    {"TCPSynRetrans"},
}

// counted returns the sum of some counters of a machine; NaN if they were not read.
func (r *Run) counted(names []string, machine string) float64 {
	for _, m := range r.Machines {
		if m.Name != machine || m.Counters == nil {
			continue
		}
		var sum uint64
		for _, name := range names {
			sum += m.Counters[name]
		}
		return float64(sum)
	}
	return math.NaN()
}

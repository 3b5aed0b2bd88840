package workload

import (
	"airtide/internal/lab/machine"
	"airtide/internal/lab/plan"
)

// Client returns the program that opens a protocol's connections.
func Client(p plan.Protocol) machine.Tool { return clients[p] }

// Tools returns the programs that a protocol's flows need.
func Tools(p plan.Protocol) []machine.Tool {
	switch client := clients[p]; client.Package {
	case machine.Curl.Package:
		return []machine.Tool{client, machine.Httpd}
	default:
		return []machine.Tool{client}
	}
}

package lab

import (
	"errors"
	"fmt"
	"os"

	"airtide/lab/machine"
	"airtide/lab/plan"
	"airtide/lab/workload"
)

// Preflight says what this machine lacks to run an experiment, all of it at once.
func Preflight(p *plan.Plan) error {
	var problems []error
	if os.Geteuid() != 0 {
		problems = append(problems, errors.New("network namespaces need root: run it with sudo"))
	}
	for _, device := range []string{"/dev/net/tun"} {
		if _, err := os.Stat(device); err != nil {
			problems = append(problems, fmt.Errorf("%w: the servers of an experiment need TUN (modprobe tun)", err))
		}
	}
	for _, t := range tools(p) {
		if _, err := t.Path(); err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(problems...)
}

// tools are those that an experiment needs.
func tools(p *plan.Plan) []machine.Tool {
	var all []machine.Tool
	seen := map[string]bool{}
	need := func(tools ...machine.Tool) {
		for _, t := range tools {
			if !seen[t.Package] {
				seen[t.Package] = true
				all = append(all, t)
			}
		}
	}
	for i := range p.Points {
		s := p.Points[i].Setup
		for _, f := range s.Flows {
			need(workload.Tools(f.Flow.Protocol)...)
		}
		if len(s.RecordPackets) > 0 {
			need(tcpdump)
		}
	}
	return all
}

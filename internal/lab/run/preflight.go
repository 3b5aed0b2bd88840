package run

import (
	"errors"
	"fmt"
	"os"

	"airtide/internal/lab/machine"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/setup"
	"airtide/internal/lab/workload"
	"airtide/internal/vm"
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
	if len(guestKernels(p, func(*plan.GuestSetup) bool { return true })) > 0 {
		if err := vm.Available(); err != nil {
			problems = append(problems, err)
		}
	}
	for _, t := range tools(p) {
		if _, err := t.Path(); err != nil {
			problems = append(problems, err)
		}
	}
	return errors.Join(append(problems, congestionProblems(p)...)...)
}

// congestionProblems tries to load each congestion control that a point needs: whether a kernel can, it says best itself.
func congestionProblems(p *plan.Plan) (problems []error) {
	tried := map[plan.CongestionSetup]bool{}
	said := map[string]bool{}
	for i := range p.Points {
		for _, c := range p.Points[i].Setup.CongestionControls {
			if tried[c] {
				continue
			}
			tried[c] = true
			controls, err := setup.LoadCongestion(&plan.Setup{CongestionControls: []plan.CongestionSetup{c}})
			if err == nil {
				err = controls.Close()
			}
			if err != nil && !said[err.Error()] {
				said[err.Error()] = true
				problems = append(problems, err)
			}
		}
	}
	return problems
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
			need(machine.Tcpdump)
		}
	}
	return all
}

package run

import (
	"context"
	"errors"
	"fmt"
	"os"

	"airtide/internal/kernel/timewarp"
	"airtide/internal/lab/machine"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/setup"
	"airtide/internal/lab/workload"
	"airtide/internal/vm"
)

// preflight reports everything that this machine lacks to run an experiment, in one error.
func preflight(p *plan.Plan) error {
	var problems []error
	if os.Geteuid() != 0 {
		problems = append(problems, errors.New("network namespaces need root: run it with sudo"))
	}
	if _, err := os.Stat("/dev/net/tun"); err != nil {
		problems = append(problems, fmt.Errorf("%w: the servers of an experiment need TUN (modprobe tun)", err))
	}
	if len(guestKernels(p, anyGuest)) > 0 {
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

// congestionProblems tries to load each congestion control of the plan, because only the kernel
// knows whether this is possible.
func congestionProblems(p *plan.Plan) (problems []error) {
	tried := map[plan.CongestionSetup]bool{}
	reported := map[string]bool{}
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
			if err != nil && !reported[err.Error()] {
				reported[err.Error()] = true
				problems = append(problems, err)
			}
		}
	}
	return problems
}

// tools are the programs that an experiment needs, each once.
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

// fetchKernels downloads the kernels of the plan's guests from Debian's archive, unless the cache
// has them. For guests with their own clock it builds the kernel module.
func (o *Options) fetchKernels(ctx context.Context, p *plan.Plan) error {
	for _, kernel := range guestKernels(p, anyGuest) {
		if _, err := vm.Cached(string(kernel)); !errors.Is(err, vm.ErrNoKernel) {
			continue
		}
		o.Notice(fmt.Sprintf("fetching Debian's kernel %s into %s", kernel, vm.Folder))
		if _, err := vm.Fetch(ctx, string(kernel)); err != nil {
			return err
		}
	}
	for _, kernel := range guestKernels(p, ownClock) {
		k, err := vm.Cached(string(kernel))
		if err != nil {
			return err
		}
		if _, err := timewarp.FindModule(k.Release); err == nil {
			continue
		}
		o.Notice(fmt.Sprintf("building the module for accelerated time, for kernel %s", k.Release))
		headers, err := vm.FetchHeaders(ctx, string(kernel))
		if err != nil {
			return err
		}
		if _, err := timewarp.Build(
			ctx, timewarp.BuildOptions{Headers: headers, Make: []string{"CC=gcc"}},
		); err != nil {
			return err
		}
	}
	return nil
}

func anyGuest(*plan.GuestSetup) bool { return true }

func ownClock(g *plan.GuestSetup) bool { return g.Time.Ratio != "" }

// guestKernels are the kernels of the chosen guests, each once.
func guestKernels(p *plan.Plan, chosen func(*plan.GuestSetup) bool) []plan.GuestKernel {
	var all []plan.GuestKernel
	seen := map[plan.GuestKernel]bool{}
	for i := range p.Points {
		for _, t := range p.Points[i].Setup.Terminals {
			if t.Guest != nil && chosen(t.Guest) && !seen[t.Guest.Kernel] {
				seen[t.Guest.Kernel] = true
				all = append(all, t.Guest.Kernel)
			}
		}
	}
	return all
}

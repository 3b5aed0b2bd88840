package run

import (
	"context"
	"errors"
	"fmt"

	"airtide/internal/kernel/timewarp"
	"airtide/internal/lab/plan"
	"airtide/internal/vm"
)

// fetchKernels gets what the plan's virtual machines need and is not in the cache: their kernels from Debian's archive, and
// for a clock of its own the module, built with the kernel's headers.
func (o *Options) fetchKernels(ctx context.Context, p *plan.Plan) error {
	for _, kernel := range guestKernels(p, func(*plan.GuestSetup) bool { return true }) {
		if _, err := vm.Cached(string(kernel)); !errors.Is(err, vm.ErrNoKernel) {
			continue
		}
		o.Notice(fmt.Sprintf("fetching Debian's kernel %s into %s", kernel, vm.Folder))
		if _, err := vm.Fetch(ctx, string(kernel)); err != nil {
			return err
		}
	}
	for _, kernel := range guestKernels(p, func(g *plan.GuestSetup) bool { return g.Time.Ratio != "" }) {
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
		if _, err := timewarp.Build(ctx, timewarp.BuildOptions{Headers: headers, Make: []string{"CC=gcc"}}); err != nil {
			return err
		}
	}
	return nil
}

// guestKernels are those of the plan's virtual machines that are chosen, each once.
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

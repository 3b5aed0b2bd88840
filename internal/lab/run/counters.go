package run

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"airtide/internal/kernel/timewarp"
	"airtide/internal/lab/machine"
)

// count reads TCP's counters of all machines at the warm-up and at the end of the run, and keeps what came between.
func (a *attempt) count(ctx context.Context, zero time.Time) error {
	var before map[string]timewarp.Errors
	for i, at := range []time.Duration{time.Duration(a.setup.Warmup), time.Duration(a.setup.Duration)} {
		if err := sleepUntil(ctx, zero.Add(at)); err != nil {
			return err
		}
		now, err := a.readCounters(ctx)
		if err != nil {
			return err
		}
		if i == 0 {
			before = now
			continue
		}
		for k := range a.result.Machines {
			m := &a.result.Machines[k]
			m.Counters = now[m.Name].Since(before[m.Name])
		}
	}
	return nil
}

func (a *attempt) readCounters(ctx context.Context) (map[string]timewarp.Errors, error) {
	all := map[string]timewarp.Errors{}
	for _, h := range a.cell.Hosts() {
		g := a.guest(h.Name).machine()
		proc := "/proc/thread-self"
		if g != nil {
			proc = "/proc"
		}
		counters, err := timewarp.ErrorsFrom(func(name string) ([]byte, error) {
			return machine.ReadFile(ctx, h.Namespace, g, filepath.Join(proc, name))
		})
		if err != nil {
			return nil, fmt.Errorf("machine %s: %w", h.Name, err)
		}
		all[h.Name] = counters
	}
	return all, nil
}

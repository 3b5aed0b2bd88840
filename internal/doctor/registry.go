package doctor

import (
	"context"
	"fmt"
	"slices"
)

// group gathers checks under one heading of the report.
type group string

// The groups, in the order of the report.
const (
	groupKernel      group = "kernel"
	groupPrivileges  group = "privileges"
	groupTracepoints group = "tracepoints"
	groupBPF         group = "bpf"
	groupSockets     group = "sockets"
	groupNetwork     group = "network"
	groupMachine     group = "machine"
	groupTime        group = "time"
	groupTools       group = "tools"
)

var groups = []group{
	groupKernel, groupPrivileges, groupTracepoints, groupBPF,
	groupSockets, groupNetwork, groupMachine, groupTime, groupTools,
}

// check is an entry of the registry.
type check struct {
	name  string // snake case; pinned by a test
	group group
	// probe tries the thing and leaves nothing behind.
	probe func(*machine) finding
	needs []Need
	// loss says what its absence costs and remedy how to get it.
	loss, remedy string
}

// registry joins the tables of the groups.
func registry() []check {
	return slices.Concat(
		kernelChecks,
		capabilityChecks(),
		tracepointChecks(),
		bpfChecks,
		socketChecks,
		networkChecks(),
		machineChecks,
		timewarpChecks,
		toolChecks(),
	)
}

// Result is the outcome of one check.
type Result struct {
	Name   string `json:"name"`
	Group  group  `json:"group"`
	Status Status `json:"status"`
	Detail string `json:"detail"`
	// Values are the names or ways that were found, for instance the congestion controls.
	Values   []string `json:"values"`
	NeededBy []Need   `json:"needed_by"`
	// Loss says what the absence costs and Remedy how to get it.
	Loss   string `json:"loss"`
	Remedy string `json:"remedy"`
}

// lossNow says what the result costs: for a check that works in part, the part that does not.
func (r *Result) lossNow() string {
	if r.Status == Limited {
		return r.Detail
	}
	return r.Loss
}

// Options change what is examined.
type Options struct {
	// BTFPath names a file with the kernel's types for a kernel that does not show them itself; ""
	// for the kernel's own.
	BTFPath string
	// TimewarpModule is the file of the module for accelerated time that was built for this kernel;
	// "" for none.
	TimewarpModule string
}

// Examine tries everything in the registry. The error is for a machine that cannot be examined at
// all; whatever is merely missing stands in the report.
func Examine(ctx context.Context, o Options) (*Report, error) {
	m, err := newMachine(o)
	if err != nil {
		return nil, fmt.Errorf("examining the machine: %w", err)
	}
	report := &Report{Machine: m.facts}
	for _, c := range registry() {
		if err := ctx.Err(); err != nil {
			return nil, fmt.Errorf("examining the machine: %w", err)
		}
		f := c.probe(m)
		report.Checks = append(report.Checks, Result{
			Name: c.name, Group: c.group, Status: f.status, Detail: f.detail, Loss: c.loss, Remedy: c.remedy,
			Values:   append([]string{}, f.values...),
			NeededBy: builtOnly(c.needs),
		})
	}
	report.judgeVerbs()
	return report, nil
}

// builtOnly leaves out the needs of verbs that this build does not have.
func builtOnly(needs []Need) []Need {
	kept := []Need{}
	for _, n := range needs {
		if slices.ContainsFunc(verbTable, func(v verb) bool { return v.name == n.Verb && v.built }) {
			kept = append(kept, n)
		}
	}
	return kept
}

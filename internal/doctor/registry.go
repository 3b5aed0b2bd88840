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
	// probe tries the ability and undoes its changes.
	probe func(*machine) finding
	needs []Need
	// loss is the effect of its absence. remedy is a way to get it.
	loss, remedy string
}

// registry joins the tables of the groups.
func registry() []check {
	return slices.Concat(kernelChecks, capabilityChecks(), restrictionChecks, tracepointChecks(), bpfChecks,
		socketChecks, networkChecks(), machineChecks, timewarpChecks, toolChecks())
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
	// Loss is the effect of the absence. Remedy is a way to get the ability.
	Loss   string `json:"loss"`
	Remedy string `json:"remedy"`
}

// lossNow returns the effect of the result. For a limited check it is the part that does not work.
func (r *Result) lossNow() string {
	if r.Status == Limited {
		return r.Detail
	}
	return r.Loss
}

// Options configure an examination.
type Options struct {
	// BTFPath is a file with the types of a kernel that does not publish them. If it is empty, the
	// kernel's own types are read.
	BTFPath string
	// TimewarpModule is the path of the module for accelerated time built for this kernel, or "".
	TimewarpModule string
}

// Examine runs every check of the registry. It fails if the machine cannot be examined at all;
// missing abilities are part of the report.
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
			NeededBy: append([]Need{}, c.needs...),
		})
	}
	report.judgeVerbs()
	return report, nil
}

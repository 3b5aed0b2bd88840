package machine

import (
	"context"
	"net/netip"

	"airtide/internal/lab/plan"
)

// Machine is a terminal or a server of a run: a namespace, or a guest that replaces it.
type Machine interface {
	Name() string
	Address() netip.Addr
	// ClockRate returns the intended speed of its clock, in units of real time; 1 in a namespace.
	ClockRate() float64
	// Start runs a program. The program and its children end with this process at the latest.
	Start(Command) (*Process, error)
	// ReadNet reads a file below the machine's /proc/net.
	ReadNet(ctx context.Context, file string) ([]byte, error)
	// MakeFile makes a file of zeros for programs on the machine. The size is in bytes.
	MakeFile(ctx context.Context, path string, size int64) error
	// ApplyStack applies the stack of a plan and reads each value back. It returns the optional
	// sysctls (plan.OptionalSysctl) that the kernel lacks.
	ApplyStack(ctx context.Context, s plan.Stack) (missing []string, err error)
	// ReadState reads the TCP settings of the machine.
	ReadState(ctx context.Context) (State, error)
}

// Set is all machines of a run.
type Set []Machine

// Get returns the machine with a name; nil if the set has no such machine.
func (s Set) Get(name string) Machine {
	for _, m := range s {
		if m.Name() == name {
			return m
		}
	}
	return nil
}

// Named returns the machines in a list of names, in the order of the set.
func (s Set) Named(names []string) Set {
	wanted := map[string]bool{}
	for _, name := range names {
		wanted[name] = true
	}
	var all Set
	for _, m := range s {
		if wanted[m.Name()] {
			all = append(all, m)
		}
	}
	return all
}

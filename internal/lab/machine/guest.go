package machine

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/netip"
	"path/filepath"

	"airtide/internal/lab/plan"
	"airtide/internal/sys/tool"
	"airtide/internal/vm"
)

// Guest is a virtual machine that replaces a namespace.
type Guest struct {
	*vm.Guest
	name      string
	address   netip.Addr
	clockRate float64
}

// GuestOptions describe a virtual machine.
type GuestOptions struct {
	// Place is the namespace that the guest replaces. The guest has its name and addresses, and
	// sends through its device.
	Place     *Namespace
	ClockRate float64
	Kernel    vm.Kernel
	// Tools are copied into the guest.
	Tools []Tool
	// Modules are kernel modules to load.
	Modules []string
	// Files are copied into the guest. The keys are paths in the guest.
	Files map[string]string
	// Console receives the output of the guest's kernel, if it is not nil.
	Console io.Writer
}

// Boot boots a virtual machine that replaces a namespace. The namespace's own stack becomes silent.
// The guest ends with Close, or with this process.
func Boot(ctx context.Context, o GuestOptions) (*Guest, error) {
	fail := func(err error) (*Guest, error) {
		return nil, fmt.Errorf("replacing %s by a virtual machine: %w", o.Place.Namespace, err)
	}
	c := vm.Config{Kernel: o.Kernel, Modules: o.Modules, Files: o.Files, Console: o.Console}
	for _, t := range o.Tools {
		path, err := t.Path()
		if err != nil {
			return fail(err)
		}
		c.Programs = append(c.Programs, path)
	}
	var err error
	c.Net, err = connectGuest(o.Place.Namespace)
	if err != nil {
		return fail(err)
	}
	defer c.Net.Tap.Close()
	g, err := vm.Start(ctx, c)
	if err != nil {
		return fail(err)
	}
	return &Guest{Guest: g, name: o.Place.name, address: o.Place.address, clockRate: o.ClockRate}, nil
}

// Name returns the machine's name in the plan.
func (g *Guest) Name() string { return g.name }

// Address returns the machine's address in the cell.
func (g *Guest) Address() netip.Addr { return g.address }

// ClockRate returns the intended speed of its clock, in units of real time.
func (g *Guest) ClockRate() float64 { return g.clockRate }

// Start runs a program in the guest. It refuses a command with a cgroup.
func (g *Guest) Start(c Command) (*Process, error) {
	if c.Cgroup != nil {
		return nil, fmt.Errorf("starting %s: a program in a virtual machine cannot be in a cgroup of this one", c.Path)
	}
	running, err := g.Guest.Start(context.Background(), vm.Command{
		Path: c.Path, Args: c.Args, Dir: c.Dir, Env: tool.Environment(), Stdout: c.Stdout, Stderr: c.Stderr,
	})
	if err != nil {
		return nil, err
	}
	p := newProcess(c, func(s signal) { running.Signal(s) })
	p.started = running.Started()
	go func() {
		p.err = running.Err()
		p.ended = running.Ended()
		close(p.done)
	}()
	return p, nil
}

// ReadNet reads a file below the guest's /proc/net.
func (g *Guest) ReadNet(ctx context.Context, file string) ([]byte, error) {
	return g.ReadFile(ctx, filepath.Join("/proc/net", file))
}

// MakeFile makes a file of zeros in the guest.
func (g *Guest) MakeFile(ctx context.Context, path string, size int64) error {
	return g.Guest.MakeFile(ctx, path, nil, size)
}

// ApplyStack applies the stack of a plan to the guest.
func (g *Guest) ApplyStack(ctx context.Context, s plan.Stack) (missing []string, err error) {
	to := settingsOf(s)
	if s.Congestion != "" {
		to.Sysctls = append([]sysctl{{Name: congestionSysctl, Value: s.Congestion}}, to.Sysctls...)
	}
	if err := g.Call(ctx, applyFunction, to, &missing); err != nil {
		return nil, fmt.Errorf("setting up the stack of a virtual machine with kernel %s: %w", g.Release, err)
	}
	return missing, nil
}

// ReadState reads the TCP settings of the guest. All sysctls belong to the guest.
func (g *Guest) ReadState(ctx context.Context) (State, error) {
	var s State
	if err := g.Call(ctx, readFunction, nil, &s); err != nil {
		return s, fmt.Errorf("reading the stack of a virtual machine: %w", err)
	}
	return s, nil
}

// The functions that the host calls in a guest.
const (
	applyFunction = "machine.apply"
	readFunction  = "machine.read"
)

// GuestFunctions are the functions that this package provides in a guest, for vm.Main.
var GuestFunctions = map[string]vm.Function{
	applyFunction: func(input json.RawMessage) (any, error) {
		var s settings
		if err := json.Unmarshal(input, &s); err != nil {
			return nil, err
		}
		return s.apply()
	},
	readFunction: func(json.RawMessage) (any, error) { return readState() },
}

// CongestionModule returns the kernel module of a congestion control; nil if it is built into the
// kernel.
func CongestionModule(k vm.Kernel, congestion string) []string {
	if name := "tcp_" + congestion; congestion != "" && k.HasModule(name) {
		return []string{name}
	}
	return nil
}

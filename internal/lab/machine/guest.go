package machine

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"os"

	"airtide/internal/lab/plan"
	"airtide/internal/vm"
)

// GuestOptions say what a virtual machine has.
type GuestOptions struct {
	// Namespace of the cell whose place in the network it takes: it has its addresses, and its device carries what the
	// guest sends.
	Namespace string
	Kernel    vm.Kernel
	// Tools that are to be run in it.
	Tools []Tool
	// Modules of its kernel to be loaded, and files that it gets, by their paths in it.
	Modules []string
	Files   map[string]string
	// Console, if not nil, gets what its kernel prints.
	Console io.Writer
}

// Boot boots a virtual machine in the place of a namespace, whose own stack is idle from then on. It ends with Close, and
// with this process.
func Boot(ctx context.Context, o GuestOptions) (*vm.Guest, error) {
	fail := func(err error) (*vm.Guest, error) {
		return nil, fmt.Errorf("putting a virtual machine in the place of %s: %w", o.Namespace, err)
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
	if c.Net, err = place(o.Namespace); err != nil {
		return fail(err)
	}
	defer c.Net.Tap.Close()
	g, err := vm.Start(ctx, c)
	if err != nil {
		return fail(err)
	}
	return g, nil
}

// The functions that the host calls in a guest.
const (
	applyFunction = "machine.apply"
	readFunction  = "machine.read"
)

// GuestFunctions are this package's part in a guest, for vm.Main.
var GuestFunctions = map[string]vm.Function{
	applyFunction: func(input json.RawMessage) (any, error) {
		var s settings
		if err := json.Unmarshal(input, &s); err != nil {
			return nil, err
		}
		return s.apply()
	},
	readFunction: func(json.RawMessage) (any, error) { return readHere() },
}

// readHere reads the stack of the namespace that the thread is in.
func readHere() (s State, err error) {
	if s.Sysctls, err = readSysctls(); err != nil {
		return s, err
	}
	s.Routes, err = readRoutes()
	return s, err
}

// ApplyInGuest gives a guest the stack of a plan, as Apply does.
func ApplyInGuest(ctx context.Context, g *vm.Guest, s plan.Stack) (lacking []string, err error) {
	to := settingsOf(s)
	if s.Congestion != "" {
		to.Sysctls = append([]sysctl{{Name: congestionSysctl, Value: s.Congestion}}, to.Sysctls...)
	}
	if err := g.Call(ctx, applyFunction, to, &lacking); err != nil {
		return nil, fmt.Errorf("setting up the stack of a virtual machine with kernel %s: %w", g.Release, err)
	}
	return lacking, nil
}

// ReadGuest reads what a guest's TCP has. A guest is a computer by itself: all is among its sysctls.
func ReadGuest(ctx context.Context, g *vm.Guest) (State, error) {
	var s State
	if err := g.Call(ctx, readFunction, nil, &s); err != nil {
		return s, fmt.Errorf("reading the stack of a virtual machine: %w", err)
	}
	return s, nil
}

// CongestionModule is the module of a congestion control of a kernel that has it as one, else nothing.
func CongestionModule(k vm.Kernel, congestion string) []string {
	if name := "tcp_" + congestion; congestion != "" && k.HasModule(name) {
		return []string{name}
	}
	return nil
}

// startInGuest runs a command in the guest.
func startInGuest(c Command) (*Process, error) {
	command := vm.Command{Path: c.Path, Args: c.Args, Dir: c.Dir, Env: environment()}
	if c.Stdout != nil {
		command.Stdout = c.Stdout
	}
	if c.Stderr != nil {
		command.Stderr = c.Stderr
	}
	if c.Cgroup != nil {
		return nil, fmt.Errorf("starting %s: a program in a virtual machine cannot be in a cgroup of this one", c.Path)
	}
	inside, err := c.Guest.Start(context.Background(), command)
	if err != nil {
		return nil, err
	}
	p := &Process{guest: inside, started: inside.Started(), done: make(chan struct{})}
	go func() {
		p.err = inside.Err()
		p.ended = inside.Ended()
		close(p.done)
	}()
	return p, nil
}

// ReadFile reads a file as the machine sees it: of a namespace what its threads are shown, which matters below /proc/net.
func ReadFile(ctx context.Context, namespace string, g *vm.Guest, path string) (content []byte, err error) {
	if g != nil {
		return g.ReadFile(ctx, path)
	}
	err = In(namespace, func() error {
		content, err = os.ReadFile(path)
		return err
	})
	return content, err
}

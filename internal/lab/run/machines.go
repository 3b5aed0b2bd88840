package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sync/errgroup"

	"airtide/internal/kernel/timewarp"
	"airtide/internal/lab/machine"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
	"airtide/internal/lab/setup"
	"airtide/internal/lab/workload"
	"airtide/internal/vm"
)

// machines are the terminals and servers of a run, with their TCP settings.
type machines struct {
	setup      *plan.Setup
	dir        string
	cell       *cellPart
	congestion *congestionPart

	// namespaces are the cell's machines. In the field all, a guest replaces its namespace.
	namespaces machine.Set
	all        machine.Set
	guests     []*guest

	described []result.Machine
	sysctls   map[string]string // those of the whole computer
	warnings  []string
	problems  []string
}

// guest is a terminal's virtual machine.
type guest struct {
	*machine.Guest // nil before it has booted
	name           string
	ratio          string // clock ratio, empty for real time
	setup          *plan.GuestSetup
	console        *os.File
}

// Start sets up the namespaces, boots the guests and reads the settings of all machines.
func (m *machines) Start(ctx context.Context) error {
	m.namespaces = setup.Namespaces(m.cell.cell)
	m.all = slices.Clone(m.namespaces)
	loaded := m.congestion.loaded()
	if err := m.applyStacks(ctx, slices.DeleteFunc(slices.Clone(m.all), m.isGuest), loaded); err != nil {
		return err
	}
	if err := m.bootGuests(ctx); err != nil {
		return err
	}
	var guests machine.Set
	for i, one := range m.all {
		for _, g := range m.guests {
			if g.name == one.Name() {
				m.all[i] = g
				guests = append(guests, g)
			}
		}
	}
	if err := m.applyStacks(ctx, guests, m.setup); err != nil {
		return err
	}
	return m.describe(ctx)
}

func (m *machines) applyStacks(ctx context.Context, set machine.Set, s *plan.Setup) error {
	warnings, err := setup.ApplyStacks(ctx, set, s)
	m.warnings = append(m.warnings, warnings...)
	return err
}

// isGuest reports whether a machine is a guest in the plan.
func (m *machines) isGuest(one machine.Machine) bool {
	return slices.ContainsFunc(m.setup.Terminals, func(t plan.TerminalSetup) bool {
		return t.Name == one.Name() && t.Guest != nil
	})
}

// bootGuests boots all guests at once.
func (m *machines) bootGuests(ctx context.Context) error {
	booting, ctx := errgroup.WithContext(ctx)
	for i := range m.setup.Terminals {
		t := &m.setup.Terminals[i]
		if t.Guest == nil {
			continue
		}
		g := &guest{name: t.Name, setup: t.Guest, ratio: string(t.Guest.Time.Ratio)}
		m.guests = append(m.guests, g)
		booting.Go(func() error {
			if err := m.boot(ctx, g, t); err != nil {
				return fmt.Errorf("terminal %s: %w", t.Name, err)
			}
			return nil
		})
	}
	return booting.Wait()
}

func (m *machines) boot(ctx context.Context, g *guest, t *plan.TerminalSetup) (err error) {
	kernel, err := vm.Cached(string(g.setup.Kernel))
	if err != nil {
		return err
	}
	g.console, err = os.Create(filepath.Join(m.dir, consoleFile(g.name)))
	if err != nil {
		return fmt.Errorf("saving its console: %w", err)
	}
	place, ok := m.namespaces.Get(g.name).(*machine.Namespace)
	if !ok {
		return errors.New("the cell has no namespace for it")
	}
	o := machine.GuestOptions{
		Place: place, ClockRate: g.setup.Time.Ratio.Value(), Kernel: kernel,
		Modules: machine.CongestionModule(kernel, t.Stack.Congestion), Console: g.console,
	}
	for _, f := range m.setup.Flows {
		if f.From == t.Name {
			o.Tools = append(o.Tools, workload.Client(f.Flow.Protocol))
		}
	}
	if g.ratio != "" {
		module, err := timewarp.FindModule(kernel.Release)
		if err != nil {
			return err
		}
		o.Files = map[string]string{guestModule: module}
	}
	g.Guest, err = machine.Boot(ctx, o)
	return err
}

// describe reads the settings of all machines.
func (m *machines) describe(ctx context.Context) error {
	for _, one := range m.all {
		state, err := one.ReadState(ctx)
		if err != nil {
			return fmt.Errorf("reading the settings of %s: %w", one.Name(), err)
		}
		d := result.Machine{
			Name: one.Name(), Address: one.Address().String(), Sysctls: state.Sysctls, Routes: state.Routes,
		}
		if g, ok := one.(*guest); ok {
			d.Kernel = g.Release
			d.Accelerator = string(g.Accelerator)
		} else {
			m.sysctls = state.Computer
		}
		m.described = append(m.described, d)
	}
	return nil
}

// Stop ends the guests.
func (m *machines) Stop() error {
	var errs []error
	for _, g := range m.guests {
		if g.Guest != nil {
			g.Close()
		}
		errs = append(errs, m.saveConsole(g))
	}
	return errors.Join(errs...)
}

func consoleFile(name string) string { return name + "-console.log" }

// saveConsole keeps the file of the console unless the file is empty. A problem that the kernel
// reports there is a problem of the run.
func (m *machines) saveConsole(g *guest) error {
	if g.console == nil {
		return nil
	}
	path := filepath.Join(m.dir, consoleFile(g.name))
	said, err := os.ReadFile(path)
	if err := errors.Join(err, g.console.Close()); err != nil {
		return fmt.Errorf("saving the console of %s: %w", g.name, err)
	}
	if complaint := vm.FirstKernelProblem(string(said)); complaint != "" {
		m.problems = append(m.problems, fmt.Sprintf("the kernel of %s reported: %s", g.name, complaint))
	}
	if len(said) == 0 {
		return os.Remove(path)
	}
	return nil
}

package setup

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"time"

	"airtide/internal/cell"
	"airtide/internal/cell/live"
	"airtide/internal/lab/machine"
	"airtide/internal/lab/plan"
)

// RunOptions say how a cell of its own is run.
type RunOptions struct {
	// Duration after which it ends; 0 means that ctx or the command ends it.
	Duration time.Duration
	// Command, if any, is run beside the cell, which ends with it. Its environment names the machines: AIRTIDE_NS_NAME
	// has the namespace and AIRTIDE_IP_NAME the address of the machine NAME.
	Command []string
	// Ready is told once packets flow and the schedules have begun.
	// What it should know besides comes with it, a line each.
	Ready func(c *cell.Cell, warnings []string) error
}

// Run runs the cell of a file: it makes the machines, gives them their TCP, begins, and answers live.Ask until it ends.
func Run(ctx context.Context, f *plan.CellFile, o RunOptions) (err error) {
	controls, err := LoadCongestion(f.Setup)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, controls.Close()) }()
	c, err := cell.Start(ctx, FromFile(f))
	if err != nil {
		return err
	}
	stopped := false
	defer func() {
		if stopErr := c.Stop(); err == nil && !stopped {
			err = stopErr
		}
	}()
	warnings, err := ApplyStacks(c, controls.In(f.Setup))
	if err != nil {
		return err
	}
	if err := c.Begin(); err != nil {
		return err
	}
	answers, err := live.Serve(f.Name, c)
	if err != nil {
		return err
	}
	defer answers.Close()
	if err := o.Ready(c, append(c.Warnings(), warnings...)); err != nil {
		return err
	}
	if o.Duration > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, o.Duration)
		defer cancel()
	}
	command := make(chan error, 1)
	if len(o.Command) > 0 {
		go func() { command <- runCommand(ctx, c, o.Command) }()
	}
	select {
	case <-c.Ended():
		stopped = true
		_, err := c.Status()
		return fmt.Errorf("the cell has ended by itself: %w", err)
	case err := <-command:
		return err
	case <-ctx.Done():
	}
	if len(o.Command) > 0 {
		<-command // ended by ctx; how is no fault of its own
	}
	return nil
}

// ApplyStacks gives the machines the TCP of the setup. The warnings name what a machine lacks of it.
func ApplyStacks(c *cell.Cell, s *plan.Setup) (warnings []string, err error) {
	stacks := map[string]plan.Stack{}
	guests := map[string]bool{}
	for _, t := range s.Terminals {
		stacks[t.Name], guests[t.Name] = t.Stack, t.Guest != nil
	}
	for _, server := range s.Servers {
		stacks[server.Name] = server.Stack
	}
	for _, h := range c.Hosts() {
		if h.Namespace == "" || guests[h.Name] {
			continue // outside, another machine's own affair; or a virtual machine has a stack of its own
		}
		lacking, err := machine.Apply(h.Namespace, stacks[h.Name])
		if err != nil {
			return nil, fmt.Errorf("setting up %s: %w", h.Name, err)
		}
		warnings = append(warnings, Lacking(h.Name, lacking)...)
	}
	return warnings, nil
}

// Lacking says of each optional sysctl that a machine has none of it.
func Lacking(machine string, sysctls []string) []string {
	var all []string
	for _, name := range sysctls {
		all = append(all, fmt.Sprintf("%s: its kernel has no sysctl %s of a network namespace, so it is not set", machine, name))
	}
	return all
}

// commandDelay is how long a command may take to end after SIGINT.
const commandDelay = 5 * time.Second

func runCommand(ctx context.Context, c *cell.Cell, command []string) error {
	cmd := exec.CommandContext(ctx, command[0], command[1:]...)
	cmd.Cancel = func() error { return cmd.Process.Signal(syscall.SIGINT) }
	cmd.WaitDelay = commandDelay
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = os.Environ()
	for _, h := range c.Hosts() {
		cmd.Env = append(cmd.Env, "AIRTIDE_IP_"+h.Name+"="+h.Address.String())
		if h.Namespace != "" {
			cmd.Env = append(cmd.Env, "AIRTIDE_NS_"+h.Name+"="+h.Namespace)
		}
	}
	err := cmd.Run()
	if err != nil && ctx.Err() == nil {
		var exit *exec.ExitError
		if errors.As(err, &exit) {
			return fmt.Errorf("the command %s failed: %w", strings.Join(command, " "), err)
		}
		return fmt.Errorf("running the command: %w", err)
	}
	return nil
}

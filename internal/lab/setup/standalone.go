package setup

import (
	"context"
	"errors"
	"fmt"
	"syscall"
	"time"

	"airtide/internal/cell"
	"airtide/internal/cell/live"
	"airtide/internal/lab/plan"
	"airtide/internal/sys/command"
)

// RunOptions are the options of a cell without an experiment.
type RunOptions struct {
	// Duration of the cell; 0 means until ctx or the command ends.
	Duration time.Duration
	// Command runs beside the cell and ends it. Its environment names the machines: AIRTIDE_NS_NAME
	// is the namespace and AIRTIDE_IP_NAME the address of the machine NAME.
	Command []string
	// Ready is called when packets flow and the schedules have started.
	Ready func(c *cell.Cell, warnings []string) error
}

// Run runs the cell of a file. It makes the machines, applies their TCP settings, starts, and
// answers live.Ask until the end.
func Run(ctx context.Context, f *plan.CellFile, o RunOptions) (err error) {
	controls, err := LoadCongestion(f.Setup)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, controls.Close()) }()
	config := FromFile(f)
	config.Engine.EndProcesses = len(o.Command) > 0
	c, err := cell.Start(ctx, config)
	if err != nil {
		return err
	}
	stopped := false
	defer func() {
		if stopErr := c.Stop(); err == nil && !stopped {
			err = stopErr
		}
	}()
	warnings, err := ApplyStacks(ctx, Namespaces(c), controls.In(f.Setup))
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
		if ctx.Err() != nil {
			return nil
		}
		return err
	case <-ctx.Done():
	}
	if len(o.Command) > 0 {
		<-command // ended by ctx, which is not a failure
	}
	return nil
}

// commandDelay is the time for a command to end after SIGINT.
const commandDelay = 5 * time.Second

func runCommand(ctx context.Context, c *cell.Cell, args []string) error {
	o := command.Options{Signal: syscall.SIGINT, Grace: commandDelay, WithParent: true}
	for _, h := range c.Hosts() {
		o.Env = append(o.Env, "AIRTIDE_IP_"+h.Name+"="+h.Address.String())
		if h.Namespace != "" {
			o.Env = append(o.Env, "AIRTIDE_NS_"+h.Name+"="+h.Namespace)
		}
	}
	return command.Run(ctx, args, o)
}

package record

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"syscall"
	"time"

	"airtide/internal/kernel/sockets/owner"
	"airtide/internal/sys/command"
)

// commandGroup makes the command's cgroup and limits the filter to it. It returns nil without a
// command, or if everything is recorded.
func commandGroup(o *Options) (*owner.Group, error) {
	if len(o.Command) == 0 || o.All {
		return nil, nil
	}
	groups, err := owner.OpenCgroups()
	if errors.Is(err, owner.ErrNoCgroup2) {
		return nil, errNoCgroup
	}
	if err != nil {
		return nil, err
	}
	g, err := groups.NewGroup("airtide-record-")
	if err != nil {
		return nil, fmt.Errorf("making a cgroup for the command (record everything with --all): %w", err)
	}
	o.Observe.Filter.Cgroups = append(o.Observe.Filter.Cgroups, g.ID)
	return g, nil
}

// errNoCgroup is returned because the scope is never widened without a request.
var errNoCgroup = errors.New("cgroup v2 is not mounted here and cannot be mounted, so the command's connections " +
	"cannot be told apart: run it as root, or record everything with --all")

// findCommand reports a missing command before anything is created for it.
func findCommand(args []string) error {
	if len(args) == 0 {
		return nil
	}
	if _, err := exec.LookPath(args[0]); err != nil {
		return fmt.Errorf("finding the command %q: %w", args[0], errors.Unwrap(err))
	}
	return nil
}

// startCommand starts the command in the group. If ctx ends, the command is interrupted, and killed
// two seconds later.
func startCommand(ctx context.Context, options *Options, g *owner.Group) (*exec.Cmd, error) {
	if len(options.Command) == 0 {
		return nil, nil
	}
	o := command.Options{Signal: syscall.SIGINT, Grace: 2 * time.Second}
	if g != nil {
		o.Attributes = g.Attributes()
	}
	c := command.New(ctx, options.Command, o)
	if options.OutputToError {
		c.Stdout = c.Stderr
	}
	if err := c.Start(); err != nil {
		return nil, fmt.Errorf("starting the command: %w", err)
	}
	return c, nil
}

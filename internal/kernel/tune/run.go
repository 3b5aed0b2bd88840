package tune

import (
	"context"
	"errors"
	"syscall"

	"airtide/internal/sys/command"
)

// RunOptions are the options of Run.
type RunOptions struct {
	Options
	// Command runs while the tune is in force. Without one the tune lasts until the context ends,
	// or longer if it is to be kept. An empty selection selects the sockets of the command and its
	// children.
	Command []string
	// Wait calls f, and may show that the named work takes long.
	Wait func(doing string, f func() error) error
	// Applied receives the state after the change, and the tunes of killed processes that were
	// undone before.
	Applied func(*Report, []Undone) error
	// Ended receives the state at the end, and the undone changes: nil if they are kept. A kept
	// tune without a command has no end.
	Ended func(*Report, *Undone) error
	// Waiting is called when the command runs, or when only the end of the context is awaited. It
	// may be nil.
	Waiting func() error
}

// Run applies the settings, waits or runs the command, and restores everything. A command with
// another status than 0 is a *command.ExitError. The result reports whether a change failed.
func Run(ctx context.Context, s Selection, to Settings, o RunOptions) (failed bool, err error) {
	var group *Group
	if len(o.Command) > 0 && s.Empty() && !s.All {
		group, err = newGroup()
		if err != nil {
			return false, err
		}
		defer func() { err = errors.Join(err, group.Close()) }()
		s.Cgroups = []uint64{group.ID}
	}
	var (
		a       *Applied
		applied *Report
	)
	err = o.Wait("changing sockets", func() error {
		a, err = Apply(ctx, s, to, o.Options)
		if err != nil {
			return err
		}
		applied, err = a.Report(ctx)
		return err
	})
	if a == nil {
		return false, err
	}
	defer func() { err = errors.Join(err, a.Close()) }()
	if err == nil {
		err = o.Applied(applied, a.Removed)
	}
	if err != nil {
		return false, err
	}
	var past history // the command's sockets, most of which end with it
	var commandErr error
	if len(o.Command) > 0 {
		commandErr = a.runCommand(ctx, &o, group, &past)
	} else if !o.Keep {
		if o.Waiting != nil {
			if err := o.Waiting(); err != nil {
				return false, err
			}
		}
		<-ctx.Done()
	}
	if err := a.finish(&o, &past); err != nil {
		return false, err
	}
	return applied.Failed(), commandErr
}

// runCommand runs a command, in the group if there is one, and remembers its sockets.
func (a *Applied) runCommand(ctx context.Context, o *RunOptions, group *Group, past *history) error {
	var attributes *syscall.SysProcAttr
	if group != nil {
		attributes = group.Attributes()
	}
	follow, stop := context.WithCancel(ctx)
	followed := make(chan struct{})
	go func() {
		defer close(followed)
		past.follow(follow, a)
	}()
	err := command.Run(ctx, o.Command, command.Options{Attributes: attributes, Started: o.Waiting})
	stop()
	<-followed
	return err
}

// finish reports the state at the end and restores everything unless it is kept.
func (a *Applied) finish(o *RunOptions, past *history) error {
	if o.Keep && len(o.Command) == 0 {
		return nil
	}
	ctx := context.Background() // also after Ctrl-C
	r, err := a.Report(ctx)
	if err != nil {
		return err
	}
	past.complete(r)
	var undone *Undone
	if !o.Keep {
		err := o.Wait("restoring everything", func() (err error) {
			undone, err = a.Undo(ctx)
			return err
		})
		if err != nil {
			return err
		}
	}
	return o.Ended(r, undone)
}

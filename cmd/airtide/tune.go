package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"syscall"

	"github.com/spf13/cobra"

	"airtide/internal/kernel/tune"
	"airtide/internal/sys/command"
	"airtide/internal/units"
	"airtide/internal/view/terminal"
)

func newTune(t *terminal.Terminal) *cobra.Command {
	var (
		pick   selectionFlags
		all    bool
		set    tuneFlags
		o      tune.Options
		bpffs  bpffsFlag
		asJSON jsonFlag
		quiet  quietFlag
	)
	cmd := &cobra.Command{
		Use:   "tune [selection] [settings] [--keep] [-- command ...]",
		Short: "Set limits on live and new TCP sockets",
		Long: `Sets limits on existing and new TCP sockets: bounds of the congestion window, congestion control,
pacing rate, buffers, timeouts. Port, host, process, cgroup and network namespace select the
sockets; each given kind must match. With a command and without a selection, the sockets of the
command and its children are changed.

Each socket is read back after the change. If a change failed, the socket is named and the exit
status is 1. Everything is restored on Ctrl-C or when the command ends. With --keep it lasts until
airtide tune undo. The changes of a killed process are restored by the next tune or undo. If a
command is given, the exit status is the status of the command.

docs/guide/tune.md describes each setting, and which of them cannot be restored.`,
		Example: `  airtide tune --port 5201 --cwnd-max 100
  airtide tune --netns server --cc reno --rto-min 40ms --keep
  airtide tune --process curl --pacing-rate 20M -- curl -O http://192.0.2.1/file
  airtide tune --cwnd-max 64 -- iperf3 -c 192.0.2.1
  airtide tune show
  airtide tune undo`,
		Args: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); len(args) > 0 && dash != 0 {
				return usageError{fmt.Errorf("unexpected argument %q: show, undo, or a command behind --", args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, argv []string) error {
			if cmd.ArgsLenAtDash() == 0 && len(argv) == 0 {
				return usageError{errors.New("no command behind --")}
			}
			if cmd.Flags().NFlag() == 0 && len(argv) == 0 {
				return cmd.Help()
			}
			to, err := set.settings()
			if err != nil {
				return usageError{err}
			}
			sel := tune.Selection{All: all}
			if sel.Filter, err = pick.filter(); err != nil {
				return usageError{err}
			}
			if !sel.Empty() || all || len(argv) == 0 {
				if err := sel.Check(); err != nil {
					return usageError{err}
				}
			}
			o.BPFFS = string(bpffs)
			out := tuneOutput{
				Terminal: t,
				json:     bool(asJSON),
				quiet:    bool(quiet),
				keep:     o.Keep,
				command:  len(argv) > 0,
			}
			return tuneUntil(cmd.Context(), sel, to, o, argv, &out)
		},
	}
	fl := cmd.Flags()
	pick.register(cmd, "sockets")
	fl.BoolVar(&all, "all", false, "all sockets of this machine")
	set.register(cmd)
	fl.BoolVarP(&o.Keep, "keep", "k", false, "keep the changes when this process ends, until airtide tune undo")
	asJSON.register(fl, "print lines of JSON: at the start and at the end, each with all sockets")
	quiet.register(fl, "print only errors")
	bpffs.register(fl)
	cmd.AddCommand(newTuneShow(t), newTuneUndo(t))
	return cmd
}

// tuneUntil applies the settings, waits or runs the command, and restores everything.
func tuneUntil(
	ctx context.Context, sel tune.Selection, to tune.Settings, o tune.Options, argv []string, out *tuneOutput,
) (err error) {
	var group *tune.Group
	if len(argv) > 0 && sel.Empty() && !sel.All {
		if group, err = tune.NewGroup(); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, group.Close()) }()
		sel.Cgroups = []uint64{group.ID}
	}
	var (
		a       *tune.Applied
		applied *tune.Report
	)
	err = out.WaitFor("changing sockets", func() error {
		if a, err = tune.Apply(ctx, sel, to, o); err != nil {
			return err
		}
		applied, err = a.Report(ctx)
		return err
	})
	if a == nil {
		return err
	}
	defer func() {
		err = errors.Join(err, a.Close())
	}()
	if err == nil {
		err = out.applied(applied, a.Removed)
	}
	if err != nil {
		return err
	}
	var history tune.History // of the command's sockets, most of which end with it
	if len(argv) > 0 {
		var attributes *syscall.SysProcAttr
		if group != nil {
			attributes = group.Attributes()
		}
		follow, stop := context.WithCancel(ctx)
		followed := make(chan struct{})
		go func() {
			defer close(followed)
			history.Follow(follow, a)
		}()
		err = command.Run(ctx, argv, command.Options{Attributes: attributes})
		stop()
		<-followed
	} else if !o.Keep {
		<-ctx.Done()
	}
	if err := out.end(a, &history); err != nil {
		return err
	}
	if err == nil && applied.Failed() {
		err = exitStatus(statusFailed)
	}
	return err
}

// tuneOutput prints the start and the end of a tune.
type tuneOutput struct {
	*terminal.Terminal
	json, quiet, keep, command bool
}

type tuneLine struct {
	Type    string        `json:"type"` // applied or ended
	Removed []tune.Undone `json:"removed,omitempty"`
	Undone  *tune.Undone  `json:"undone,omitempty"`
	*tune.Report
}

func (o *tuneOutput) applied(r *tune.Report, removed []tune.Undone) error {
	if o.json {
		return o.JSONLine(tuneLine{Type: "applied", Removed: removed, Report: r})
	}
	for _, u := range removed {
		o.Warnf("restored the changes of a killed process first: tune %s, %d sockets", u.ID, u.Sockets)
	}
	if o.quiet {
		return nil
	}
	w := o.Out
	if o.command {
		w = o.Err // standard output is the command's
	}
	if err := r.WriteText(w); err != nil {
		return err
	}
	var err error
	switch {
	case o.keep:
		_, err = fmt.Fprintf(w, "It lasts until: airtide tune undo %s\n", r.ID)
	case !o.command:
		_, err = fmt.Fprintln(w, "New sockets are changed when they start. Ctrl-C restores everything.")
	}
	return err
}

// end prints the state at the end and restores everything unless it is kept.
func (o *tuneOutput) end(a *tune.Applied, history *tune.History) error {
	if o.keep && !o.command {
		return nil
	}
	ctx := context.Background() // also after Ctrl-C
	r, err := a.Report(ctx)
	if err != nil {
		return err
	}
	history.Complete(r)
	line := tuneLine{Type: "ended", Report: r}
	if !o.keep {
		err := o.WaitFor("restoring everything", func() error {
			line.Undone, err = a.Undo(ctx)
			return err
		})
		if err != nil {
			return err
		}
	}
	switch {
	case o.json:
		return o.JSONLine(line)
	case o.quiet:
		return nil
	}
	w := o.Out
	if o.command {
		w = o.Err
	}
	if err := r.WriteText(w); err != nil || o.keep {
		return err
	}
	return printUndone(w, *line.Undone)
}

func printUndone(w io.Writer, u tune.Undone) error {
	_, err := fmt.Fprintf(w, "tune %s is undone on %s\n", u.ID, units.Count(u.Sockets, "open socket"))
	if err == nil && u.FixedBuffers > 0 {
		_, err = fmt.Fprintf(w, "  %d sockets that no process holds keep their fixed buffers until they close\n",
			u.FixedBuffers)
	}
	return err
}

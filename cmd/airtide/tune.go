package main

import (
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"airtide/internal/kernel/tune"
	"airtide/internal/sys/privilege"
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
		Use:   "tune [selection] [settings] [flags] [-- command ...]",
		Short: "Set limits on live and new TCP sockets",
		Long: `Sets limits on existing and new TCP sockets: bounds of the congestion window, congestion control,
pacing rate, buffers, timeouts. Port, host, process, cgroup and network namespace select the
sockets; each given kind must match. With a command and without a selection, the sockets of the
command and its children are changed.

Each socket is read back after the change. If a change failed, the socket is named and the exit
status is 1. Everything is restored on Ctrl-C or when the command ends. With --keep it lasts until
airtide tune undo. The changes of a killed process are restored by the next tune or undo. If a
command is given, the exit status is the status of the command.

share/doc/airtide/guide/tune.md describes each setting, and which of them cannot be restored.`,
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
			sel.Filter, err = pick.filter()
			if err != nil {
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
			failed, err := tune.Run(cmd.Context(), sel, to, tune.RunOptions{
				Options: o, Command: argv, Wait: t.WaitFor, Applied: out.applied, Ended: out.ended,
				Waiting: func() error { return privilege.Drop(tuningRights(len(argv) > 0)) },
			})
			if err == nil && failed {
				err = exitStatus(statusFailed)
			}
			return err
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
	if o.quiet || o.command {
		return nil // a command has no sockets yet: the report comes once, when it has ended
	}
	if err := r.WriteText(o.Out); err != nil {
		return err
	}
	if o.keep {
		return o.tellKept(o.Out, r)
	}
	_, err := fmt.Fprintln(o.Out, "New sockets are changed when they start. Ctrl-C restores everything.")
	return err
}

// tellKept names the command that ends a change.
func (o *tuneOutput) tellKept(w io.Writer, r *tune.Report) error {
	_, err := fmt.Fprintf(w, "It lasts until: airtide tune undo %s\n", r.ID)
	return err
}

// ended prints the state at the end.
func (o *tuneOutput) ended(r *tune.Report, undone *tune.Undone) error {
	switch {
	case o.json:
		return o.JSONLine(tuneLine{Type: "ended", Undone: undone, Report: r})
	case o.quiet:
		return nil
	}
	w := o.Out
	if o.command {
		w = o.Err
	}
	if err := r.WriteText(w); err != nil {
		return err
	}
	switch {
	case undone != nil:
		return undone.WriteText(w)
	case o.keep && o.command:
		return o.tellKept(w, r)
	}
	return nil
}

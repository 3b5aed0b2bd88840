package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"

	"airtide/internal/kernel/congestion"
	"airtide/internal/kernel/tune"
)

func newTune() *cobra.Command {
	var (
		pick   sourceFlags
		all    bool
		set    tuneFlags
		o      tune.Options
		asJSON bool
		quiet  bool
	)
	cmd := &cobra.Command{
		Use:   "tune [selection] [settings] [--keep] [-- command ...]",
		Short: "Set limits on live and new TCP sockets",
		Long: `Sets limits on TCP sockets that are there and on those that begin: bounds of the congestion window, congestion control,
pacing rate, buffers, timeouts. They are picked by port, host, process, cgroup and network namespace; each kind that is given
must match. With a command and without a selection they are those of the command and its children.

Each socket is read back after it was changed; what failed is named, and the exit status is then 1. Everything goes back to
what it was on Ctrl-C, or when the command ends, unless --keep is given: then it lasts until airtide tune undo. What a killed
process leaves is taken back by the next tune, or by undo.

docs/guide/tune.md tells what each setting does, and what cannot be taken back.`,
		Example: `  airtide tune --port 5201 --cwnd-max 100
  airtide tune --netns server --cc reno --rto-min 40ms --keep
  airtide tune --process curl --pacing-rate 20M -- curl -O http://192.0.2.1/file
  airtide tune --cwnd-max 64 -- iperf3 -c 192.0.2.1
  airtide tune show
  airtide tune undo`,
		Args: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); len(args) > 0 && dash != 0 {
				return misuse{fmt.Errorf("unexpected argument %q: show, undo, or a command behind --", args[0])}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, command []string) error {
			if cmd.ArgsLenAtDash() == 0 && len(command) == 0 {
				return misuse{errors.New("no command behind --")}
			}
			if cmd.Flags().NFlag() == 0 && len(command) == 0 {
				return cmd.Help()
			}
			to, err := set.settings()
			if err != nil {
				return misuse{err}
			}
			sel := tune.Selection{All: all}
			if sel.Filter, err = pick.filter(); err != nil {
				return misuse{err}
			}
			if !sel.Empty() || all || len(command) == 0 {
				if err := sel.Check(); err != nil {
					return misuse{err}
				}
			}
			out := tuneOutput{out: cmd.OutOrStdout(), json: asJSON, quiet: quiet, keep: o.Keep, command: len(command) > 0}
			return tuneUntil(cmd.Context(), sel, to, o, command, &out)
		},
	}
	fl := cmd.Flags()
	selectionFlags(cmd, &pick)
	fl.BoolVar(&all, "all", false, "all sockets of this machine")
	set.register(cmd)
	fl.BoolVarP(&o.Keep, "keep", "k", false, "keep it when this process ends, until airtide tune undo")
	fl.BoolVar(&asJSON, "json", false, "print lines of JSON: when it is in force and when it ends, each with all sockets")
	fl.BoolVarP(&quiet, "quiet", "q", false, "print nothing but errors")
	bpffsFlag(cmd, &o.BPFFS)
	cmd.AddCommand(newTuneShow(), newTuneUndo())
	return cmd
}

func bpffsFlag(cmd *cobra.Command, at *string) {
	cmd.Flags().StringVar(at, "bpffs", congestion.DefaultBPFFS, "where the BPF file system is mounted")
}

// tuneUntil applies the settings, waits or runs the command, and takes them back.
func tuneUntil(ctx context.Context, sel tune.Selection, to tune.Settings, o tune.Options, command []string, out *tuneOutput) (err error) {
	var group *tune.Group
	if len(command) > 0 && sel.Empty() && !sel.All {
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
	err = patiently("changing sockets", func() error {
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
		// Only what goes wrong is left to be said.
		err = errors.Join(err, a.Close())
	}()
	if err == nil {
		err = out.applied(applied, a.Removed)
	}
	if err != nil {
		return err
	}
	if len(command) > 0 {
		err = runTuned(ctx, group, command)
	} else if !o.Keep {
		<-ctx.Done()
	}
	if err := errors.Join(out.end(a)); err != nil {
		return err
	}
	if err == nil && applied.Failed() {
		err = exitStatus(exitFailed)
	}
	return err
}

// tuneOutput prints what becomes of a tune.
type tuneOutput struct {
	out                        io.Writer
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
		return json.NewEncoder(o.out).Encode(tuneLine{Type: "applied", Removed: removed, Report: r})
	}
	for _, u := range removed {
		fmt.Fprintf(os.Stderr, "airtide: tune %s of a killed process was taken back first (%d sockets)\n", u.ID, u.Sockets)
	}
	if o.quiet {
		return nil
	}
	w := o.out
	if o.command {
		w = os.Stderr // the command's output is its own
	}
	if err := r.WriteText(w); err != nil {
		return err
	}
	var err error
	switch {
	case o.keep:
		_, err = fmt.Fprintf(w, "It lasts until: airtide tune undo %s\n", r.ID)
	case !o.command:
		_, err = fmt.Fprintln(w, "New sockets are changed when they begin. Ctrl-C takes everything back.")
	}
	return err
}

// end prints how it stands at the end, and takes it back unless it is kept.
func (o *tuneOutput) end(a *tune.Applied) error {
	if o.keep && !o.command {
		return nil
	}
	ctx := context.Background() // it is done after Ctrl-C too
	r, err := a.Report(ctx)
	if err != nil {
		return err
	}
	line := tuneLine{Type: "ended", Report: r}
	if !o.keep {
		err := patiently("taking everything back", func() error {
			line.Undone, err = a.Undo(ctx)
			return err
		})
		if err != nil {
			return err
		}
	}
	switch {
	case o.json:
		return json.NewEncoder(o.out).Encode(line)
	case o.quiet:
		return nil
	}
	w := o.out
	if o.command {
		w = os.Stderr
	}
	if err := r.WriteText(w); err != nil || o.keep {
		return err
	}
	return printUndone(w, *line.Undone)
}

func printUndone(w io.Writer, u tune.Undone) error {
	_, err := fmt.Fprintf(w, "tune %s is taken back, on %d sockets that are there still\n", u.ID, u.Sockets)
	if err == nil && u.FixedBuffers > 0 {
		_, err = fmt.Fprintf(w, "  %d sockets that no process holds keep their buffers fixed until they end\n", u.FixedBuffers)
	}
	return err
}

package main

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"

	"airtide/internal/kernel/timewarp"
	"airtide/internal/view/terminal"
)

func newTimewarpRun(t *terminal.Terminal) *cobra.Command {
	var (
		o      timewarp.RunOptions
		ratio  string
		follow followFlags
		asJSON jsonFlag
	)
	cmd := &cobra.Command{
		Use:   "run -N RATIO [flags] -- command ...",
		Short: "Run a command in warped time",
		Long: `Loads the module, sets N and runs the command. Everything is restored when the command ends, on
Ctrl-C, or when airtide is killed. Then it prints the duration of the command in real time and by
the clock, and the errors that TCP counted in this network namespace, by kind. The exit status is
the status of the command.`,
		Example: `  airtide timewarp run -N 10 -- curl -O http://192.0.2.1/file
  airtide timewarp run -N 10 --rto paper -- iperf3 -c 192.0.2.1 -t 60
  airtide timewarp run -N 10 --json -- iperf3 -c 192.0.2.1 -t 60`,
		Args: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); len(args) > 0 && dash != 0 {
				return usageError{fmt.Errorf("unexpected argument %q: put the command behind --", args[0])}
			}
			if len(args) == 0 {
				return usageError{errors.New("no command: put one behind --")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if ratio == "" {
				return usageError{errors.New("no ratio: give one with -N")}
			}
			o.Ratio, err = ratioOf(ratio)
			if err != nil {
				return err
			}
			o.TCP, err = follow.tcp()
			if err != nil {
				return err
			}
			o.Command = args
			o.Guardian = []string{"timewarp", guardVerb}
			o.Notice = func(u *timewarp.Undone) { warnRestored(t, u) }
			r, err := timewarp.Running().Run(cmd.Context(), o)
			if r == nil {
				return err
			}
			var printErr error
			if asJSON {
				printErr = t.JSONLine(r)
			} else {
				printErr = r.WriteText(t.Err) // standard output is the command's
				if r.Undone != nil {
					t.Notef("restored: %s", undoneText(r.Undone))
				}
			}
			if err = errors.Join(err, printErr); err != nil {
				return err
			}
			return r.Err()
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&ratio, "ratio", "N", "", "speed of the clock relative to real time, from 1/10 to 1000 (required)")
	asJSON.register(fl, "print the result as JSON")
	follow.register(cmd)
	moduleFlag(cmd, &o.Module)
	return cmd
}

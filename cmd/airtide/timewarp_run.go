package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/cobra"

	"airtide/internal/kernel/timewarp"
)

func newTimewarpRun() *cobra.Command {
	var (
		o      = timewarp.RunOptions{Notice: sayLeft, Guardian: []string{"timewarp", guardVerb}}
		ratio  string
		rto    string
		cubic  bool
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "run -N RATIO -- command ...",
		Short: "Run a command in warped time",
		Long: `Loads the module, sets N, runs the command, and takes everything back when it ends, on Ctrl-C, or when airtide is killed. It
then prints how long the command took in real time and by the clock, and which errors TCP counted meanwhile, by kind, in this
network namespace. The exit status is the command's.`,
		Example: `  airtide timewarp run -N 10 -- curl -O http://192.0.2.1/file
  airtide timewarp run -N 10 --rto paper -- iperf3 -c 192.0.2.1 -t 60
  airtide timewarp run -N 10 --json -- iperf3 -c 192.0.2.1 -t 60`,
		Args: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); len(args) > 0 && dash != 0 {
				return misuse{fmt.Errorf("unexpected argument %q: put the command behind --", args[0])}
			}
			if len(args) == 0 {
				return misuse{errors.New("no command: put one behind --")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if ratio == "" {
				return misuse{errors.New("no ratio: give one with -N")}
			}
			if o.Ratio, err = ratioOf(ratio); err != nil {
				return err
			}
			if o.TCP, err = tcpOf(rto, cubic); err != nil {
				return err
			}
			o.Command = args
			r, err := timewarp.Running().Run(cmd.Context(), o)
			if r == nil {
				return err
			}
			var printErr error
			if asJSON {
				printErr = json.NewEncoder(cmd.OutOrStdout()).Encode(r)
			} else {
				printErr = r.WriteText(os.Stderr) // the command's output is its own
				if r.Undone != nil {
					fmt.Fprintln(os.Stderr, "taken back: "+undoneText(r.Undone))
				}
			}
			if err = errors.Join(err, printErr); err == nil && r.ExitStatus != 0 {
				err = exitStatus(r.ExitStatus)
			}
			return err
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&ratio, "ratio", "N", "", "how many times as fast as real time the clock runs, from 1/10 to 1000 (required)")
	fl.BoolVar(&asJSON, "json", false, "print the result as JSON")
	tcpFlags(cmd, &rto, &cubic)
	moduleFlag(cmd, &o.Module)
	return cmd
}

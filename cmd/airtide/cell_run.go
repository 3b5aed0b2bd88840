package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"airtide/internal/cell"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/setup"
)

func newCellRun() *cobra.Command {
	var (
		o      setup.RunOptions
		asJSON bool
	)
	cmd := &cobra.Command{
		Use:   "run FILE [flags] [-- command ...]",
		Short: "Set up a cell and keep it until Ctrl-C",
		Long: `Sets up the cell that a file describes, says how to enter each machine, and keeps it until Ctrl-C, --duration or the
end of the command. The file is an experiment's, whose flows, measurements and claims are passed over: terminals, servers,
cell and path (docs/reference/cell.md). Times of schedules count from when the machines are told. Everything is removed at the end.

The command runs outside the machines. Its environment names them: AIRTIDE_NS_phone is the namespace of the machine
phone, AIRTIDE_IP_phone its address.`,
		Example: `  airtide cell run cell.yaml
  airtide cell run quickstart --duration 10m
  airtide cell run cell.yaml -- sh -c 'ip netns exec $AIRTIDE_NS_phone ping -c 3 $AIRTIDE_IP_server'
  airtide cell run cell.yaml --json | jq -r '.hosts[].namespace'`,
		Args: func(cmd *cobra.Command, args []string) error {
			if dash := cmd.ArgsLenAtDash(); dash >= 0 {
				args = args[:dash]
			}
			return exactArgs("FILE")(cmd, args)
		},
		ValidArgsFunction: completeExperiment,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Duration < 0 {
				return misuse{fmt.Errorf("--duration %s: want a positive time", o.Duration)}
			}
			if cmd.ArgsLenAtDash() >= 0 {
				if o.Command = args[1:]; len(o.Command) == 0 {
					return misuse{errors.New("no command behind --")}
				}
			}
			data, err := readExperiment(args[0])
			if err != nil {
				return err
			}
			f, err := plan.ReadCell(args[0], data)
			if err != nil {
				return err
			}
			if os.Geteuid() != 0 {
				return errors.New("a cell needs root: it makes network namespaces and devices")
			}
			o.Ready = func(c *cell.Cell, warnings []string) error {
				for _, w := range warnings {
					fmt.Fprintf(os.Stderr, "airtide: %s\n", w)
				}
				if asJSON {
					return json.NewEncoder(cmd.OutOrStdout()).Encode(cellReady{f.Name, os.Getpid(), c.Hosts()})
				}
				if len(o.Command) > 0 {
					return nil // the command knows its way, and has the output for itself
				}
				return printCell(cmd.OutOrStdout(), f.Name, c.Hosts())
			}
			return setup.Run(cmd.Context(), f, o)
		},
	}
	fl := cmd.Flags()
	fl.DurationVarP(&o.Duration, "duration", "d", 0, "end after this time")
	fl.BoolVar(&asJSON, "json", false, "print one line of JSON when the cell is ready")
	return cmd
}

// cellReady is what a cell that is ready tells a program.
type cellReady struct {
	Name  string      `json:"name"`
	PID   int         `json:"pid"`
	Hosts []cell.Host `json:"hosts"`
}

func printCell(w io.Writer, name string, hosts []cell.Host) error {
	fmt.Fprintf(w, "The cell %s is ready. Ctrl-C ends it.\n\n", name)
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	var terminal, server *cell.Host
	for i := range hosts {
		h := &hosts[i]
		kind := "server"
		if h.Terminal {
			kind = "terminal"
		}
		enter := "an interface outside"
		if h.Namespace != "" {
			enter = "ip netns exec " + h.Namespace + " COMMAND"
			if h.Terminal && terminal == nil {
				terminal = h
			} else if !h.Terminal && server == nil {
				server = h
			}
		}
		fmt.Fprintf(t, "  %s\t%s\t%s\t%s\n", kind, h.Name, h.Address, enter)
	}
	if err := t.Flush(); err != nil {
		return err
	}
	fmt.Fprintln(w)
	if terminal != nil && server != nil {
		fmt.Fprintf(w, "Such as:\n  ip netns exec %s ping %s\n  ip netns exec %s iperf3 -s -D\n  ip netns exec %s iperf3 -c %s\n",
			terminal.Namespace, server.Address, server.Namespace, terminal.Namespace, server.Address)
	}
	_, err := fmt.Fprintln(w, "Airtime, queues and collisions, live: airtide cell status")
	return err
}

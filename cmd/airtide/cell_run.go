package main

import (
	"errors"
	"os"

	"github.com/spf13/cobra"

	"airtide/internal/cell"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/setup"
	"airtide/internal/view/terminal"
)

func newCellRun(t *terminal.Terminal) *cobra.Command {
	var (
		o      setup.RunOptions
		asJSON jsonFlag
	)
	cmd := &cobra.Command{
		Use:   "run FILE [flags] [-- command ...]",
		Short: "Set up a cell and keep it until Ctrl-C",
		Long: `Sets up the cell that a file describes, prints how to enter each machine, and keeps the cell until
Ctrl-C, --duration or the end of the command. Then everything is removed. The file describes
terminals, servers, cell and path (share/doc/airtide/reference/cell.md). It may be the file of an
experiment: its flows, measurements and claims are ignored. Times of schedules count from the moment
at which the machines are printed.

The command runs outside the machines. Its environment names them: AIRTIDE_NS_phone is the namespace
of the machine phone, AIRTIDE_IP_phone its address. The exit status is then the status of the
command.`,
		Example: `  airtide cell run cell.yaml
  airtide cell run quickstart --duration 10m
  airtide cell run cell.yaml -- sh -c '
    ip netns exec $AIRTIDE_NS_phone ping -c 3 $AIRTIDE_IP_server'
  airtide cell run cell.yaml --json | jq -r '.hosts[].namespace'`,
		Args:              argsBeforeCommand("FILE"),
		ValidArgsFunction: completeExperiment,
		RunE: func(cmd *cobra.Command, args []string) error {
			var err error
			o.Command, err = commandOf(cmd, args)
			if err != nil {
				return err
			}
			f, err := plan.OpenCell(args[0])
			if err != nil {
				return err
			}
			if os.Geteuid() != 0 {
				return errors.New("a cell needs root: it creates network namespaces and devices")
			}
			o.Ready = func(c *cell.Cell, warnings []string) error {
				for _, w := range warnings {
					t.Warnf("%s", w)
				}
				if asJSON {
					return t.JSONLine(cellReady{f.Name, os.Getpid(), c.Hosts()})
				}
				if len(o.Command) > 0 {
					return nil // the output is the command's
				}
				return printCell(t, f.Name, c.Hosts())
			}
			return setup.Run(cmd.Context(), f, o)
		},
	}
	fl := cmd.Flags()
	durationVar(fl, &o.Duration, "duration", "d", 0, "end after this time")
	asJSON.register(fl, "print one line of JSON once the cell is ready")
	return cmd
}

// cellReady is the JSON of a cell that is ready.
type cellReady struct {
	Name  string      `json:"name"`
	PID   int         `json:"pid"`
	Hosts []cell.Host `json:"hosts"`
}

func printCell(t *terminal.Terminal, name string, hosts []cell.Host) error {
	machines := &terminal.Table{Indent: "  ", Columns: make([]terminal.Column, 4)}
	var phone, server *cell.Host
	for i := range hosts {
		h := &hosts[i]
		kind := "server"
		if h.Terminal {
			kind = "terminal"
		}
		enter := "an interface outside"
		if h.Namespace != "" {
			enter = "ip netns exec " + h.Namespace + " COMMAND"
			if h.Terminal && phone == nil {
				phone = h
			} else if !h.Terminal && server == nil {
				server = h
			}
		}
		machines.Add(kind, h.Name, h.Address.String(), enter)
	}
	if err := t.Printf("The cell %s is ready. Ctrl-C ends it.\n\n", name); err != nil {
		return err
	}
	if err := t.Table(machines); err != nil {
		return err
	}
	if phone != nil && server != nil {
		from := phone.Namespace
		to := server.Namespace
		at := server.Address
		err := t.Printf(`
For example:
  ip netns exec %s ping %s
  ip netns exec %s iperf3 -s -D
  ip netns exec %s iperf3 -c %s
`, from, at, to, from, at)
		if err != nil {
			return err
		}
	} else if err := t.Printf("\n"); err != nil {
		return err
	}
	return t.Printf("Airtime, queues and collisions, live: airtide cell status\n")
}

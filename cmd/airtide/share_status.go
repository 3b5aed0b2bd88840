package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"airtide/internal/share/live"
	"airtide/internal/view/screen"
)

func newShareStatus() *cobra.Command {
	var (
		asJSON, watch bool
		interval      time.Duration
	)
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show how the agents on this machine are doing",
		Long: `Shows of each agent that runs on this machine, in whatever network namespace: the terminals that it hears, what they reach and
deliver, its share, what limits the cell, whether bounds are held and if not why, and what became of the datagrams it received.
With --watch again and again until Ctrl-C, on a terminal in place. Needs root, as the agents do.

When no agent runs here, or one does not answer within a second, the exit status is 1.`,
		Example: `  airtide share status
  airtide share status --watch --interval 5s
  airtide share status --json | jq '{held, why, share_bps, peers: [.peers[] | {address, rate_bps}]}'`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			if interval <= 0 {
				return misuse{fmt.Errorf("--interval %s: want a positive time", interval)}
			}
			if cmd.Flags().Changed("interval") && !watch {
				return misuse{errors.New("--interval is the time between two updates of --watch")}
			}
			before, show := "", showAgent
			switch {
			case asJSON:
				show = func(w io.Writer, r *live.Report) error { return json.NewEncoder(w).Encode(r) }
			case watch && screen.IsTerminal(os.Stdout):
				before = clearScreen
			}
			for {
				failures, err := showAgents(cmd, before, show)
				switch {
				case cmd.Context().Err() != nil, errors.Is(err, syscall.EPIPE):
					return nil // the user, or the reader, has seen enough
				case err != nil:
					return err
				case !watch:
					return failures
				case failures != nil:
					fmt.Fprintf(os.Stderr, "airtide: %v\n", failures) // the agent may be starting
				}
				select {
				case <-cmd.Context().Done():
					return nil
				case <-time.After(interval):
				}
			}
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&asJSON, "json", false, "print a line of JSON for each agent")
	fl.BoolVarP(&watch, "watch", "w", false, "go on until Ctrl-C")
	fl.DurationVarP(&interval, "interval", "i", time.Second, "time between two updates of --watch")
	return cmd
}

// showAgents shows all agents once, in one piece, so that nothing flickers. Those that do not answer are failures.
func showAgents(cmd *cobra.Command, before string, show func(io.Writer, *live.Report) error) (failures, err error) {
	reports, silent, err := live.Ask(cmd.Context())
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString(before)
	for _, r := range reports {
		if err := show(&b, r); err != nil {
			return nil, err
		}
	}
	for _, f := range silent {
		failures = errors.Join(failures, f)
	}
	_, err = b.WriteTo(cmd.OutOrStdout())
	return failures, err
}

func showAgent(w io.Writer, r *live.Report) error {
	if err := r.Table(w); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

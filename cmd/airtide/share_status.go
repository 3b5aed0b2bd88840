package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"airtide/internal/share/statusfeed"
	"airtide/internal/units"
	"airtide/internal/view/terminal"
)

func newShareStatus(t *terminal.Terminal) *cobra.Command {
	var (
		asJSON   jsonFlag
		watch    bool
		interval time.Duration
	)
	cmd := &cobra.Command{
		Use:   "status",
		Short: "Show the state of the agents on this machine",
		Long: `Shows the state of each agent on this machine, in any network namespace: the terminals in contact,
the rates that they reach alone and that they deliver, the share of the agent, the limit of the
cell, whether windows are bounded and if not why, and the fate of received datagrams. With --watch
the table is updated until Ctrl-C. Needs root.

The columns, with - for an unknown or unlimited value:

  state         observing (bounds nothing), controlling, released (bounds did not help), leaving
  PHY           rate of the terminal's radio
  alone, by     rate that it reaches alone, and the source: configured, phy or measured
  share         rate to which its windows are bounded
  up, down      payload that it sends and receives now
  demand        highest rate that it needs
  min RTT, RTT  smallest and present round-trip time
  sent again    segments sent again since its agent began
  reorder, local, dup ACK, timeout
                its errors by kind since then (airtide help events)

The exit status is 1 if no agent runs here or if an agent does not answer within a second.`,
		Example: `  airtide share status
  airtide share status --watch --interval 5s
  airtide share status --json | jq '{bounded, reason, share_bps}'`,
		Args: noArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if cmd.Flags().Changed("interval") && !watch {
				return usageError{errors.New("--interval is the time between two updates of --watch")}
			}
			print := t.Print
			if watch && !bool(asJSON) {
				print = t.Redraw
			}
			for {
				failures, err := showAgents(cmd.Context(), t, bool(asJSON), print)
				switch {
				case cmd.Context().Err() != nil:
					return nil
				case err != nil:
					return err
				case !watch:
					return failures
				case failures != nil:
					t.Warnf("%v", failures) // the agent may be starting
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
	asJSON.register(fl, "print a line of JSON for each agent")
	fl.BoolVarP(&watch, "watch", "w", false, "update until Ctrl-C")
	durationVar(fl, &interval, "interval", "i", time.Second, "time between two updates of --watch")
	return cmd
}

// showAgents prints all agents in one write, which avoids flicker. Agents that do not answer are
// failures.
func showAgents(
	ctx context.Context, t *terminal.Terminal, asJSON bool, print func([]byte) error,
) (failures, err error) {
	reports, silent, err := statusfeed.Ask(ctx)
	if err != nil {
		return nil, err
	}
	var b bytes.Buffer
	for _, r := range reports {
		if err := writeAgent(&b, r, t, asJSON); err != nil {
			return nil, err
		}
	}
	for _, f := range silent {
		failures = errors.Join(failures, f)
	}
	return failures, print(b.Bytes())
}

func writeAgent(w io.Writer, r *statusfeed.Report, t *terminal.Terminal, asJSON bool) error {
	if asJSON {
		return units.NewJSONEncoder(w).Encode(r)
	}
	if err := r.Table(w, t.Width, t.Colour); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

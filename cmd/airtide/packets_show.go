package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"airtide/internal/view/terminal"
)

func newPacketsShow(t *terminal.Terminal) *cobra.Command {
	var (
		asJSON jsonFlag
		chosen captureFlags
		limit  limitFlag
		top    int
		live   time.Duration
	)
	cmd := &cobra.Command{
		Use:   "show FILE",
		Short: "Show what a capture holds, or one connection",
		Long: `Says in one sentence what a capture shows, and lists the connections with most data. --connection
shows everything about one: segments sent again, duplicate ACKs, SACK, windows, the options of the
handshake. --json has everything about all.`,
		Example: `  airtide packets show upload.pcap --top 100
  airtide packets show upload.pcap --connection 1
  ssh root@ap tcpdump -i br-lan -s 160 -U -w - tcp | airtide packets --live -
  airtide packets show upload.pcap --json | jq '.connections[] | {client, end}'`,
		Args: exactArgs("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if top < 1 {
				return usageError{fmt.Errorf("--top %d: want at least 1", top)}
			}
			if err := limit.check(); err != nil {
				return err
			}
			v, err := chosen.viewer(cmd, t, args[0])
			if err != nil {
				return err
			}
			v.Top = top
			v.Limit = int(limit)
			if cmd.Flags().Changed("live") {
				return packetsError(v.Live(cmd.Context(), live))
			}
			if asJSON {
				return packetsError(v.JSON(cmd.Context()))
			}
			return packetsError(v.Text(cmd.Context()))
		},
	}
	asJSON.register(cmd.Flags(), "print all connections as JSON, in the order of their ends")
	chosen.register(cmd, "print everything about one connection")
	cmd.Flags().IntVar(&top, "top", 20, "number of connections in the table, those with most data first")
	limit.register(cmd, "connections that --json prints")
	durationVar(cmd.Flags(), &live, "live", "", time.Second, "print the table while the capture is read, each interval")
	cmd.Flags().Lookup("live").NoOptDefVal = "1s"
	exclusive(cmd, "live", "connection")
	exclusive(cmd, "live", "json")
	exclusive(cmd, "top", "connection")
	exclusive(cmd, "top", "json")
	return cmd
}

package main

import (
	"github.com/spf13/cobra"

	"airtide/internal/packets/series"
	"airtide/internal/recording/export"
	"airtide/internal/view/terminal"
)

func newPacketsExport(t *terminal.Terminal) *cobra.Command {
	var (
		chosen captureFlags
		limit  limitFlag
		to     exportFlags
	)
	cmd := &cobra.Command{
		Use:   "export FILE -o OUT [--to FORMAT]",
		Short: "Export each segment of a capture to Parquet, CSV, JSON lines or Perfetto",
		Long: `Exports the segments of all connections, or of one, in the formats and tables of airtide export.
Connection N becomes two flows: 2N-1 is the client, 2N the server.`,
		Example: `  airtide packets export upload.pcap -o upload.parquet
  airtide packets export upload.pcap --to csv --connection 2 -o - | head
  airtide packets export upload.pcap --to csv --table events -o events.csv`,
		Args: exactArgs("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := limit.check(); err != nil {
				return err
			}
			format, o, err := to.options(t)
			if err != nil {
				return err
			}
			v, err := chosen.viewer(cmd, t, args[0])
			if err != nil {
				return err
			}
			v.Limit = int(limit)
			o.Fields = series.Fields()
			// Times of captures are those of the wall clock.
			meta := export.Meta{Source: "capture", Tool: version(), ClockMonotonicNs: 1, ClockWallNs: 1}
			return packetsError(v.Export(cmd.Context(), format, to.out.path, meta, o))
		},
	}
	to.register(cmd, export.Samples, export.Events, export.Flows)
	chosen.register(cmd, "export one connection alone")
	limit.register(cmd, "connections that are exported")
	return cmd
}

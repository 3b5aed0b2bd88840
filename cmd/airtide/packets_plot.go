package main

import (
	"strings"

	"github.com/spf13/cobra"

	"airtide/internal/view/plot"
	"airtide/internal/view/terminal"
)

func newPacketsPlot(t *terminal.Terminal) *cobra.Command {
	var (
		chosen captureFlags
		kind   string
		out    outputFlags
	)
	cmd := &cobra.Command{
		Use:   "plot FILE -o FIGURE",
		Short: "Draw one connection of a capture",
		Long: `Draws the chosen connection, or the one with most data. The suffix of the output chooses PNG, SVG
or PDF; "-o -" writes to standard output.

Figures:
` + packetFigureList(),
		Example: `  airtide packets plot upload.pcap -o flight.png
  airtide packets plot upload.pcap -k ack-time --connection 2 -o ack-time.svg`,
		Args: exactArgs("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			k, err := plot.ParsePacketKind(kind)
			if err != nil {
				return misnamed(err, kind, packetKindNames())
			}
			format, err := out.figureFormat(t)
			if err != nil {
				return err
			}
			v, err := chosen.viewer(cmd, t, args[0])
			if err != nil {
				return err
			}
			write := func(data []byte) error { return out.writeOrPrint(t, data) }
			return packetsError(v.Figure(cmd.Context(), k, format, write))
		},
	}
	out.register(cmd.Flags(), "figure to write: .png, .svg or .pdf, or - for standard output (required)")
	cmd.Flags().StringVarP(&kind, "kind", "k", string(plot.Flight), "kind of figure; see above")
	chosen.register(cmd, "connection to draw (default: the one with most data)")
	fixed(cmd, "kind", packetKindNames()...)
	_ = cmd.MarkFlagFilename("output", plot.Formats...)
	return cmd
}

func packetKindNames() []string {
	var names []string
	for _, k := range plot.PacketKinds() {
		names = append(names, string(k))
	}
	return names
}

// packetFigureList describes the figures of captures, one in a line.
func packetFigureList() string {
	var lines []string
	for _, k := range plot.PacketKinds() {
		lines = append(lines, "  "+k.Line())
	}
	return strings.Join(lines, "\n")
}

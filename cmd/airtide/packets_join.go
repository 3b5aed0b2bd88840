package main

import (
	"context"
	"errors"
	"runtime/debug"

	"github.com/spf13/cobra"

	"airtide/internal/packets/join"
	"airtide/internal/recording/trace"
	"airtide/internal/view/plot"
	"airtide/internal/view/terminal"
)

func newPacketsJoin(t *terminal.Terminal) *cobra.Command {
	var (
		asJSON jsonFlag
		chosen captureFlags
		limit  limitFlag
		out    outputFlags
	)
	cmd := &cobra.Command{
		Use:   "join FILE RECORDING",
		Short: "Show a capture beside a recording of the same transfer",
		Long: `Shows the connections that are in both files on one time axis, that of the capture: a row for each
recorded end. With -o it draws one of them: captured bytes in flight and recorded cwnd.`,
		Example: `  airtide packets join upload.pcap upload.atr
  airtide packets join upload.pcap upload.atr -o joined.svg`,
		Args: exactArgs("FILE", "RECORDING"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := limit.check(); err != nil {
				return err
			}
			v, err := chosen.viewer(cmd, t, args[0])
			if err != nil {
				return err
			}
			format := ""
			if out.path != "" {
				format, err = out.figureFormat(t)
			}
			if err != nil {
				return err
			}
			if v.One && v.Number == 0 {
				return usageError{errors.New("--connection 0: connections are numbered from 1")}
			}
			v.Limit = int(limit)
			v.Recording = args[1]
			flows, err := joinable(cmd.Context(), t, args[1])
			switch {
			case err != nil:
				return err
			case format != "":
				write := func(data []byte) error { return out.writeOrPrint(t, data) }
				return v.JoinFigure(cmd.Context(), flows, format, write)
			case bool(asJSON):
				return v.JoinJSON(cmd.Context(), flows)
			}
			return v.JoinText(cmd.Context(), flows)
		},
	}
	asJSON.register(cmd.Flags(), "print all joined ends as JSON")
	chosen.register(cmd, "join one connection alone")
	limit.register(cmd, "joined ends that are printed")
	out.register(cmd.Flags(), "figure to write: .png, .svg or .pdf, or - for standard output")
	_ = cmd.MarkFlagFilename("output", plot.Formats...)
	exclusive(cmd, "json", "output")
	return cmd
}

// joinable reads what a join needs of a recording.
func joinable(ctx context.Context, t *terminal.Terminal, path string) (*join.Recording, error) {
	r, err := openTrace(ctx, t, path)
	if err != nil {
		return nil, err
	}
	defer r.Close()
	m := r.Metadata()
	flows := &join.Recording{WallNs: m.WallNs}
	if err := r.scan(ctx, "reading", trace.ScanOptions{Fields: join.Fields()}, flows); err != nil {
		return nil, err
	}
	r.warnDamage()
	debug.SetMemoryLimit(smallMemory) // also beside a large recording
	return flows, nil
}

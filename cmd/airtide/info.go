package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"airtide/internal/recording/summary"
	"airtide/internal/recording/trace"
	"airtide/internal/tcp"
	"airtide/internal/units"
	"airtide/internal/view/terminal"
)

func newInfo(t *terminal.Terminal) *cobra.Command {
	var (
		asJSON jsonFlag
		flow   uint
	)
	cmd := &cobra.Command{
		Use:   "info FILE",
		Short: "Show what is in a recording",
		Long: `Summarises a recording: where and how it was made, and for each connection its rates, round-trip
times, congestion window, retransmissions by cause, errors by code, and what limited it. A damaged
or unfinished recording is read as far as possible, and the missing part is reported.`,
		Example: `  airtide info upload.atr
  airtide info upload.atr --flow 1
  airtide info upload.atr --json | jq '.flows[] | {flow, acked_rate_bps}'`,
		Args: exactArgs("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			r, err := openTrace(t, args[0])
			if err != nil {
				return err
			}
			defer r.Close()
			meta := r.Metadata()
			s := summary.New(summary.Options{Unseen: unseen(meta.Source)})
			if err := r.scan(cmd.Context(), "summing up", trace.ScanOptions{Fields: summary.Fields()}, s); err != nil {
				return err
			}
			defer r.warnDamage() // below a long report, where it is seen
			report := s.Report()
			if cmd.Flags().Changed("flow") {
				has := func(id tcp.FlowID) bool { _, ok := report.Flow(id); return ok }
				if err := needFlows(cmd.Context(), r, flowIDs([]uint{flow}), has); err != nil {
					return err
				}
			}
			if asJSON {
				return t.JSON(infoJSON{meta, r.Damage(), report})
			}
			var text bytes.Buffer
			o := summary.TextOptions{Width: t.Width, Colour: t.Colour}
			if flow > 0 {
				err = report.WriteFlow(&text, tcp.FlowID(flow), o)
			} else {
				writeMetadata(&text, args[0], meta)
				err = report.WriteText(&text, o)
			}
			if err != nil {
				return err
			}
			return t.PrintWrapped(text.String(), infoIndent)
		},
	}
	asJSON.register(cmd.Flags(), "print everything as JSON")
	cmd.Flags().UintVar(&flow, "flow", 0, "print everything about one flow")
	return cmd
}

// infoIndent is the width of the names in front of the totals.
const infoIndent = 15

// infoJSON is the JSON of info: how the recording was made, its damage, its summary.
type infoJSON struct {
	Recording trace.Metadata `json:"recording"`
	Damage    trace.Damage   `json:"damage"`
	summary.Report
}

// writeMetadata prints how a recording was made. Its texts may come from another person's file.
func writeMetadata(out io.Writer, path string, m trace.Metadata) {
	w := &strings.Builder{}
	fmt.Fprintf(w, "%s  recorded %s on %s, Linux %s %s\n", path,
		time.Unix(0, m.ClockWallNs).UTC().Format("2006-01-02 15:04:05 UTC"), m.Host, m.Kernel, m.Arch)
	fmt.Fprintf(w, "source %s; density %s", m.SourceDetail, m.Density)
	if len(m.Command) > 0 {
		fmt.Fprintf(w, "; command %q", m.Command)
	}
	if m.Label != "" {
		fmt.Fprintf(w, "; label %q", m.Label)
	}
	if !m.Filter.Empty() {
		f, err := json.Marshal(m.Filter)
		if err == nil {
			fmt.Fprintf(w, "; filter %s", f)
		}
	}
	fmt.Fprintf(out, "%s\n", units.PrintableText(w.String(), false))
}

// unseen lists the kinds of events that a source cannot see. Their counts are absent, not zero.
func unseen(source string) []tcp.EventKind {
	if source == "diag" {
		return []tcp.EventKind{tcp.EventUndo, tcp.EventTLPLoss}
	}
	return nil
}

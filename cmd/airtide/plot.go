package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"airtide/internal/recording/trace"
	"airtide/internal/tcp"
	"airtide/internal/view/plot"
)

func newPlot() *cobra.Command {
	var (
		out, kind, style string
		flows            []uint
		force            bool
		o                plot.Options
	)
	cmd := &cobra.Command{
		Use:   "plot FILE -o FIGURE",
		Short: "Draw figures from a recording",
		Long: `Draws one connection of a recording as PNG, SVG or PDF, chosen by the ending of the output; with --grid several
connections side by side with the same axes.

Figures:
` + figureList(),
		Example: `  airtide plot upload.atr --flow 1 -o cwnd.png
  airtide plot upload.atr --flow 1 --kind rtt --log-rtt -o rtt.svg
  airtide plot upload.atr --grid --flow 1,2,3,4 -o all.png`,
		Args: exactArgs("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if out == "" {
				return misuse{errors.New("no output file: give one with -o FIGURE")}
			}
			k, err := plot.ParseKind(kind)
			if err != nil {
				return misuse{err}
			}
			format, err := plot.FormatOf(out)
			if err != nil {
				return misuse{err}
			}
			o.Style = plot.Style(style)
			return drawPlot(cmd.Context(), args[0], out, format, k, flowIDs(flows), force, o)
		},
	}
	fl := cmd.Flags()
	fl.StringVarP(&out, "output", "o", "", "figure to write: .png, .svg or .pdf (required)")
	fl.StringVarP(&kind, "kind", "k", string(plot.Cwnd), "which figure; see above")
	fl.UintSliceVar(&flows, "flow", nil, "flow numbers, as airtide info shows them (default: the flow with most traffic, with --grid all)")
	fl.BoolVar(&o.Grid, "grid", false, "several flows side by side with the same axes")
	fl.DurationVar(&o.From, "from", 0, "start of the figure, from the start of the recording")
	fl.DurationVar(&o.To, "to", 0, "end of the figure, from the start of the recording (default: its end)")
	fl.StringVar(&o.Title, "title", "", "title (default: the flow)")
	fl.BoolVar(&o.NoTitle, "no-title", false, "no title")
	fl.Float64Var(&o.WidthCm, "width", 0, "width in cm (default 16)")
	fl.Float64Var(&o.HeightCm, "height", 0, "height in cm (default: what the figure needs)")
	fl.IntVar(&o.DPI, "dpi", 0, "resolution of a PNG (default 300)")
	fl.StringVar(&style, "style", string(plot.Colour), "colour or grey")
	fl.BoolVar(&o.LogRTT, "log-rtt", false, "logarithmic axis for round-trip times")
	fl.DurationVar(&o.Window, "window", 0, "time over which goodput is averaged (default: a hundredth of the figure)")
	fl.BoolVarP(&force, "force", "f", false, "overwrite an existing file")
	names := make([]string, 0, len(plot.Kinds()))
	for _, k := range plot.Kinds() {
		names = append(names, string(k))
	}
	_ = cmd.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions(names, cobra.ShellCompDirectiveNoFileComp))
	_ = cmd.MarkFlagFilename("output", plot.Formats...)
	return cmd
}

func figureList() string {
	var b strings.Builder
	for _, k := range plot.Kinds() {
		fmt.Fprintf(&b, "  %-10s %s\n", k, k.Doc())
	}
	return strings.TrimRight(b.String(), "\n")
}

func drawPlot(ctx context.Context, path, out, format string, kind plot.Kind, ids []tcp.FlowID, force bool, o plot.Options) error {
	r, err := openTrace(path)
	if err != nil {
		return err
	}
	defer r.Close()
	o.OriginNs, o.Minor = r.Metadata().ClockMonotonicNs, len(ids) > 0
	if len(ids) == 0 && !o.Grid {
		id, err := busiestFlow(ctx, r)
		if err != nil {
			return err
		}
		r.warnDamage()
		ids = []tcp.FlowID{id}
	}
	series := plot.NewSeries([]plot.Kind{kind}, ids, o)
	if err := r.scan(ctx, "reading", trace.ScanOptions{Fields: kind.Fields(), Flows: ids}, series); err != nil {
		return err
	}
	r.warnDamage()
	found := series.Flows()
	has := func(id tcp.FlowID) bool {
		return slices.ContainsFunc(found, func(f *plot.FlowSeries) bool { return f.Flow.ID == id })
	}
	if err := needFlows(ctx, r, ids, has); err != nil {
		return err
	}
	o.Note = missing(series.LostRecords(), r.Damage())
	f, err := createOutput(out, force)
	if err != nil {
		return err
	}
	w := bufio.NewWriter(f)
	err = plot.Draw(w, format, kind, found, o)
	if err == nil {
		err = w.Flush()
	}
	if closeErr := f.Close(); err == nil {
		err = closeErr
	}
	if err != nil {
		_ = os.Remove(out)
		return fmt.Errorf("drawing %s: %w", out, err)
	}
	return nil
}

// missing is the note of a figure whose recording lacks something.
func missing(lost uint64, d trace.Damage) string {
	var notes []string
	if lost > 0 {
		notes = append(notes, fmt.Sprintf("%d records were lost while recording", lost))
	}
	if !d.Whole() {
		notes = append(notes, "recording: "+d.String())
	}
	return strings.Join(notes, "; ")
}

// createOutput makes a file and refuses to overwrite one unless told to.
func createOutput(path string, force bool) (*os.File, error) {
	flags := os.O_WRONLY | os.O_CREATE | os.O_EXCL
	if force {
		flags = os.O_WRONLY | os.O_CREATE | os.O_TRUNC
	}
	f, err := os.OpenFile(path, flags, 0o644)
	if errors.Is(err, os.ErrExist) {
		return nil, fmt.Errorf("%s exists: choose another name or overwrite it with --force", path)
	}
	return f, err
}

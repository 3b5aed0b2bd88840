package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"airtide/internal/recording/trace"
	"airtide/internal/tcp"
	"airtide/internal/units"
	"airtide/internal/view/plot"
	"airtide/internal/view/terminal"
)

func newPlot(t *terminal.Terminal) *cobra.Command {
	var (
		out          outputFlags
		kind, format string
		theme        themeFlag
		flows        []uint
		o            plot.Options
	)
	cmd := &cobra.Command{
		Use:   "plot FILE -o FIGURE",
		Short: "Draw figures from a recording",
		Long: `Draws one connection of a recording, several in one panel (--flow 1,2), or several side by side with
the same axes (--grid). The suffix of the output chooses PNG, SVG or PDF; "-o -" writes to standard
output.

Figures:
` + figureList(),
		Example: `  airtide plot upload.atr -o overview.png
  airtide plot upload.atr --flow 1 --kind cwnd -o cwnd.png
  airtide plot upload.atr --flow 1 --kind rtt --log-rtt -o rtt.svg
  airtide plot upload.atr --flow 1,2 --kind rates --theme dark -o both.png
  airtide plot upload.atr --grid --flow 1,2,3,4 -o all.png`,
		Args: exactArgs("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if out.path == "" {
				return usageError{errors.New("no output file: give one with -o FIGURE")}
			}
			k, err := plot.ParseKind(kind)
			if err != nil {
				return misnamed(err, kind, kindNames())
			}
			format, err = formatOf(t, out.path, format)
			if err != nil {
				return err
			}
			o.Theme, err = theme.find()
			if err != nil {
				return err
			}
			if o.To != 0 && o.To <= o.From {
				from := units.Duration(o.From)
				to := units.Duration(o.To)
				return usageError{fmt.Errorf("--to %s: want a time after --from %s", to, from)}
			}
			if err := out.check(); err != nil {
				return err
			}
			return drawPlot(cmd.Context(), t, args[0], out, format, k, flowIDs(flows), o)
		},
	}
	fl := cmd.Flags()
	out.register(fl, "figure to write: .png, .svg or .pdf, or - for standard output (required)")
	fl.StringVar(&format, "format", "", "png, svg or pdf (default: the suffix of the output; png for -)")
	fl.StringVarP(&kind, "kind", "k", string(plot.Overview), "kind of figure; see above")
	flowsVar(cmd, &flows,
		"flow numbers as airtide info shows them (default: the flow with most traffic; with --grid all)")
	fl.BoolVar(&o.Grid, "grid", false, "several flows side by side with the same axes")
	durationVar(fl, &o.From, "from", "", 0, "start of the figure, from the start of the recording")
	durationVar(fl, &o.To, "to", "", 0, "end of the figure, from the start of the recording (default: its end)")
	fl.StringVar(&o.Title, "title", "", "title (default: the flow)")
	fl.BoolVar(&o.NoTitle, "no-title", false, "no title")
	fl.Var(units.NumberFlag(&o.WidthCm), "width", "width in cm (default 16)")
	fl.Var(units.NumberFlag(&o.HeightCm), "height", "height in cm (default: as the figure needs)")
	fl.IntVar(&o.DPI, "dpi", 0, "resolution of a PNG (default 300, or less for a large grid)")
	theme.register(cmd)
	fl.BoolVar(&o.LogRTT, "log-rtt", false, "logarithmic axis for round-trip times")
	durationVar(fl, &o.Window, "window", "", 0,
		"time over which goodput is averaged (default: a hundredth of the figure)")
	fixed(cmd, "kind", kindNames()...)
	fixed(cmd, "format", plot.Formats...)
	_ = cmd.MarkFlagFilename("output", plot.Formats...)
	return cmd
}

// figureFormat is the format of the figure that these flags name. They must name one.
func (f *outputFlags) figureFormat(t *terminal.Terminal) (string, error) {
	if f.path == "" {
		return "", usageError{errors.New("no output file: give one with -o FIGURE")}
	}
	return formatOf(t, f.path, "")
}

// formatOf is the format of a figure: the chosen one, or the suffix of its file.
func formatOf(t *terminal.Terminal, path, chosen string) (string, error) {
	switch {
	case chosen != "" && !slices.Contains(plot.Formats, chosen):
		err := fmt.Errorf("unknown format %q: want one of %s", chosen, strings.Join(plot.Formats, ", "))
		return "", misnamed(err, chosen, plot.Formats)
	case path == "-" && t.Screen:
		return "", usageError{errors.New("a terminal cannot show the figure: redirect the output, or name a file")}
	case chosen != "":
		return chosen, nil
	case path == "-":
		return "png", nil
	}
	format, err := plot.FormatOf(path)
	if err != nil {
		return "", usageError{err}
	}
	return format, nil
}

func kindNames() []string {
	var names []string
	for _, k := range plot.Kinds() {
		names = append(names, string(k))
	}
	return names
}

func figureList() string {
	var b strings.Builder
	for _, k := range plot.Kinds() {
		fmt.Fprintf(&b, "  %-10s %s\n", k, k.Doc())
	}
	return strings.TrimRight(b.String(), "\n")
}

func drawPlot(
	ctx context.Context, t *terminal.Terminal, path string, out outputFlags, format string, kind plot.Kind,
	ids []tcp.FlowID, o plot.Options,
) error {
	r, err := openTrace(ctx, t, path)
	if err != nil {
		return err
	}
	defer r.Close()
	o.OriginNs = r.Metadata().ClockMonotonicNs
	o.Diagnosis = diagnoseOptions(r.Metadata()).Source
	note := ""
	if len(ids) == 0 && o.Grid {
		volumes := plot.NewVolumes(o)
		err := r.scan(ctx, "looking for the flows of", trace.ScanOptions{Fields: plot.VolumeFields()}, volumes)
		if err == nil {
			ids, note, err = volumes.Major()
		}
		if err != nil {
			r.warnDamage()
			return fmt.Errorf("%s: %w", r.path, err)
		}
	}
	if len(ids) == 0 {
		id, of, err := busiestFlow(ctx, r)
		if err != nil {
			return err
		}
		r.warnDamage()
		ids = []tcp.FlowID{id}
		if of > 1 {
			t.Notef("drawing flow %d of %d, the flow with most traffic; --flow chooses others", id, of)
		}
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
	for _, text := range plot.Lacking(kind, found, o) {
		t.Warnf("%s", text)
	}
	o.Note = plot.JoinNotes(missing(series.LostRecords(), r.Damage()), note)
	var b bytes.Buffer
	drawn := make(chan error, 1)
	go func() { drawn <- plot.Draw(&b, format, kind, found, o) }()
	select {
	case err := <-drawn:
		if err != nil {
			return fmt.Errorf("drawing %s: %w", out.path, err)
		}
	case <-ctx.Done(): // the drawing ends with the process
		return ctx.Err()
	}
	return out.writeOrPrint(t, b.Bytes())
}

// missing returns the note for a figure of an incomplete recording.
func missing(lost uint64, d trace.Damage) string {
	var notes []string
	if lost > 0 {
		notes = append(notes, units.Count(lost, "record")+" lost while recording")
	}
	if !d.Whole() {
		notes = append(notes, "recording: "+d.String())
	}
	return strings.Join(notes, "; ")
}

package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"airtide/internal/recording/export"
	"airtide/internal/recording/trace"
	"airtide/internal/tcp"
	"airtide/internal/view/terminal"
)

func newExport(t *terminal.Terminal) *cobra.Command {
	var (
		to        exportFlags
		fields    []string
		flows     []uint
		dropEmpty bool
	)
	cmd := &cobra.Command{
		Use:   "export FILE -o OUT [--to FORMAT]",
		Short: "Export a recording to Parquet, CSV, JSON lines or Perfetto",
		Long: `Exports a recording for pandas, DuckDB and spreadsheets (parquet, csv), scripts (jsonl) and the
Perfetto trace viewer (perfetto). Parquet and CSV have three tables: samples in OUT, events and
flows in files beside it; or all three in OUT if it is a folder. A recording with data of the radio
has a fourth, radio. Absent values are null (empty in CSV, left out in JSON lines), never zero.
Every recording gives the same columns; --drop-empty leaves out the fields that no sample of this
recording has.`,
		Example: `  airtide export upload.atr -o upload.parquet
  airtide export upload.atr --to csv --table events -o - | head
  airtide export upload.atr --to jsonl -o - | jq 'select(.srtt_us).srtt_us'
  airtide export upload.atr -o upload.pftrace`,
		Args: exactArgs("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			format, o, err := to.options(t)
			if err != nil {
				return err
			}
			if len(fields) > 0 {
				o.Fields = []tcp.Field{} // flow and time_ns alone are a choice, too
			}
			for _, name := range fields {
				name = strings.TrimSpace(name)
				if slices.Contains(rowKeys, name) {
					continue
				}
				f, ok := tcp.FieldByName(name)
				if !ok {
					meant := suggestion("", name, tcp.FieldNames())
					return usageError{fmt.Errorf("unknown field %q%s: airtide help fields lists them", name, meant)}
				}
				o.Fields = append(o.Fields, f)
			}
			return exportTrace(cmd.Context(), t, args[0], to.out.path, format, flowIDs(flows), dropEmpty, o)
		},
	}
	fl := cmd.Flags()
	to.register(cmd, export.Samples, export.Events, export.Flows, export.Radio)
	fl.StringSliceVar(&fields, "fields", nil, "only these fields, beside flow and time (default: all)")
	fl.BoolVar(&dropEmpty, "drop-empty", false, "leave out fields that no sample has")
	flowsVar(cmd, &flows, "only these flows (default: all)")
	fixed(cmd, "fields", tcp.FieldNames()...)
	return cmd
}

// exportFlags choose the output of an export.
type exportFlags struct {
	out    outputFlags
	to     string
	table  string
	tables []string // that --table may name
}

func (f *exportFlags) register(cmd *cobra.Command, tables ...export.Table) {
	for _, table := range tables {
		f.tables = append(f.tables, string(table))
	}
	fl := cmd.Flags()
	f.out.register(fl, "file or folder to write, - for standard output (required)")
	fl.StringVar(&f.to, "to", "", "format: "+formatNames()+" (default: the suffix of the output)")
	fl.StringVar(&f.table, "table", "", "write only this table of Parquet or CSV: "+strings.Join(f.tables, ", "))
	fixed(cmd, "to", strings.Split(formatNames(), ", ")...)
	fixed(cmd, "table", f.tables...)
}

// options checks the flags.
func (f *exportFlags) options(t *terminal.Terminal) (format export.Format, o export.Options, err error) {
	out := f.out.path
	if out == "" {
		return format, o, usageError{errors.New("no output: give one with -o OUT (- for stdout)")}
	}
	to := f.to
	if to == "" {
		to = formatOfSuffix(out)
	}
	if to == "" {
		return format, o, usageError{noFormat(out)}
	}
	format, err = export.ParseFormat(to)
	if err != nil {
		return format, o, misnamed(err, to, strings.Split(formatNames(), ", "))
	}
	if format == export.Parquet && out == "-" {
		return format, o, usageError{errors.New("parquet cannot go to standard output: name a file or a folder, or " +
			"take csv or jsonl")}
	}
	o = export.Options{Overwrite: f.out.force, Stdout: t.Raw()}
	if f.table == "" {
		return format, o, nil
	}
	if !slices.Contains(f.tables, f.table) {
		err = fmt.Errorf("unknown table %q: want one of %s", f.table, strings.Join(f.tables, ", "))
		return format, o, misnamed(err, f.table, f.tables)
	}
	o.Table = export.Table(f.table)
	if !format.HasTables() {
		return format, o, usageError{fmt.Errorf("--table %s: %s has no tables; parquet and csv have", f.table, format)}
	}
	return format, o, nil
}

// noFormat says why the name of an output tells no format.
func noFormat(out string) error {
	const give = "give one with --to"
	if suffix := filepath.Ext(out); suffix != "" && suffix != "." {
		return fmt.Errorf("%s: the suffix %s names no format; %s (%s)", out, suffix, give, formatNames())
	}
	if strings.HasSuffix(out, "/") {
		return fmt.Errorf("%s: no format for the files of the new folder; %s (%s)", out, give, formatNames())
	}
	return fmt.Errorf("%s: no format; %s (%s). The name of a new folder ends in /", out, give, formatNames())
}

// formatOfSuffix is the format that a file's suffix names, or "".
func formatOfSuffix(path string) string {
	suffix := strings.ToLower(strings.TrimPrefix(filepath.Ext(path), "."))
	if suffix == "pftrace" {
		return string(export.Perfetto)
	}
	if format, err := export.ParseFormat(suffix); err == nil {
		return string(format)
	}
	return ""
}

func formatNames() string {
	var names []string
	for _, f := range export.Formats() {
		names = append(names, string(f))
	}
	return strings.Join(names, ", ")
}

// rowKeys are the columns that every row has, whichever fields are chosen.
var rowKeys = []string{"flow", "time_ns", "time"}

func exportTrace(
	ctx context.Context, t *terminal.Terminal, path, out string, format export.Format, ids []tcp.FlowID,
	dropEmpty bool, o export.Options,
) error {
	r, err := openTrace(ctx, t, path)
	if err != nil {
		return err
	}
	defer r.Close()
	survey := &export.Survey{}
	if err := r.scan(ctx, "looking through", trace.ScanOptions{Flows: ids}, survey); err != nil {
		return err
	}
	r.warnDamage()
	o.Flows = survey.Flows()
	o.Radio = survey.HasRadio()
	if err := needFlows(ctx, r, ids, func(id tcp.FlowID) bool { return o.Flows[id] != nil }); err != nil {
		return err
	}
	if present := survey.Fields(); dropEmpty && o.Fields == nil {
		o.Fields = present
	} else if dropEmpty {
		o.Fields = slices.DeleteFunc(o.Fields, func(f tcp.Field) bool { return !slices.Contains(present, f) })
	}
	m := r.Metadata()
	x, err := export.New(format, out, export.Meta{
		Host: m.Host, Kernel: m.Kernel, Source: m.Source, Tool: m.Tool,
		ClockMonotonicNs: m.ClockMonotonicNs, ClockWallNs: m.ClockWallNs, ClockBootNs: m.ClockBootNs,
	}, o)
	if err != nil {
		return err
	}
	if err := r.scan(ctx, "exporting", trace.ScanOptions{Flows: ids}, x); err != nil {
		x.Abort()
		return err
	}
	if err := x.Close(); err != nil {
		return err
	}
	if out != "-" {
		t.Notef("wrote %s", strings.Join(x.Paths(), ", "))
	}
	return nil
}

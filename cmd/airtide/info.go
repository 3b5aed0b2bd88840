package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"strconv"
	"strings"
	"time"
	"unicode"

	"github.com/spf13/cobra"

	"airtide/internal/diagnose"
	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/recording/summary"
	"airtide/internal/recording/trace"
	"airtide/internal/tcp"
	"airtide/internal/units"
	"airtide/internal/view/terminal"
)

func newInfo(t *terminal.Terminal) *cobra.Command {
	var (
		asJSON  jsonFlag
		flow    uint
		sort    string
		choose  recordedFlags
		o       infoOptions
		byOrder summary.Order
	)
	cmd := &cobra.Command{
		Use:   "info FILE [FILE]",
		Short: "Show what is in a recording, or compare two",
		Long: `Summarises a recording: where and how it was made, and for each connection its rates, round-trip
times, congestion window, retransmissions by cause, errors by code, and what limited it. A damaged
or unfinished recording is read as far as possible, and the missing part is reported.

With two recordings it compares them: the totals, and the flows with the same role side by side. A
role is the process, the service's port, the peer, and whether the flow sends or receives.`,
		Example: `  airtide info upload.atr
  airtide info upload.atr --sort rtt --port 443
  airtide info upload.atr --flow 1
  airtide info cubic.atr bbr.atr
  airtide info upload.atr --json | jq '.flows[] | {flow, acked_rate_bps}'`,
		Args: someArgs(1, "FILE", "FILE"),
		RunE: func(cmd *cobra.Command, args []string) (err error) {
			if cmd.Flags().Changed("sort") {
				byOrder, err = summary.ParseOrder(sort)
				if err != nil {
					return misnamed(err, sort, summary.SortKeys())
				}
				o.order = &byOrder
			}
			o.filter, err = choose.filter()
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("flow") {
				if len(args) == 2 {
					return usageError{errors.New("--flow chooses a flow of one recording, and two are given")}
				}
				o.flow = &flow
			}
			o.maxFlows = maxFlows / len(args)
			o.table = len(args) == 1 && !bool(asJSON)
			var summed [2]*summedUp
			for i, path := range args {
				r, err := openTrace(cmd.Context(), t, path)
				if err != nil {
					return err
				}
				defer r.Close()
				summed[i], err = summarise(cmd.Context(), r, &o)
				if err != nil {
					return err
				}
				defer r.warnDamage() // below a long report, where it is seen
			}
			if len(args) == 2 {
				return printComparison(t, args, summed, o.order, bool(asJSON))
			}
			if asJSON {
				return printInfoJSON(t, summed[0], o.order)
			}
			return printInfo(t, args[0], summed[0], &o)
		},
	}
	fl := cmd.Flags()
	asJSON.register(fl, "print everything as JSON")
	fl.UintVar(&flow, "flow", 0, "print everything about one flow")
	completeFlows(cmd)
	fl.StringVar(&sort, "sort", summary.OrderByBytes.Key,
		"order of the flows: "+strings.Join(summary.SortKeys(), ", ")+"; - before it reverses")
	choose.register(cmd)
	fixed(cmd, "sort", summary.SortKeys()...)
	return cmd
}

// infoOptions choose and order the flows.
type infoOptions struct {
	flow     *uint // nil for all
	order    *summary.Order
	filter   recordedFilter
	maxFlows int
	table    bool // the report has the flows of a table
}

// choice chooses the flows of the report.
func (o *infoOptions) choice() (c summary.Choice) {
	switch {
	case o.flow != nil:
		id := tcp.FlowID(*o.flow)
		c.Only = &id
	case o.table:
		c.First = summary.TopFlows
		c.Order = summary.OrderByBytes
		if o.order != nil {
			c.Order = *o.order
		}
	}
	return c
}

// summedUp is a recording whose flows are kept in short. Reports of them are made on demand.
type summedUp struct {
	infoJSON // with the chosen flows
	summary  *summary.Summary
	found    diagnose.Report
}

// list returns the flows in an order.
func (s *summedUp) list(o *summary.Order) summary.List { return s.summary.List(o, &s.found) }

// summarise reads a recording.
func summarise(ctx context.Context, r *reading, o *infoOptions) (*summedUp, error) {
	meta := r.Metadata()
	flows, err := o.filter.flows(ctx, r)
	if err != nil {
		return nil, err
	}
	s := summary.New(summary.Options{Unseen: unseen(meta.Source), Drops: recordsDrops(meta)})
	engine := diagnose.New(diagnoseOptions(meta))
	fields := append(summary.Fields(), diagnose.Fields()...)
	options := trace.ScanOptions{Fields: fields, Flows: flows, MaxFlows: o.maxFlows}
	sinks := tcp.NewBeside(s, engine)
	if err := r.scan(ctx, "summing up", options, sinks); err != nil {
		return nil, err
	}
	if err := sinks.Flush(); err != nil {
		return nil, err
	}
	report := s.Finish(o.choice())
	found := engine.Report()
	report.Explain(&found)
	if report.Totals.Flows > diagnose.MaxFlows {
		r.terminal.Notef("the limits of the rates are those of %d of %d flows, mostly those with the most bytes",
			diagnose.MaxFlows, report.Totals.Flows)
	}
	if o.flow != nil {
		has := func(id tcp.FlowID) bool { _, ok := report.Flow(id); return ok }
		if err := needFlows(ctx, r, flowIDs([]uint{*o.flow}), has); err != nil {
			return nil, err
		}
	}
	return &summedUp{infoJSON{meta, r.Damage(), report}, s, found}, nil
}

// printInfoJSON prints one recording with all flows. They are made one by one.
func printInfoJSON(t *terminal.Terminal, info *summedUp, order *summary.Order) error {
	info.Flows = []summary.Flow{}
	return t.JSONWithList(info.infoJSON, "flows", anyOf(info.list(order).Each()))
}

// anyOf hides the type of elements.
func anyOf[T any](elements iter.Seq[T]) iter.Seq[any] {
	return func(yield func(any) bool) {
		for e := range elements {
			if !yield(e) {
				return
			}
		}
	}
}

// printInfo prints one recording or one of its flows.
func printInfo(t *terminal.Terminal, path string, info *summedUp, o *infoOptions) (err error) {
	var text bytes.Buffer
	to := summary.TextOptions{Colour: t.Colour}
	if o.flow != nil {
		err = info.WriteFlow(&text, tcp.FlowID(*o.flow), to)
	} else {
		writeMetadata(&text, path, info.Recording)
		err = info.WriteTotals(&text, to)
	}
	if err == nil {
		err = t.PrintWrapped(text.String(), infoIndent)
	}
	if err != nil || o.flow != nil || len(info.Flows) == 0 {
		return err
	}
	order := summary.OrderByBytes
	if o.order != nil {
		order = *o.order
	}
	return printFlows(t, &info.Report, order)
}

// printFlows prints a table of the first flows in an order.
func printFlows(t *terminal.Terminal, r *summary.Report, order summary.Order) error {
	table := &terminal.Table{}
	columns := summary.Columns()
	for _, c := range columns {
		table.Columns = append(table.Columns, terminal.Column{
			Title: c.Title, Right: !c.Left, Optional: c.Rank, Least: c.Least, Endpoint: c.Endpoint,
		})
	}
	flows, others := r.First(order)
	for _, flow := range flows {
		cells := make([]string, len(columns))
		for i, c := range columns {
			cells[i] = c.Cell(flow)
		}
		table.Add(cells...)
	}
	if err := t.Print([]byte("\n")); err != nil {
		return err
	}
	if err := t.Table(table); err != nil || others == "" {
		return err
	}
	return t.Printf("%s\n", others)
}

// infoIndent is the width of the names in front of the totals.
const infoIndent = 15

// infoJSON is the JSON of info: how the recording was made, its damage, its summary.
type infoJSON struct {
	Recording trace.Metadata `json:"recording"`
	Damage    trace.Damage   `json:"damage"`
	summary.Report
}

// writeMetadata prints how a recording was made. Its texts may come from another person's file, so
// each is cleaned before it is joined with others and cannot begin a line.
func writeMetadata(w io.Writer, path string, m trace.Metadata) {
	clean := units.Printable
	at := time.Unix(0, m.ClockWallNs).UTC().Format("2006-01-02 15:04:05 UTC")
	kernel := clean(m.Kernel) + " " + clean(m.Arch)
	fmt.Fprintf(w, "%s  recorded %s on %s, Linux %s\n", clean(path), at, clean(m.Host), kernel)
	if m.SourceDetail != "" {
		fmt.Fprintf(w, "source %s; ", clean(m.SourceDetail))
	}
	fmt.Fprintf(w, "density %s", clean(m.Density))
	if len(m.Command) > 0 {
		fmt.Fprintf(w, "; command %s", shellWords(m.Command))
	}
	if m.Label != "" {
		fmt.Fprintf(w, "; label %s", clean(strconv.Quote(m.Label)))
	}
	if !m.Filter.Empty() {
		fmt.Fprintf(w, "; filter %s", clean(filterWords(&m.Filter)))
	}
	fmt.Fprintln(w)
}

// filterWords prints a filter in words: "port 80, 443 and cgroup 14009".
func filterWords(f *filter.Filter) string {
	var words []string
	for _, list := range []string{
		listWords("port", f.Ports), listWords("host", f.Prefixes), listWords("process", f.PIDs),
		listWords("process", f.Comms), listWords("cgroup", f.Cgroups), listWords("namespace", f.NetNS),
	} {
		if list != "" {
			words = append(words, list)
		}
	}
	return strings.Join(words, " and ")
}

// listWords prints a list with its name, and nothing for an empty list.
func listWords[T any](name string, values []T) string {
	if len(values) == 0 {
		return ""
	}
	words := make([]string, len(values))
	for i, v := range values {
		words[i] = fmt.Sprint(v)
	}
	return name + " " + strings.Join(words, ", ")
}

// shellWords prints a command in one line as a shell takes it.
func shellWords(command []string) string {
	words := make([]string, len(command))
	for i, word := range command {
		plain := func(r rune) bool {
			return unicode.IsLetter(r) || unicode.IsDigit(r) || strings.ContainsRune("%+,-./:=@_", r)
		}
		if word == "" || strings.ContainsFunc(word, func(r rune) bool { return !plain(r) }) {
			word = "'" + strings.ReplaceAll(word, "'", `'\''`) + "'"
		}
		words[i] = units.Printable(word)
	}
	return strings.Join(words, " ")
}

// unseen lists the kinds of events that a source cannot see. Their counts are absent, not zero.
func unseen(source string) []tcp.EventKind {
	if source == "diag" {
		return []tcp.EventKind{tcp.EventUndo, tcp.EventTLPLoss}
	}
	return nil
}

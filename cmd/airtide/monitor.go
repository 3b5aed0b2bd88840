package main

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"airtide/internal/diagnose"
	"airtide/internal/observe/source"
	"airtide/internal/recording/record"
	"airtide/internal/sys/privilege"
	"airtide/internal/tcp"
	"airtide/internal/view/screen"
	"airtide/internal/view/terminal"
)

func newMonitor(t *terminal.Terminal) *cobra.Command {
	var (
		observe            sourceFlags
		interval           time.Duration
		asJSON             jsonFlag
		once, events, idle bool
		sort, find         string
		recorded           replayFlags
		published          publishFlags
	)
	cmd := &cobra.Command{
		Use:   "monitor [FILE]",
		Short: "Watch TCP connections live, or replay a recording",
		Long: `Shows every TCP connection with its congestion window, round-trip times, queues, rates and errors,
updated live.

On a terminal it is a full-screen table: arrows move, s sorts, / filters, p pauses, enter opens one
connection with charts of its rate, r records the shown connections into a new file, ? shows all
keys, q quits. In a pipe or with --once, a plain table is printed; with --json, lines of JSON.

--metrics and --otlp publish connections, bytes, RTT, retransmissions by cause and the limits of the
rates, by process and network of the peer. In a pipe nothing is printed then, unless by --once or
--json.

With a recording, it is replayed: space pauses, the arrows left and right move by 5 s, comma and dot
step by 0.1 s, + and - change the speed. In a pipe, a table or lines are printed for each interval of
the recording, as fast as possible.`,
		Example: `  airtide monitor
  airtide monitor --port 443 --sort srtt_us
  airtide monitor --once
  airtide monitor upload.atr --speed 0.5 --from 2s
  airtide monitor --metrics localhost:9478 --otlp http://collector:4318
  airtide monitor --json --events | jq 'select(.type == "event")'`,
		Args: someArgs(0, "FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := recorded.check(cmd, len(args) > 0); err != nil {
				return err
			}
			order, err := screen.ParseSort(sort)
			if err != nil {
				return misnamed(err, sort, screen.SortKeys())
			}
			if events && !bool(asJSON) {
				return usageError{errors.New("--events needs --json")}
			}
			o := screen.Options{
				Interval: interval, Once: once, Events: events, Sort: order,
				Filter: screen.Filter{Text: find, HideIdle: idle}, Chosen: observe.selectionFlags.String(),
				Output: t.Out, Width: t.Width,
			}
			if err := published.check(len(args) > 0); err != nil {
				return err
			}
			if len(args) > 0 {
				chosen, err := (&recordedFlags{selectionFlags: observe.selectionFlags}).filter()
				if err != nil {
					return err
				}
				return replay(cmd.Context(), t, args[0], &recorded, chosen, o, bool(asJSON))
			}
			mo, err := observe.options()
			if err != nil {
				return err
			}
			return watch(cmd.Context(), t, mo, o, &published, bool(asJSON))
		},
	}
	observe.register(cmd)
	recorded.register(cmd)
	published.register(cmd)
	fl := cmd.Flags()
	durationVar(fl, &interval, "interval", "i", 0, "time between two updates (default 1 s, 500 ms on the full screen)")
	asJSON.register(fl, "print lines of JSON")
	fl.BoolVar(&once, "once", false, "observe for one interval, print, and exit")
	fl.BoolVar(&events, "events", false, "with --json: also print a line for each event")
	fl.StringVar(&sort, "sort", screen.SortByRate, "order of the rows: "+strings.Join(screen.SortKeys(), ", "))
	fl.StringVar(&find, "find", "", "show only rows that contain these words")
	fl.BoolVar(&idle, "hide-idle", false, "hide connections without recent traffic")
	fixed(cmd, "sort", screen.SortKeys()...)
	return cmd
}

// watch opens the source and shows it as JSON, as a plain table or on the full screen.
func watch(
	ctx context.Context, t *terminal.Terminal, mo source.Options, o screen.Options, p *publishFlags, asJSON bool,
) (err error) {
	src, err := source.Open(mo)
	if err != nil {
		return err
	}
	defer src.Close()
	if notice := src.FallbackNotice(); notice != "" {
		t.Warnf("%s", notice)
	}
	every := mo.Density.Every
	seen := screen.Source{Name: src.Description()}
	if src.Kind == source.Diag {
		every = src.Interval
	}
	table := screen.NewTable(screen.TableOptions{
		SampleEvery: every, Diagnosis: diagnose.Options{
			Source: diagnose.SourceOf(string(src.Kind)), Drops: slices.Contains(src.With(mo.With), "drops"),
		},
	})
	table.SetSource(seen)
	published, end, err := p.start(t, src)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	o.Source = func(ctx context.Context, sink tcp.Sink) error {
		return src.Run(ctx, append(tcp.Tee{sink}, published...))
	}
	rights := observing(src, mo.AllNamespaces)
	if fullScreen := !asJSON && !o.Once && t.Screen; fullScreen {
		rights = screenRights(src, mo.AllNamespaces)
	}
	if p.wanted() {
		rights.Calls = append(rights.Calls, privilege.OpenSockets)
	}
	if err := privilege.Drop(rights); err != nil {
		return err
	}
	switch {
	case p.wanted() && !t.Screen && !o.Once && !asJSON:
		err = src.Run(ctx, published)
	case bool(asJSON):
		err = screen.JSONLines(ctx, table, o)
	case o.Once || !t.Screen:
		err = screen.Plain(ctx, table, o)
	default:
		tap := record.NewTap(".", record.Options{Observe: mo, Tool: version()}, src)
		o.Recorder = tap
		o.Output = t.Raw()
		o.Source = func(ctx context.Context, sink tcp.Sink) error {
			return src.Run(ctx, append(tcp.Tee{sink, tap}, published...))
		}
		err = screen.Run(ctx, table, o)
		files, tapErr := tap.Close()
		for _, f := range files {
			t.Notef("recorded %s", f)
		}
		err = errors.Join(err, tapErr)
	}
	return err
}

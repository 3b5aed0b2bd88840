package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"airtide/internal/observe/monitor"
	"airtide/internal/tcp"
	"airtide/internal/view/screen"
)

func newMonitor() *cobra.Command {
	var (
		source                     sourceFlags
		interval                   time.Duration
		asJSON, once, events, idle bool
		sort, find                 string
	)
	cmd := &cobra.Command{
		Use:   "monitor",
		Short: "Watch TCP connections live",
		Long: `Shows every TCP connection with its congestion window, round-trip times, queues, rates and errors, updated live.

On a terminal it is a full-screen table: arrows move, s sorts, / filters, p pauses, enter opens one connection,
? shows all keys, q quits. Otherwise, and with --once, a plain table is printed; with --json, lines of JSON.`,
		Example: `  airtide monitor
  airtide monitor --port 443 --sort srtt_us
  airtide monitor --once
  airtide monitor --json --events | jq 'select(.type == "event")'`,
		Args: exactArgs(),
		RunE: func(cmd *cobra.Command, _ []string) error {
			mo, err := source.options()
			if err != nil {
				return err
			}
			order, err := screen.ParseSort(sort)
			if err != nil {
				return misuse{err}
			}
			if interval < 0 {
				return misuse{fmt.Errorf("--interval %s: want a positive time", interval)}
			}
			if events && !asJSON {
				return misuse{errors.New("--events goes with --json")}
			}
			return watch(cmd.Context(), mo, screen.Options{
				Interval: interval, Once: once, Events: events, Sort: order,
				Filter: screen.Filter{Text: find, HideIdle: idle}, Output: cmd.OutOrStdout(),
			}, asJSON)
		},
	}
	source.register(cmd)
	fl := cmd.Flags()
	fl.DurationVarP(&interval, "interval", "i", 0, "time between two updates (default 1s, 0.5s on the full screen)")
	fl.BoolVar(&asJSON, "json", false, "print lines of JSON")
	fl.BoolVar(&once, "once", false, "observe for one interval, print, and end")
	fl.BoolVar(&events, "events", false, "with --json: a line for each event too")
	fl.StringVar(&sort, "sort", screen.SortByRate, "order of the rows: "+strings.Join(screen.SortKeys(), ", "))
	fl.StringVar(&find, "find", "", "only rows that contain these words")
	fl.BoolVar(&idle, "hide-idle", false, "leave out connections without recent traffic")
	_ = cmd.RegisterFlagCompletionFunc("sort", cobra.FixedCompletions(screen.SortKeys(), cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

// watch opens the source and shows it in the way that suits the output.
func watch(ctx context.Context, mo monitor.Options, o screen.Options, asJSON bool) error {
	src, err := monitor.Open(mo)
	if err != nil {
		return err
	}
	defer src.Close()
	if src.Fallback != nil {
		fmt.Fprintf(os.Stderr, "airtide: bpf is not available, taking diag: %v\n", src.Fallback)
	}
	every := mo.Density.Every
	seen := screen.Source{Name: src.Description()}
	if src.Kind == monitor.Diag {
		every = src.Interval
	}
	table := screen.NewTable(screen.TableOptions{SampleEvery: every})
	table.SetSource(seen)
	o.Source = func(ctx context.Context, sink tcp.Sink) error { return src.Run(ctx, sink) }
	switch {
	case asJSON:
		err = screen.JSONLines(ctx, table, o)
	case o.Once || !screen.IsTerminal(os.Stdout):
		err = screen.Plain(ctx, table, o)
	default:
		err = screen.Run(ctx, table, o)
	}
	if errors.Is(err, syscall.EPIPE) {
		return nil // the reader has seen enough
	}
	return err
}

package main

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"airtide/internal/cell/live"
	"airtide/internal/units"
	"airtide/internal/view/terminal"
)

func newCellStatus(t *terminal.Terminal) *cobra.Command {
	var (
		asJSON   jsonFlag
		once     bool
		interval time.Duration
	)
	cmd := &cobra.Command{
		Use:   "status [PID]",
		Short: "Watch the running cells",
		Long: `Shows airtime, rates, collisions, queues and drops over each interval: of all cells on this machine,
or of those of one process. On a terminal, tables are updated until Ctrl-C. In a pipe or with
--once, they are printed once. With --json, each cell prints a line of JSON per interval.`,
		Example: `  airtide cell status
  airtide cell status --once --interval 10s
  airtide cell status --json | jq '.window.terminals[].airtime_percent'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return usageError{fmt.Errorf("unexpected argument %q", args[1])}
			}
			return nil
		},
		ValidArgsFunction: completeCell,
		RunE: func(cmd *cobra.Command, args []string) error {
			var only int
			if len(args) > 0 {
				var err error
				only, err = strconv.Atoi(args[0])
				if err != nil || only <= 0 {
					return usageError{fmt.Errorf("%q is not a process id", args[0])}
				}
			}
			print := t.Redraw
			if bool(asJSON) || once || !t.Screen {
				once = once || !bool(asJSON)
				print = t.Print
			}
			return live.Watch(cmd.Context(), only, interval, once, func(all []*live.Seen) error {
				var b strings.Builder // printed in one piece, so that nothing flickers
				for _, s := range all {
					var err error
					if asJSON {
						err = units.NewJSONEncoder(&b).Encode(s)
					} else {
						err = writeCell(&b, s, t.Width, t.Colour)
					}
					if err != nil {
						return err
					}
				}
				return print([]byte(b.String()))
			})
		},
	}
	fl := cmd.Flags()
	asJSON.register(fl, "print lines of JSON")
	fl.BoolVar(&once, "once", false, "observe for one interval, print, and exit")
	durationVar(fl, &interval, "interval", "i", time.Second, "time between two updates")
	return cmd
}

// completeCell completes the ids of processes that run cells.
func completeCell(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	cells, err := live.Find()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var words []string
	for _, c := range cells {
		words = append(words, strconv.Itoa(c.PID))
	}
	words = slices.Compact(words)
	return words, cobra.ShellCompDirectiveNoFileComp
}

package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strconv"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"airtide/internal/cell/live"
	"airtide/internal/view/screen"
)

func newCellStatus() *cobra.Command {
	var (
		asJSON, once bool
		interval     time.Duration
	)
	cmd := &cobra.Command{
		Use:   "status [PID]",
		Short: "Watch the cells that run",
		Long: `Shows the airtime, rates, collisions, queues and drops of the cells that run on this machine, or of the one that a
process runs, over each interval: on a terminal a table that is updated until Ctrl-C, otherwise and with --once one table,
with --json a line of JSON for each cell and interval.`,
		Example: `  airtide cell status
  airtide cell status --once --interval 10s
  airtide cell status --json | jq '.window.terminals[] | {name, airtime_percent}'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) > 1 {
				return misuse{fmt.Errorf("unexpected argument %q", args[1])}
			}
			return nil
		},
		ValidArgsFunction: completeCell,
		RunE: func(cmd *cobra.Command, args []string) error {
			if interval <= 0 {
				return misuse{fmt.Errorf("--interval %s: want a positive time", interval)}
			}
			var only int
			if len(args) > 0 {
				var err error
				if only, err = strconv.Atoi(args[0]); err != nil || only <= 0 {
					return misuse{fmt.Errorf("%q is no process number", args[0])}
				}
			}
			before, show := "", showTable
			switch {
			case asJSON:
				show = func(w io.Writer, s *live.Seen) error { return json.NewEncoder(w).Encode(s) }
			case screen.IsTerminal(os.Stdout) && !once:
				before = clearScreen
			default:
				once = true
			}
			err := live.Watch(cmd.Context(), only, interval, once, func(all []*live.Seen) error {
				// In one piece, so that nothing flickers.
				var b bytes.Buffer
				b.WriteString(before)
				for _, s := range all {
					if err := show(&b, s); err != nil {
						return err
					}
				}
				_, err := b.WriteTo(cmd.OutOrStdout())
				return err
			})
			if errors.Is(err, syscall.EPIPE) {
				return nil // the reader has seen enough
			}
			return err
		},
	}
	fl := cmd.Flags()
	fl.BoolVar(&asJSON, "json", false, "print lines of JSON")
	fl.BoolVar(&once, "once", false, "observe for one interval, print, and end")
	fl.DurationVarP(&interval, "interval", "i", time.Second, "time between two updates")
	return cmd
}

// completeCell offers the processes that run cells.
func completeCell(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	pids, err := live.Find()
	if err != nil || len(args) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	var words []string
	for _, pid := range pids {
		words = append(words, strconv.Itoa(pid))
	}
	return words, cobra.ShellCompDirectiveNoFileComp
}

// clearScreen puts the cursor at the top left and clears what is below (ECMA-48 CUP and ED).
const clearScreen = "\x1b[H\x1b[J"

func showTable(w io.Writer, s *live.Seen) error {
	if err := s.Table(w); err != nil {
		return err
	}
	_, err := fmt.Fprintln(w)
	return err
}

package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"airtide/internal/recording/record"
	"airtide/internal/tcp"
	"airtide/internal/view/screen"
)

func newRecord() *cobra.Command {
	var (
		source        sourceFlags
		o             record.Options
		asJSON, quiet bool
	)
	cmd := &cobra.Command{
		Use:   "record -o FILE [flags] [-- command ...]",
		Short: "Record TCP connections into a file",
		Long: `Records samples (per ACK with the bpf source) and events of TCP connections into one file.

With a command, its connections and those of its children are recorded until it ends (--all records every
connection meanwhile). Without one, recording goes on until Ctrl-C or --duration.`,
		Example: `  airtide record -o upload.atr -- iperf3 -c 192.0.2.1
  airtide record -o web.atr --port 443 --duration 30s
  airtide record -o all.atr --density 10ms`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if o.Path == "" {
				return misuse{errors.New("no output file: give one with -o FILE")}
			}
			if dash := cmd.ArgsLenAtDash(); len(args) > 0 && dash != 0 {
				return misuse{fmt.Errorf("unexpected argument %q: put the command behind --", args[0])}
			}
			if o.Duration < 0 {
				return misuse{fmt.Errorf("--duration %s: want a positive time", o.Duration)}
			}
			var err error
			if o.Monitor, err = source.options(); err != nil {
				return err
			}
			o.Command, o.Tool = args, version()
			o.Notice = func(line string) { fmt.Fprintf(os.Stderr, "airtide: %s\n", line) }
			if !quiet && screen.IsTerminal(os.Stderr) {
				o.Progress = printProgress
			}
			result, err := record.Run(cmd.Context(), o)
			if o.Progress != nil {
				fmt.Fprint(os.Stderr, "\r\x1b[K")
			}
			if result == nil {
				return err
			}
			if asJSON {
				if jsonErr := json.NewEncoder(cmd.OutOrStdout()).Encode(result); jsonErr != nil {
					return errors.Join(err, fmt.Errorf("printing the result: %w", jsonErr))
				}
			} else {
				if !quiet {
					printResult(result)
				}
				printLoss(os.Stderr, &result.Loss)
			}
			if err == nil && result.CommandError != "" {
				err = fmt.Errorf("the command failed (the recording is kept): %s", result.CommandError)
			}
			return err
		},
	}
	source.register(cmd)
	fl := cmd.Flags()
	fl.StringVarP(&o.Path, "output", "o", "", "file to write (required), by custom ending in .atr")
	fl.BoolVarP(&o.Overwrite, "force", "f", false, "overwrite an existing file")
	fl.DurationVarP(&o.Duration, "duration", "d", 0, "stop after this time")
	fl.BoolVarP(&o.All, "all", "a", false, "with a command: record every connection, not only the command's")
	fl.StringVar(&o.Label, "label", "", "text to keep in the recording")
	fl.BoolVar(&asJSON, "json", false, "print the result as JSON")
	fl.BoolVarP(&quiet, "quiet", "q", false, "print nothing but errors and what was lost")
	_ = cmd.MarkFlagFilename("output", "atr")
	return cmd
}

func printProgress(p record.Progress) {
	fmt.Fprintf(os.Stderr, "\r\x1b[Krecording %s: %d flows, %d samples, %d events, %s, %d lost",
		p.Elapsed.Truncate(time.Second), p.Flows, p.Samples, p.Events, byteSize(p.Bytes), p.Loss.Total())
}

func printResult(r *record.Result) {
	fmt.Fprintf(os.Stderr, "recorded %s in %.1f s by %s: %d flows, %d samples, %d events, %s, %d records lost\n",
		r.Path, r.DurationS, r.Source, r.Flows, r.Samples, r.Events, byteSize(r.Bytes), r.Loss.Total())
}

// printLoss says what the recording lacks, and what would help. Who wants no other word has to know this.
func printLoss(w io.Writer, l *tcp.Loss) {
	if n := l.Total(); n > 0 {
		fmt.Fprintf(w, "%d records lost: %v per processor, %d of unknown flows, %d never made; a larger --buffer-mb or a lower --density helps\n",
			n, l.PerCPU, l.Orphans, l.Missed)
	}
	if l.Untracked > 0 {
		fmt.Fprintf(w, "%d times a flow could not be followed because the table was full: raise --max-flows\n", l.Untracked)
	}
}

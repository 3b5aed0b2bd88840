package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"airtide/internal/observe/source"
	"airtide/internal/recording/record"
	"airtide/internal/sys/privilege"
	"airtide/internal/tcp"
	"airtide/internal/units"
	"airtide/internal/view/terminal"
)

func newRecord(t *terminal.Terminal) *cobra.Command {
	var (
		observe sourceFlags
		o       record.Options
		asJSON  jsonFlag
		quiet   quietFlag
		out     outputFlags
	)
	cmd := &cobra.Command{
		Use:   "record -o FILE [flags] [-- command ...]",
		Short: "Record TCP connections into a file",
		Long: `Records samples (per ACK with the bpf source) and events of TCP connections into one file.

With a command, its connections and those of its children are recorded until the command ends; with
--all, every connection. Without a command, recording goes on until Ctrl-C or --duration.

With -o - the recording goes to standard output, for a pipe: airtide info - reads it there. With
-o - or --json, what the command prints to standard output goes to standard error.

The recording holds the command with its arguments, addresses, and names of processes. It holds no
payload. --no-arguments leaves the arguments out.`,
		Example: `  airtide record -o upload.atr -- iperf3 -c 192.0.2.1
  airtide record -o web.atr --port 443 --duration 30s
  airtide record -o all.atr --density 10ms
  ssh root@host airtide record -o - -d 10s | airtide info -`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if out.path == "" {
				return usageError{errors.New("no output file: give one with -o FILE")}
			}
			if out.path == "-" {
				if err := toStream(t, &o, bool(asJSON)); err != nil {
					return err
				}
			}
			if dash := cmd.ArgsLenAtDash(); len(args) > 0 && dash != 0 {
				return usageError{fmt.Errorf("unexpected argument %q: put the command behind --", args[0])}
			}
			var err error
			o.Observe, err = observe.options()
			if err != nil {
				return err
			}
			if o.Stream == nil {
				o.Path = out.path
			}
			if o.Stream != nil || bool(asJSON) {
				o.OutputToError = true
			}
			o.Overwrite = out.force
			o.Tool = version()
			o.Command = args
			o.Notice = func(line string) { t.Warnf("%s", line) }
			if !bool(quiet) && t.Live && len(args) == 0 { // a command owns the terminal
				o.Progress = func(p record.Progress) { showProgress(t, p) }
			}
			o.Started = func(s *source.Opened) error {
				return privilege.Drop(recordingRights(s, o.Observe.AllNamespaces, len(args) > 0))
			}
			result, err := record.Run(cmd.Context(), o)
			t.ClearStatus()
			if result == nil {
				return err
			}
			if asJSON {
				if jsonErr := t.JSONLine(result); jsonErr != nil {
					return errors.Join(err, fmt.Errorf("printing the result: %w", jsonErr))
				}
			} else {
				if !quiet {
					printResult(t, result, err != nil && o.Stream == nil)
				}
				if !quiet && result.Flows == 0 {
					t.Notef("%s", nothingRecorded(observe.selectionFlags.String()))
				}
				printLoss(t, &result.Loss)
			}
			if err == nil && result.CommandError != "" {
				t.Warnf("the command failed (the recording is kept): %s", result.CommandError)
				err = exitStatus(result.CommandStatus)
			}
			return err
		},
	}
	observe.register(cmd)
	fl := cmd.Flags()
	out.register(fl, "file to write (required), - for standard output; conventional suffix: .atr")
	durationVar(fl, &o.Duration, "duration", "d", 0, "stop after this time")
	fl.BoolVarP(&o.All, "all", "a", false, "with a command: record every connection, not only its own")
	fl.StringVar(&o.Label, "label", "", "text to keep in the recording")
	fl.BoolVar(&o.OmitArguments, "no-arguments", false, "with a command: keep its name alone in the recording")
	asJSON.register(fl, "print the result as JSON, and what the command prints to standard error")
	quiet.register(fl, "print only errors and losses")
	_ = cmd.MarkFlagFilename("output", "atr")
	return cmd
}

func showProgress(t *terminal.Terminal, p record.Progress) {
	t.SetStatus("recording %s: %s, %s, %s, %s, %d lost", p.Elapsed.Truncate(time.Second), units.Count(p.Flows, "flow"),
		units.Count(p.Samples, "sample"), units.Count(p.Events, "event"), byteSize(p.Bytes), p.Loss.Total())
}

func isTerminal(w io.Writer) bool {
	f, ok := w.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// toStream makes standard output take the recording.
func toStream(t *terminal.Terminal, o *record.Options, asJSON bool) error {
	switch {
	case asJSON:
		return usageError{errors.New("-o - and --json both write to standard output: give a file with -o FILE")}
	case isTerminal(t.Raw()):
		return usageError{errors.New("a recording is not for a terminal: pipe it, or give a file with -o FILE")}
	}
	o.Path = "standard output"
	o.Stream = t.Raw()
	return nil
}

// printResult prints the sum of a recording. If it failed, the counts are those of the file.
func printResult(t *terminal.Terminal, r *record.Result, failed bool) {
	done := "recorded"
	if failed {
		done = "kept in"
	}
	t.Notef("%s %s in %.1f s by %s: %s, %s, %s, %s, %s lost", done, r.Path, r.DurationS, r.Source,
		units.Count(r.Flows, "flow"), units.Count(r.Samples, "sample"), units.Count(r.Events, "event"),
		byteSize(r.Bytes), units.Count(r.Loss.Total(), "record"))
}

// nothingRecorded says why a recording may have no flow.
func nothingRecorded(chosen string) string {
	if chosen == "" {
		return "no TCP connection was seen"
	}
	return "no TCP connection of " + chosen + " was seen: airtide monitor shows which there are"
}

// printLoss reports the losses of the recording and the remedy. It prints even with --quiet.
func printLoss(t *terminal.Terminal, l *tcp.Loss) {
	var why []string
	for _, part := range []struct {
		n   uint64
		why string
	}{
		{l.Total() - l.Orphans - l.Missed, "found the ring full (a larger --buffer-mb or a lower --density helps)"},
		{l.Orphans, "of flows whose begin was lost"},
		{l.Missed, "left out by the kernel, which does not run a program within itself"},
	} {
		if part.n > 0 {
			why = append(why, fmt.Sprintf("%d %s", part.n, part.why))
		}
	}
	if len(why) > 0 {
		t.Notef("%s lost: %s", units.Count(l.Total(), "record"), strings.Join(why, ", "))
	}
	if l.Unowned > 0 {
		t.Notef("%s not recorded: the owner was unknown until the end", units.Count(l.Unowned, "flow"))
	}
	if l.Untracked > 0 {
		t.Notef("%s a flow could not be followed because the table was full: raise --max-flows",
			units.Count(l.Untracked, "time"))
	}
}

// byteSize prints a number of bytes with a decimal prefix.
func byteSize(n int64) string {
	switch {
	case n >= 1e9:
		return fmt.Sprintf("%.2f GB", float64(n)/1e9)
	case n >= 1e6:
		return fmt.Sprintf("%.2f MB", float64(n)/1e6)
	case n >= 1e3:
		return fmt.Sprintf("%.1f kB", float64(n)/1e3)
	}
	return fmt.Sprintf("%d B", n)
}

package main

import (
	"bytes"
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"airtide/internal/diagnose"
	"airtide/internal/observe/source"
	"airtide/internal/recording/trace"
	"airtide/internal/view/terminal"
)

func newDiagnose(t *terminal.Terminal) *cobra.Command {
	var (
		observe sourceFlags
		asJSON  jsonFlag
		o       diagnoseFlags
	)
	cmd := &cobra.Command{
		Use:   "diagnose FILE ... | --live | -- COMMAND ...",
		Short: "Explain why each connection got the rate that it got",
		Long: `Names the limit of each connection: the share of time for each limit, a verdict with its evidence,
the observation that would refute it, and the next step with its expected effect.

With recordings, it explains their connections. With a command, it runs the command and explains the
connections of the command and of its children. With --live, it explains all connections, anew each
interval, until Ctrl-C or --duration.

Short connections are summed up by process and peer. A verdict is certain, likely or unknown. Limits
that the data cannot tell apart are named as such.`,
		Example: `  airtide diagnose upload.atr
  airtide diagnose -- curl -T big.iso http://192.0.2.1/
  airtide diagnose --live --port 443
  airtide diagnose upload.atr --json | jq '.files[].connections[] | {flow, limit, certainty}'`,
		Args: o.args,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.json = bool(asJSON)
			if o.live || cmd.ArgsLenAtDash() == 0 {
				options, err := observe.options()
				if err != nil {
					return err
				}
				o.monitor = options
				return o.observe(cmd.Context(), t, args)
			}
			filter, err := (&recordedFlags{selectionFlags: observe.selectionFlags}).filter()
			if err != nil {
				return err
			}
			return o.files(cmd.Context(), t, args, &filter)
		},
	}
	observe.register(cmd)
	fl := cmd.Flags()
	asJSON.register(fl, "print everything as JSON; with --live a line for each interval")
	fl.BoolVarP(&o.all, "all", "a", false, "explain each connection, not only the largest")
	fl.BoolVar(&o.live, "live", false, "explain the connections of this host while they last")
	durationVar(fl, &o.interval, "interval", "i", 2*time.Second, "with --live: time between two answers")
	durationVar(fl, &o.duration, "duration", "d", 0, "with --live or a command: stop after this time")
	fl.StringVarP(&o.output, "output", "o", "", "with --live or a command: keep the recording in this file")
	_ = cmd.MarkFlagFilename("output", "atr")
	return cmd
}

// diagnoseFlags are the flags of diagnose.
type diagnoseFlags struct {
	json, all, live    bool
	interval, duration time.Duration
	output             string
	monitor            source.Options
}

// args accepts files, or a command behind "--", or neither with --live.
func (o *diagnoseFlags) args(cmd *cobra.Command, args []string) error {
	dash := cmd.ArgsLenAtDash()
	switch {
	case dash > 0:
		return usageError{errors.New("a command behind -- is observed, and files are read: give one of both")}
	case o.live && len(args) > 0 && dash != 0:
		return usageError{errors.New("--live observes this host: leave out the file")}
	case o.live && dash == 0:
		return usageError{errors.New("give --live or a command, not both")}
	case len(args) == 0 && !o.live:
		return usageError{errors.New("missing argument FILE, or --live, or a command behind --")}
	}
	return nil
}

// files explains recordings.
func (o *diagnoseFlags) files(ctx context.Context, t *terminal.Terminal, paths []string, filter *recordedFilter) error {
	answers := diagnoseJSON{}
	for _, path := range paths {
		answer, err := diagnoseFile(ctx, t, path, filter)
		if err != nil {
			return err
		}
		answers.Files = append(answers.Files, answer)
	}
	if o.json {
		return t.JSON(answers)
	}
	for i := range answers.Files {
		var text bytes.Buffer
		writeMetadata(&text, answers.Files[i].File, answers.Files[i].Recording)
		text.WriteString("\n")
		if err := o.print(t, &text, &answers.Files[i].Report); err != nil {
			return err
		}
	}
	return nil
}

// print prints a report behind other text.
func (o *diagnoseFlags) print(t *terminal.Terminal, text *bytes.Buffer, r *diagnose.Report) error {
	if err := r.WriteText(text, o.all); err != nil {
		return err
	}
	return t.PrintWrapped(text.String(), diagnoseIndent)
}

// diagnoseJSON is the JSON of diagnose.
type diagnoseJSON struct {
	Files []diagnosedFile `json:"files"`
}

// diagnosedFile is the diagnosis of one file.
type diagnosedFile struct {
	File      string         `json:"file"`
	Recording trace.Metadata `json:"recording"`
	Damage    trace.Damage   `json:"damage"`
	diagnose.Report
	Short []diagnose.Group `json:"short_connections"`
}

// diagnoseFile reads a recording and judges its flows.
func diagnoseFile(
	ctx context.Context, t *terminal.Terminal, path string, filter *recordedFilter,
) (diagnosedFile, error) {
	r, err := openTrace(ctx, t, path)
	if err != nil {
		return diagnosedFile{}, err
	}
	defer r.Close()
	flows, err := filter.flows(ctx, r)
	if err != nil {
		return diagnosedFile{}, err
	}
	engine := diagnose.New(diagnoseOptions(r.Metadata()))
	o := trace.ScanOptions{Fields: diagnose.Fields(), Flows: flows}
	if err := r.scan(ctx, "diagnosing", o, engine); err != nil {
		return diagnosedFile{}, err
	}
	r.warnDamage()
	report := engine.Report()
	if d := r.Damage(); !d.Whole() {
		report.Doubt("the recording is damaged or unfinished")
	}
	return diagnosedFile{path, r.Metadata(), r.Damage(), report, report.Groups()}, nil
}

// diagnoseOptions are the options for a recording.
func diagnoseOptions(m trace.Metadata) diagnose.Options {
	o := diagnose.Options{}
	if m.Source == "diag" {
		o.Source = diagnose.Polled
	}
	return o
}

// diagnoseIndent is the width of the names in front of the answers.
const diagnoseIndent = 13

package main

import (
	"bytes"
	"context"
	"errors"

	"github.com/spf13/cobra"

	"airtide/internal/diagnose"
	"airtide/internal/recording/trace"
	"airtide/internal/view/terminal"
)

func newDiagnose(t *terminal.Terminal) *cobra.Command {
	var (
		asJSON jsonFlag
		all    bool
		choose recordedFlags
	)
	cmd := &cobra.Command{
		Use:   "diagnose FILE ...",
		Short: "Explain why each connection got the rate that it got",
		Long: `Names the limit of each connection of a recording: the share of time for each limit, a verdict with
its evidence, the observation that would refute it, and the next step with its expected effect.

Short connections are summed up by process and peer. A verdict is certain, likely or unknown. Limits
that the recording cannot tell apart are named as such.`,
		Example: `  airtide diagnose upload.atr
  airtide diagnose upload.atr --port 443
  airtide diagnose upload.atr --json | jq '.files[].connections[] | {flow, limit, certainty}'`,
		Args: func(_ *cobra.Command, args []string) error {
			if len(args) == 0 {
				return usageError{errors.New("missing argument FILE")}
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			filter, err := choose.filter()
			if err != nil {
				return err
			}
			answers := diagnoseJSON{}
			for _, path := range args {
				answer, err := diagnoseFile(cmd.Context(), t, path, &filter)
				if err != nil {
					return err
				}
				answers.Files = append(answers.Files, answer)
			}
			if asJSON {
				return t.JSON(answers)
			}
			for i := range answers.Files {
				if err := printDiagnosis(t, &answers.Files[i], all); err != nil {
					return err
				}
			}
			return nil
		},
	}
	asJSON.register(cmd.Flags(), "print everything as JSON")
	cmd.Flags().BoolVarP(&all, "all", "a", false, "explain each connection, not only the largest")
	choose.register(cmd)
	return cmd
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
	r, err := openTrace(t, path)
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

// printDiagnosis prints the answers of one file.
func printDiagnosis(t *terminal.Terminal, d *diagnosedFile, all bool) error {
	var text bytes.Buffer
	writeMetadata(&text, d.File, d.Recording)
	text.WriteString("\n")
	if err := d.WriteText(&text, all); err != nil {
		return err
	}
	return t.PrintWrapped(text.String(), diagnoseIndent)
}

// diagnoseIndent is the width of the names in front of the answers.
const diagnoseIndent = 13

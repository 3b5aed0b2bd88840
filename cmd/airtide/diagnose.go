package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"runtime/debug"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"airtide/internal/diagnose"
	"airtide/internal/observe/source"
	"airtide/internal/packets/conn"
	"airtide/internal/packets/endpoint"
	"airtide/internal/recording/trace"
	"airtide/internal/tcp"
	"airtide/internal/units"
	"airtide/internal/view/capture"
	"airtide/internal/view/plot"
	"airtide/internal/view/terminal"
)

func newDiagnose(t *terminal.Terminal) *cobra.Command {
	var (
		observe sourceFlags
		asJSON  jsonFlag
		o       diagnoseFlags
	)
	cmd := &cobra.Command{
		Use:   "diagnose {FILE ... | --live} [flags] | [flags] -- COMMAND ...",
		Short: "Explain why each connection got the rate that it got",
		Long: `Names the limit of each connection: the share of time for each limit, a verdict with its evidence,
the observation that would refute it, and the next step with its expected effect.

With recordings or captures, it explains their connections. A capture shows no sockets, so its
classes are coarser. Two files that show both ends of a connection are joined: two recordings, two
captures, or one of each. The times of their segments tell how their clocks differ. With a command,
it runs the command and explains the connections of the command and of its children. With --live,
it explains all connections, anew each interval, until Ctrl-C or --duration.

Short connections are summed up by process and peer. A verdict is certain, likely or unknown. Limits
that the data cannot tell apart are named as such.`,
		Example: `  airtide diagnose upload.atr
  airtide diagnose phone.atr server.pcap
  airtide diagnose upload.atr --plot limits.png
  airtide diagnose -- curl -T big.iso http://192.0.2.1/
  airtide diagnose --live --port 443
  airtide diagnose upload.atr --json | jq '.files[].connections[].limit'`,
		Args: o.args,
		RunE: func(cmd *cobra.Command, args []string) error {
			o.json = bool(asJSON)
			if err := o.check(cmd, args); err != nil {
				return err
			}
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
	fl.StringVar(&o.plot.path, "plot", "",
		"with a recording: draw the limits of its largest connection over time (.png, .svg or .pdf)")
	fl.BoolVarP(&o.plot.force, "force", "f", false, "overwrite an existing figure")
	_ = cmd.MarkFlagFilename("plot", plot.Formats...)
	fl.StringVarP(&o.output, "output", "o", "", "with --live or a command: keep the recording in this file")
	_ = cmd.MarkFlagFilename("output", "atr")
	return cmd
}

// diagnoseFlags are the flags of diagnose.
type diagnoseFlags struct {
	json, all, live    bool
	interval, duration time.Duration
	output             string
	plot               outputFlags
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

// liveFlags have no meaning for files.
var liveFlags = []string{"source", "density", "poll", "buffer-mb", "max-flows", "attach", "btf"}

// check refuses flags that do not belong together.
func (o *diagnoseFlags) check(cmd *cobra.Command, args []string) error {
	observes := o.live || cmd.ArgsLenAtDash() == 0
	switch {
	case observes && o.plot.path != "":
		return usageError{errors.New("--plot draws a recording: keep it with -o, then diagnose it")}
	case !observes && o.plot.path != "" && len(args) > 1:
		return usageError{errors.New("--plot draws one recording: give one file")}
	}
	if !observes {
		for _, name := range append([]string{"interval", "duration", "output"}, liveFlags...) {
			if cmd.Flags().Changed(name) {
				return usageError{fmt.Errorf("--%s is for a live observation, not for a file", name)}
			}
		}
	}
	return nil
}

// files explains recordings and captures.
func (o *diagnoseFlags) files(ctx context.Context, t *terminal.Terminal, paths []string, filter *recordedFilter) error {
	format := ""
	if o.plot.path != "" {
		var err error
		format, err = o.plot.figureFormat(t)
		if err == nil {
			err = o.plot.check()
		}
		if err != nil {
			return err
		}
	}
	answers := diagnoseJSON{Joined: []diagnose.Joined{}}
	ends := make([]diagnose.End, len(paths))
	for i, path := range paths {
		answer, end, err := diagnoseFile(ctx, t, path, filter)
		if err != nil {
			return err
		}
		answers.Files = append(answers.Files, answer)
		ends[i] = end
	}
	if len(ends) == 2 {
		answers.Joined = append(answers.Joined, diagnose.Join(ends[0], ends[1])...)
	}
	if format != "" {
		if err := o.draw(ctx, t, paths[0], format, &answers.Files[0].Report); err != nil {
			return err
		}
	}
	if o.json {
		return t.JSON(answers)
	}
	var head bytes.Buffer
	for i := range answers.Files {
		answers.Files[i].writeHead(&head)
		if len(answers.Joined) > 0 {
			continue
		}
		head.WriteString("\n")
		if err := o.print(t, &head, &answers.Files[i].Report); err != nil {
			return err
		}
		head.Reset()
	}
	if len(answers.Joined) == 0 {
		return nil
	}
	head.WriteString("\n")
	if err := diagnose.WriteJoined(&head, answers.Joined, o.all); err != nil {
		return err
	}
	return t.PrintWrapped(head.String(), diagnoseIndent)
}

// draw draws the limits of the largest connection.
func (o *diagnoseFlags) draw(
	ctx context.Context, t *terminal.Terminal, path, format string, r *diagnose.Report,
) error {
	largest := r.Main()
	if len(largest) == 0 {
		return errors.New("--plot: no connection moved data")
	}
	ids := []tcp.FlowID{largest[0].ID}
	return drawPlot(ctx, t, path, o.plot, format, plot.Limits, ids, plot.Options{})
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
	// Joined has the connections of which two files show both ends.
	Joined []diagnose.Joined `json:"joined"`
}

// diagnosedFile is the diagnosis of one file.
type diagnosedFile struct {
	File      string          `json:"file"`
	Recording *trace.Metadata `json:"recording"` // null for a capture
	Damage    trace.Damage    `json:"damage"`
	diagnose.Report
	Short []diagnose.Group `json:"short_connections"`
}

// writeHead names the file and its source.
func (f *diagnosedFile) writeHead(text *bytes.Buffer) {
	if f.Recording == nil {
		fmt.Fprintf(text, "%s  a capture\n", units.Printable(f.File))
		return
	}
	writeMetadata(text, f.File, *f.Recording)
}

// diagnoseFile reads a recording or a capture and judges its flows.
func diagnoseFile(
	ctx context.Context, t *terminal.Terminal, path string, filter *recordedFilter,
) (diagnosedFile, diagnose.End, error) {
	if info, err := os.Stat(path); err == nil && info.Mode().IsRegular() && isCapture(path) {
		return diagnoseCapture(ctx, t, path, filter)
	}
	r, err := openTrace(ctx, t, path)
	if err != nil {
		return diagnosedFile{}, diagnose.End{}, err
	}
	defer r.Close()
	flows, err := filter.flows(ctx, r)
	if err != nil {
		return diagnosedFile{}, diagnose.End{}, err
	}
	meta := r.Metadata()
	options := diagnoseOptions(meta)
	engine := diagnose.New(options)
	tracks := &diagnose.Tracks{}
	o := trace.ScanOptions{Fields: diagnose.Fields(), Flows: flows}
	if err := r.scan(ctx, "diagnosing", o, tcp.Tee{engine, tracks}); err != nil {
		return diagnosedFile{}, diagnose.End{}, err
	}
	r.warnDamage()
	report := engine.Report()
	if d := r.Damage(); !d.Whole() {
		report.Doubt("the recording is damaged or unfinished")
	}
	end := diagnose.End{Report: &report, Tracks: tracks, Source: options.Source, WallNs: meta.WallNs(0)}
	report.JoinEnds(end)
	return diagnosedFile{path, &meta, r.Damage(), report, report.Groups()}, end, nil
}

// diagnoseCapture reads a capture and judges its connections, each at the end that it shows better.
func diagnoseCapture(
	ctx context.Context, t *terminal.Terminal, path string, filter *recordedFilter,
) (diagnosedFile, diagnose.End, error) {
	debug.SetMemoryLimit(smallMemory)
	engine := diagnose.New(diagnose.Options{Source: diagnose.Captured})
	tracks := &diagnose.Tracks{}
	ends := &endpoint.Series{Sink: tcp.Tee{engine, tracks}, Most: diagnose.MaxFlows / 2}
	c, err := capture.Open(ctx, t, path)
	if err != nil {
		return diagnosedFile{}, diagnose.End{}, err
	}
	defer c.Close()
	_, damage, err := c.Run(ctx, conn.Options{MaxOpen: diagnose.MaxFlows, Observer: ends, Done: ends.Done})
	if err == nil {
		err = c.Report(damage)
	}
	if err != nil {
		return diagnosedFile{}, diagnose.End{}, err
	}
	whole := engine.Report()
	if damage != nil {
		whole.Doubt("the capture is damaged or unfinished")
	}
	if ends.LeftOut > 0 {
		t.Warnf("%s: the first %d connections are judged, %d are left out", units.Printable(path), diagnose.MaxFlows/2,
			ends.LeftOut)
	}
	whole.Without(func(x *diagnose.Connection) bool { return !filter.empty() && !filter.match(&x.Flow) })
	report := whole
	report.Connections = slices.Clone(whole.Connections)
	report.Without(func(x *diagnose.Connection) bool { return ends.Other[x.ID] })
	end := diagnose.End{Report: &whole, Tracks: tracks, Source: diagnose.Captured, Other: ends.Other}
	return diagnosedFile{path, nil, trace.Damage{}, report, report.Groups()}, end, nil
}

// diagnoseOptions are the options for a recording.
func diagnoseOptions(m trace.Metadata) diagnose.Options {
	return diagnose.Options{Source: diagnose.SourceOf(m.Source), Drops: recordsDrops(m)}
}

// recordsDrops reports whether the drops of the recorded host are in a recording.
func recordsDrops(m trace.Metadata) bool { return slices.Contains(m.With, "drops") }

// diagnoseIndent is the width of the names in front of the answers.
const diagnoseIndent = 13

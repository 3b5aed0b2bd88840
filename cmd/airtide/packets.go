package main

import (
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"airtide/internal/packets/conn"
	"airtide/internal/view/capture"
	"airtide/internal/view/terminal"
)

// newPackets is a group whose own call is that of packets show.
func newPackets(t *terminal.Terminal) *cobra.Command {
	cmd := newPacketsShow(t)
	cmd.Use = "packets FILE"
	cmd.Short = "Analyse the TCP connections of a packet capture"
	cmd.Long = `Analyses a capture of tcpdump, tshark or Wireshark: pcap or pcapng, plain or in gzip or zstd; "-" is
standard input. A sentence says what the capture shows, and a table has its connections: bytes, the
time from segments to their ACKs, what was sent again, and how they ended. Headers suffice:
tcpdump -s 160. Plain "packets FILE" is "packets show FILE".`
	cmd.Example = `  tcpdump -i wlan0 -s 160 -w upload.pcap tcp
  airtide packets upload.pcap
  airtide packets plot upload.pcap -k ack-time -o ack-time.png
  airtide packets export upload.pcap -o upload.parquet
  airtide packets join upload.pcap upload.atr
  airtide packets annotate upload.pcap upload.atr -o annotated.pcapng`
	cmd.Args = captureOrVerb
	cmd.SetFlagErrorFunc(movedFlag)
	cmd.AddCommand(newPacketsShow(t), newPacketsPlot(t), newPacketsExport(t), newPacketsJoin(t), newPacketsAnnotate(t))
	return cmd
}

// captureOrVerb asks for a capture. The first of two words is rather a misspelt verb.
func captureOrVerb(cmd *cobra.Command, args []string) error {
	if len(args) > 1 {
		if meant := suggestion("", args[0], verbNames(cmd)); meant != "" {
			return usageError{fmt.Errorf("unknown verb %q%s", args[0], meant)}
		}
	}
	return exactArgs("FILE")(cmd, args)
}

// movedFlags names the verb that does what a flag of packets did.
var movedFlags = map[string]string{
	"plot":     "packets plot FILE -k KIND -o FIGURE",
	"to":       "packets export FILE --to FORMAT -o OUT",
	"table":    "packets export FILE --table TABLE -o OUT",
	"join":     "packets join FILE RECORDING",
	"annotate": "packets annotate FILE RECORDING -o COPY",
	"output":   "packets plot, export, join or annotate",
	"o":        "packets plot, export, join or annotate",
	"force":    "packets plot, export, join or annotate",
	"f":        "packets plot, export, join or annotate",
}

// movedFlag names the verb of a flag that packets itself does not have.
func movedFlag(cmd *cobra.Command, err error) error {
	unknown, ok := errors.AsType[*pflag.NotExistError](err)
	if !ok || cmd.Name() != "packets" && cmd.Name() != "show" {
		return flagError(cmd, err)
	}
	name := unknown.GetSpecifiedName()
	verb, moved := movedFlags[name]
	if !moved {
		return flagError(cmd, err)
	}
	return usageError{fmt.Errorf("%w: use airtide %s", err, verb)}
}

// captureFlags choose a connection of a capture, and bound the memory of the analysis.
type captureFlags struct {
	number uint
	open   int // connections that are followed at a time
}

// register describes what is done with the chosen connection.
func (f *captureFlags) register(cmd *cobra.Command, usage string) {
	cmd.Flags().UintVar(&f.number, "connection", 0, usage)
	f.registerOpen(cmd)
}

func (f *captureFlags) registerOpen(cmd *cobra.Command) {
	cmd.Flags().IntVar(&f.open, "open", conn.DefaultMaxOpen,
		"number of connections that are followed at a time; each takes up to 3 kB of memory")
}

// viewer shows the capture at a path.
func (f *captureFlags) viewer(cmd *cobra.Command, t *terminal.Terminal, path string) (*capture.Viewer, error) {
	if f.open < 1 {
		return nil, usageError{fmt.Errorf("--open %d: want at least 1", f.open)}
	}
	if f.open <= conn.DefaultMaxOpen {
		debug.SetMemoryLimit(smallMemory)
	}
	one := cmd.Flags().Changed("connection")
	return &capture.Viewer{Terminal: t, Path: path, MaxOpen: f.open, One: one, Number: uint64(f.number)}, nil
}

// limitFlag is --limit.
type limitFlag int

func (f *limitFlag) register(cmd *cobra.Command, what string) {
	cmd.Flags().IntVar((*int)(f), "limit", 50_000, "number of "+what+" at most; 0 for all")
}

func (f *limitFlag) check() error {
	if *f < 0 {
		return usageError{fmt.Errorf("--limit %d: want at least 0", *f)}
	}
	return nil
}

// packetsError makes the choice of a connection that cannot be shown a usage error.
func packetsError(err error) error {
	if _, missing := errors.AsType[*capture.MissingError](err); missing || errors.Is(err, capture.ErrReadTwice) {
		return usageError{err}
	}
	return err
}

// exclusive lets a verb refuse two of these flags, as requireFlags lets it refuse their absence.
func exclusive(cmd *cobra.Command, flags ...string) { cmd.MarkFlagsMutuallyExclusive(flags...) }

// checkFlagRules refuses calls without required flags, and with flags that exclude each other.
func checkFlagRules(cmd *cobra.Command, _ []string) error {
	if err := cmd.ValidateRequiredFlags(); err != nil {
		return usageError{err}
	}
	if err := refuseNoTime(cmd); err != nil {
		return err
	}
	err := cmd.ValidateFlagGroups()
	if err == nil {
		return nil
	}
	_, given, _ := strings.Cut(err.Error(), "; [")
	given, _, found := strings.Cut(given, "] were all set")
	if !found {
		return usageError{err}
	}
	return usageError{fmt.Errorf("--%s exclude each other", strings.Join(strings.Fields(given), " and --"))}
}

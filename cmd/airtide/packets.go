package main

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"strings"

	"github.com/spf13/cobra"

	"airtide/internal/packets/conn"
	"airtide/internal/view/capture"
	"airtide/internal/view/plot"
	"airtide/internal/view/terminal"
)

func newPackets(t *terminal.Terminal) *cobra.Command {
	var (
		asJSON jsonFlag
		number uint
		top    int
		limit  int
		open   int
		kind   string
		out    outputFlags
		beside string
		joined string
		to     string
		table  string
	)
	cmd := &cobra.Command{
		Use:   "packets FILE",
		Short: "Analyse the TCP connections of a packet capture",
		Long: `Analyses a capture of tcpdump, tshark or Wireshark: pcap or pcapng, plain or in gzip or zstd; "-" is
standard input. For each connection it shows packets and bytes, the time from segments to their
ACKs, segments per ACK, windows, bytes in flight, retransmissions, duplicate ACKs, SACK, reordering,
the options of the handshake, and how it ended. Headers suffice: tcpdump -s 160.`,
		Example: `  tcpdump -i wlan0 -s 160 -w upload.pcap tcp
  airtide packets upload.pcap
  airtide packets upload.pcap --connection 1
  airtide packets upload.pcap --plot ack-time -o ack-time.png
  airtide packets upload.pcap --annotate upload.atr -o annotated.pcapng
  airtide packets upload.pcap --join upload.atr
  airtide packets upload.pcap --to parquet -o upload.parquet
  airtide packets upload.pcap --json | jq '.connections[] | {client, end}'`,
		Args: exactArgs("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if top < 1 {
				return usageError{fmt.Errorf("--top %d: want at least 1", top)}
			}
			if open < 1 {
				return usageError{fmt.Errorf("--open %d: want at least 1", open)}
			}
			if limit < 0 {
				return usageError{fmt.Errorf("--limit %d: want at least 0", limit)}
			}
			if open <= conn.DefaultMaxOpen {
				debug.SetMemoryLimit(captureMemory)
			}
			v := capture.Viewer{
				Terminal: t, Path: args[0], Top: top, MaxOpen: open, Limit: limit,
				One: cmd.Flags().Changed("connection"), Number: uint64(number),
			}
			if beside != "" {
				if bool(asJSON) || kind != "" || to != "" || joined != "" || v.One {
					return usageError{errors.New("--annotate excludes --json, --plot, --to, --join and --connection")}
				}
				return annotateCapture(cmd.Context(), &v, beside, out)
			}
			if joined != "" {
				if kind != "" || to != "" || bool(asJSON) && out.path != "" {
					return usageError{errors.New("--join excludes --plot and --to; give --json or -o FIGURE")}
				}
				return joinCapture(cmd.Context(), &v, joined, bool(asJSON), out)
			}
			if to != "" || table != "" {
				if bool(asJSON) || kind != "" {
					return usageError{errors.New("--to excludes --json and --plot")}
				}
				return packetsError(exportCapture(cmd.Context(), &v, to, table, out))
			}
			if kind == "" && out.path != "" {
				return usageError{fmt.Errorf("-o %s: add --plot, --to, --join or --annotate", out.path)}
			}
			if kind != "" {
				if asJSON {
					return usageError{errors.New("--json and --plot exclude each other")}
				}
				return packetsError(drawPackets(cmd.Context(), &v, kind, out))
			}
			if asJSON {
				return packetsError(v.JSON(cmd.Context()))
			}
			return packetsError(v.Text(cmd.Context()))
		},
	}
	fl := cmd.Flags()
	asJSON.register(fl, "print all connections as JSON, in the order of their ends")
	fl.UintVar(&number, "connection", 0, "print everything about one connection")
	fl.IntVar(&top, "top", 20, "number of connections in the table, those with most data first")
	fl.IntVar(&limit, "limit", 50_000, "number of connections that --json, --join and --to put out at most; 0 for all")
	fl.IntVar(&open, "open", conn.DefaultMaxOpen, "number of connections that are followed at a time; each takes up "+
		"to 3 kB of memory")
	fl.StringVar(&kind, "plot", "", "draw a figure: packets (over time), ack-time (against sequence numbers), "+
		"flight (bytes in flight and window)")
	fl.StringVar(&beside, "annotate", "", "copy the capture to a pcapng whose comments hold the sender's state "+
		"in this `RECORDING`")
	fl.StringVar(&joined, "join", "", "show the connections in both the capture and this `RECORDING`, on one time "+
		"axis; with -o, draw one")
	fl.StringVar(&to, "to", "", "export each segment in the tables of airtide export: "+formatNames())
	fl.StringVar(&table, "table", "", "table of a CSV to standard output: samples, events or flows")
	out.register(fl, "figure (.png, .svg or .pdf), pcapng or export to write, or - for standard output")
	fixed(cmd, "to", strings.Split(formatNames(), ", ")...)
	fixed(cmd, "table", tableNames...)
	fixed(cmd, "plot", "packets", "ack-time", "flight")
	_ = cmd.MarkFlagFilename("output", plot.Formats...)
	return cmd
}

// captureMemory is the memory in bytes at which the collector works harder. More stays possible.
const captureMemory = 150 << 20

// drawPackets writes a figure of one connection.
func drawPackets(ctx context.Context, v *capture.Viewer, name string, out outputFlags) error {
	kind, err := plot.ParsePacketKind(name)
	if err != nil {
		return usageError{err}
	}
	if out.path == "" {
		return usageError{errors.New("no output file: give one with -o FIGURE")}
	}
	format, err := formatOf(v.Terminal, out.path, "")
	if err != nil {
		return err
	}
	write := func(data []byte) error { return out.writeOrPrint(v.Terminal, data) }
	return v.Figure(ctx, kind, format, write)
}

// packetsError makes the choice of a connection that cannot be shown a usage error.
func packetsError(err error) error {
	if _, missing := errors.AsType[*capture.MissingError](err); missing || errors.Is(err, capture.ErrReadTwice) {
		return usageError{err}
	}
	return err
}

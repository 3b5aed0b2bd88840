package main

import (
	"bufio"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"airtide/internal/packets/conn"
	"airtide/internal/packets/read"
	"airtide/internal/units"
	"airtide/internal/view/figure"
	"airtide/internal/view/plot"
	"airtide/internal/view/terminal"
)

func newPackets(t *terminal.Terminal) *cobra.Command {
	var (
		asJSON jsonFlag
		number uint
		top    int
		kind   string
		out    outputFlags
		told   string
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
  airtide packets upload.pcap --json | jq '.connections[] | {client, end}'`,
		Args: exactArgs("FILE"),
		RunE: func(cmd *cobra.Command, args []string) error {
			if top < 1 {
				return usageError{fmt.Errorf("--top %d: want at least 1", top)}
			}
			one := cmd.Flags().Changed("connection")
			if told != "" {
				if bool(asJSON) || kind != "" || one {
					return usageError{errors.New("--annotate excludes --json, --plot and --connection")}
				}
				return annotateCapture(cmd.Context(), t, args[0], told, out)
			}
			if kind != "" || out.path != "" {
				if asJSON {
					return usageError{errors.New("--json and --plot exclude each other")}
				}
				return plotPackets(cmd.Context(), t, args[0], kind, out, uint64(number), one)
			}
			c, err := openCapture(cmd.Context(), t, args[0])
			if err != nil {
				return err
			}
			defer c.Close()
			p := printer{terminal: t, path: args[0], top: top}
			if one {
				p.only = uint64(number)
			}
			if asJSON {
				return p.json(cmd.Context(), c, one)
			}
			return p.text(cmd.Context(), c, one)
		},
	}
	fl := cmd.Flags()
	asJSON.register(fl, "print all connections as JSON, in the order of their ends")
	fl.UintVar(&number, "connection", 0, "print everything about one connection")
	fl.IntVar(&top, "top", 20, "number of connections in the table, those with most data first")
	fl.StringVar(&kind, "plot", "", "draw a figure: packets (over time), ack-time (against sequence numbers), "+
		"flight (bytes in flight and window)")
	fl.StringVar(&told, "annotate", "", "copy the capture to a pcapng whose comments hold the sender's state "+
		"in this `RECORDING`")
	out.register(fl, "figure (.png, .svg or .pdf) or pcapng to write, or - for standard output")
	fixed(cmd, "plot", "packets", "ack-time", "flight")
	_ = cmd.MarkFlagFilename("output", plot.Formats...)
	return cmd
}

// capture is a capture that a verb reads.
type capture struct {
	*read.Reader
	terminal *terminal.Terminal
	path     string
	begun    time.Time
	source   conn.Source // the reader, or a copier behind it
}

// openCapture opens a capture. Like run, it returns at the end of the context even if a pipe is
// silent.
func openCapture(ctx context.Context, t *terminal.Terminal, path string) (*capture, error) {
	type result struct {
		reader *read.Reader
		err    error
	}
	done := make(chan result, 1)
	go func() {
		r, err := read.Open(path)
		done <- result{r, err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return nil, r.err
		}
		return &capture{r.reader, t, path, time.Now(), r.reader}, nil
	case <-ctx.Done():
		return nil, errors.New("interrupted")
	}
}

// run analyses the capture and shows progress once it has taken long. A capture that ends early is
// analysed as far as it goes, with a warning. Other damage is an error behind the totals.
func (c *capture) run(ctx context.Context, o conn.Options) (totals conn.Totals, damage *read.Damage, err error) {
	o.Workers = min(runtime.GOMAXPROCS(0)-1, 2)
	how := func() string {
		at, size := c.Progress()
		text := "reading " + c.path + ": " + units.Size(at).Short()
		if size > 0 {
			text += " of " + units.Size(size).Short()
		}
		return text
	}
	err = c.terminal.Wait(c.begun, how, func() error {
		type result struct {
			totals conn.Totals
			err    error
		}
		done := make(chan result, 1)
		go func() {
			totals, err := conn.Run(ctx, c.source, o)
			done <- result{totals, err}
		}()
		select {
		case r := <-done:
			totals = r.totals
			return r.err
		case <-ctx.Done(): // a read of a silent pipe does not return
			return ctx.Err()
		}
	})
	if errors.Is(err, context.Canceled) {
		return conn.Totals{}, nil, errors.New("interrupted")
	}
	if d, ok := errors.AsType[*read.Damage](err); ok {
		return totals, d, nil
	}
	return totals, nil, err
}

// report says what is wrong with the capture. Only an early end is no failure.
func (c *capture) report(damage *read.Damage) error {
	switch {
	case damage == nil:
		return nil
	case damage.Cut:
		c.terminal.Warnf("%s", damage)
		return nil
	}
	return damage
}

// printer prints an analysis.
type printer struct {
	terminal *terminal.Terminal
	path     string
	top      int
	only     uint64
	first    []*conn.Connection // most data first
}

// keep keeps the connections with most data.
func (p *printer) keep(c *conn.Connection) {
	at, _ := slices.BinarySearchFunc(p.first, c, func(a, b *conn.Connection) int {
		if a.Bytes() != b.Bytes() {
			return cmpBool(a.Bytes() < b.Bytes())
		}
		return cmpBool(a.ID > b.ID)
	})
	if at == p.top {
		return
	}
	p.first = slices.Insert(p.first, at, c)
	p.first = p.first[:min(len(p.first), p.top)]
}

func cmpBool(greater bool) int {
	if greater {
		return 1
	}
	return -1
}

// packetsJSON is the JSON of packets. Connections come first, because they are printed as they end.
type packetsJSON struct {
	Connections []*conn.Connection `json:"connections"`
	Totals      conn.Totals        `json:"totals"`
	// Damage names the place where the capture stops being readable.
	Damage string `json:"damage,omitempty"`
}

func (p *printer) json(ctx context.Context, c *capture, one bool) error {
	out := bufio.NewWriter(p.terminal.Out)
	printed := 0
	totals, damage, err := c.run(ctx, conn.Options{Done: func(c *conn.Connection) error {
		if one && c.ID != p.only {
			return nil
		}
		text, err := json.MarshalIndent(c, "    ", "  ")
		if err != nil {
			return err
		}
		start := "{\n  \"connections\": [\n    "
		if printed++; printed > 1 {
			start = ",\n    "
		}
		_, err = fmt.Fprintf(out, "%s%s", start, text)
		return err
	}})
	if err == nil && one && printed == 0 {
		err = p.absent(totals)
	}
	if err != nil {
		return err
	}
	end := packetsJSON{Totals: totals}
	if damage != nil {
		end.Damage = damage.Error()
	}
	text, err := json.MarshalIndent(end, "", "  ")
	if err != nil {
		return err
	}
	tail := text[len("{\n  \"connections\": null"):]
	if printed == 0 {
		fmt.Fprint(out, "{\n  \"connections\": []")
	} else {
		fmt.Fprint(out, "\n  ]")
	}
	fmt.Fprintf(out, "%s\n", tail)
	if err := out.Flush(); err != nil {
		return err
	}
	return c.report(damage)
}

// absent is the error for a connection that the capture lacks.
func (p *printer) absent(totals conn.Totals) error {
	has := "none"
	if totals.Connections > 0 {
		has = fmt.Sprintf("1 to %d", totals.Connections)
	}
	return usageError{fmt.Errorf("%s has no connection %d: it has %s", p.path, p.only, has)}
}

func (p *printer) text(ctx context.Context, c *capture, one bool) error {
	var chosen *conn.Connection
	totals, damage, err := c.run(ctx, conn.Options{Done: func(c *conn.Connection) error {
		if one && c.ID == p.only {
			chosen = c
		}
		if !one {
			p.keep(c)
		}
		return nil
	}})
	if err != nil {
		return err
	}
	switch {
	case one && chosen == nil:
		return p.absent(totals)
	case one:
		err = p.detail(chosen)
	default:
		err = p.overview(totals)
	}
	return errors.Join(err, c.report(damage))
}

func seconds(ns int64) string { return units.ThreeDigits(float64(ns)/1e9) + " s" }

// overview prints the totals and the table.
func (p *printer) overview(totals conn.Totals) error {
	t := p.terminal
	if err := t.Printf("%s  %d packets in %s; %d of TCP in %d connections\n", units.Printable(p.path), totals.Packets,
		seconds(max(0, totals.LastNs-totals.FirstNs)), totals.TCP, totals.Connections); err != nil {
		return err
	}
	for _, note := range notes(totals) {
		if err := t.Printf("%s\n", note); err != nil {
			return err
		}
	}
	if len(p.first) == 0 {
		return nil
	}
	table := &terminal.Table{Columns: []terminal.Column{
		{Title: "#", Right: true},
		{Title: "CLIENT", Least: 9},
		{Title: "SERVER", Least: 9},
		{Title: "SECONDS", Right: true, Optional: 1},
		{Title: "DATA UP", Right: true},
		{Title: "DATA DOWN", Right: true},
		{Title: "RTT MS", Right: true},
		{Title: "SEG/ACK", Right: true, Optional: 4},
		{Title: "RETRANS", Right: true},
		{Title: "DUP ACKS", Right: true, Optional: 3},
		{Title: "REORDERED", Right: true, Optional: 5},
		{Title: "HANDSHAKE", Optional: 6},
		{Title: "END", Optional: 2},
	}}
	for _, c := range p.first {
		data, acks := &c.FromClient, &c.FromServer
		if c.FromServer.DataBytes > c.FromClient.DataBytes {
			data, acks = acks, data
		}
		rtt, each := "-", "-"
		if data.RTT != nil {
			rtt = units.ThreeDigits(data.RTT.P50 / 1000)
		}
		if acks.SegmentsPerAck > 0 {
			each = units.ThreeDigits(acks.SegmentsPerAck)
		}
		table.Add(fmt.Sprint(c.ID), c.Client.String(), c.Server.String(),
			units.ThreeDigits(float64(c.DurationNs())/1e9),
			units.Size(c.FromClient.DataBytes).Short(), units.Size(c.FromServer.DataBytes).Short(), rtt, each,
			fmt.Sprint(data.AllRetransmissions()), fmt.Sprint(acks.DupAcks), fmt.Sprint(data.OutOfOrder), c.Handshake,
			ending(c))
	}
	if err := t.Table(table); err != nil {
		return err
	}
	if more := totals.Connections - uint64(len(p.first)); more > 0 {
		return t.Printf("%d more connections with less data; --top shows more, --json all\n", more)
	}
	return nil
}

// notes tells about packets that were not analysed.
func notes(totals conn.Totals) (all []string) {
	add := func(n uint64, text string) {
		if n > 0 {
			all = append(all, fmt.Sprintf("%d %s", n, text))
		}
	}
	add(totals.Other, "packets of other protocols")
	add(totals.Cut, "packets were captured with too few bytes for a TCP header; tcpdump -s 160 suffices")
	add(totals.Bad, "packets have malformed headers")
	add(totals.Fragments, "packets are IP fragments")
	add(totals.UnknownLink, "packets come from interfaces of an unknown kind")
	add(totals.ClockStepsBack, "packets have an earlier time than the packet before")
	add(totals.Forgotten, fmt.Sprintf("connections were ended early, because more than %d were open",
		conn.DefaultMaxOpen))
	return all
}

func ending(c *conn.Connection) string {
	if c.EndBy == "" || c.End == "refused" {
		return c.End
	}
	return c.End + " by " + c.EndBy
}

// detail prints everything about a connection.
func (p *printer) detail(c *conn.Connection) error {
	t := p.terminal
	first := time.Unix(0, c.FirstNs).UTC().Format("2006-01-02 15:04:05.000 UTC")
	text := fmt.Sprintf("connection %d  %s > %s\n%s, for %s; packets %d to %d; handshake %s; end: %s\n",
		c.ID, c.Client, c.Server, first, seconds(c.DurationNs()), c.FirstPacket, c.LastPacket, c.Handshake, ending(c))
	if c.HandshakeUs > 0 {
		text += fmt.Sprintf("handshake took %s ms; captured at: %s\n", units.ThreeDigits(c.HandshakeUs/1000), c.Near)
	}
	if c.ClockStepsBack > 0 {
		text += fmt.Sprintf("%d packets have an earlier time than the packet before\n", c.ClockStepsBack)
	}
	if err := t.PrintWrapped(text+"\n", 0); err != nil {
		return err
	}
	table := &terminal.Table{Columns: []terminal.Column{
		{Title: ""}, {Title: "FROM CLIENT", Right: true}, {Title: "FROM SERVER", Right: true},
	}}
	row := func(name string, value func(*conn.Direction) string) {
		table.Add(name, value(&c.FromClient), value(&c.FromServer))
	}
	count := func(name string, value func(*conn.Direction) uint64) {
		row(name, func(d *conn.Direction) string { return fmt.Sprint(value(d)) })
	}
	count("packets", func(d *conn.Direction) uint64 { return d.Packets })
	count("packets with data", func(d *conn.Direction) uint64 { return d.DataPackets })
	count("bytes of packets", func(d *conn.Direction) uint64 { return d.WireBytes })
	count("bytes of data", func(d *conn.Direction) uint64 { return d.DataBytes })
	count("without repetitions", func(d *conn.Direction) uint64 { return d.UniqueBytes })
	count("largest segment", func(d *conn.Direction) uint64 { return uint64(d.GreatestData) })
	row("time to ACK, median (ms)", timeOf(func(r *conn.Distribution) float64 { return r.P50 }))
	row("  least", timeOf(func(r *conn.Distribution) float64 { return r.Min }))
	row("  95 %", timeOf(func(r *conn.Distribution) float64 { return r.P95 }))
	row("  greatest", timeOf(func(r *conn.Distribution) float64 { return r.Max }))
	count("retransmissions", func(d *conn.Direction) uint64 { return d.AllRetransmissions() })
	count("  fast", func(d *conn.Direction) uint64 { return d.Fast })
	count("  spurious", func(d *conn.Direction) uint64 { return d.Spurious })
	count("  bytes", func(d *conn.Direction) uint64 { return d.RepeatedBytes })
	count("out of order", func(d *conn.Direction) uint64 { return d.OutOfOrder })
	count("behind a gap", func(d *conn.Direction) uint64 { return d.Gaps })
	count("ACKs of new data", func(d *conn.Direction) uint64 { return d.Acks })
	row("segments per ACK", func(d *conn.Direction) string {
		if d.SegmentsPerAck == 0 {
			return "-"
		}
		return units.ThreeDigits(d.SegmentsPerAck)
	})
	count("duplicate ACKs", func(d *conn.Direction) uint64 { return d.DupAcks })
	count("ACKs with SACK", func(d *conn.Direction) uint64 { return d.SackAcks })
	count("ACKs with DSACK", func(d *conn.Direction) uint64 { return d.DsackAcks })
	count("ACKs of unseen data", func(d *conn.Direction) uint64 { return d.UnseenAcked })
	row("advertised window, least", windowOf(func(d *conn.Direction) *int64 { return d.LeastWindow }))
	row("  greatest", windowOf(func(d *conn.Direction) *int64 { return d.GreatestWindow }))
	count("zero windows", func(d *conn.Direction) uint64 { return d.ZeroWindows })
	count("window full", func(d *conn.Direction) uint64 { return d.WindowFull })
	row("in flight, mean", func(d *conn.Direction) string { return fmt.Sprintf("%.0f", d.MeanInFlight) })
	row("  greatest", func(d *conn.Direction) string { return fmt.Sprint(d.GreatestInFlight) })
	count("keep-alives", func(d *conn.Direction) uint64 { return d.KeepAlives })
	row("SYN: MSS", offerOf(func(o *conn.Offer) string { return fmt.Sprint(o.MSS) }))
	row("  window scale", offerOf(func(o *conn.Offer) string {
		if o.Scale == nil {
			return "no"
		}
		return fmt.Sprint(*o.Scale)
	}))
	row("  SACK", offerOf(func(o *conn.Offer) string { return yes(o.SACK) }))
	row("  timestamps", offerOf(func(o *conn.Offer) string { return yes(o.Timestamps) }))
	row("  ECN", offerOf(func(o *conn.Offer) string { return yes(o.ECN) }))
	row("  Fast Open", offerOf(func(o *conn.Offer) string { return yes(o.FastOpen) }))
	return t.Table(table)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

func timeOf(value func(*conn.Distribution) float64) func(*conn.Direction) string {
	return func(d *conn.Direction) string {
		if d.RTT == nil {
			return "-"
		}
		return units.ThreeDigits(value(d.RTT) / 1000)
	}
}

func windowOf(value func(*conn.Direction) *int64) func(*conn.Direction) string {
	return func(d *conn.Direction) string {
		if v := value(d); v != nil {
			return fmt.Sprint(*v)
		}
		return "-"
	}
}

func offerOf(value func(*conn.Offer) string) func(*conn.Direction) string {
	return func(d *conn.Direction) string {
		if d.Offer == nil {
			return "-"
		}
		return value(d.Offer)
	}
}

// plotPackets draws a figure of one connection: the chosen one, or the one with most data, which
// takes a first look at the capture.
func plotPackets(
	ctx context.Context, t *terminal.Terminal, path, name string, out outputFlags, id uint64, chosen bool,
) error {
	kind, err := plot.ParsePacketKind(name)
	if err != nil {
		return usageError{err}
	}
	if out.path == "" {
		return usageError{errors.New("no output file: give one with -o FIGURE")}
	}
	format, err := formatOf(t, out.path, "")
	if err != nil {
		return err
	}
	if !chosen {
		if path == "-" {
			return usageError{errors.New("standard input is read once: choose a connection with --connection")}
		}
		p := printer{top: 1}
		_, damage, err := readCapture(ctx, t, path, conn.Options{
			Done: func(c *conn.Connection) error { p.keep(c); return nil },
		})
		if err != nil {
			return err
		}
		if len(p.first) == 0 {
			return errors.Join(fmt.Errorf("%s has no TCP connections", path), damageError(damage))
		}
		id = p.first[0].ID
	}
	series := &plot.PacketSeries{ID: id}
	totals, damage, err := readCapture(ctx, t, path, conn.Options{Observer: series})
	if err != nil {
		return err
	}
	if id == 0 || id > totals.Connections {
		return (&printer{path: path, only: id}).absent(totals)
	}
	var b bytes.Buffer
	if err := series.Draw(&b, format, kind, figure.Options{}); err != nil {
		return fmt.Errorf("drawing %s: %w", out.path, err)
	}
	if out.path == "-" {
		err = t.Print(b.Bytes())
	} else {
		err = out.write(b.Bytes())
	}
	c := capture{terminal: t, path: path}
	return errors.Join(err, c.report(damage))
}

// damageError is the error for a damage, if there is one.
func damageError(damage *read.Damage) error {
	if damage == nil {
		return nil
	}
	return damage
}

// readCapture opens a capture and analyses it.
func readCapture(
	ctx context.Context, t *terminal.Terminal, path string, o conn.Options,
) (conn.Totals, *read.Damage, error) {
	c, err := openCapture(ctx, t, path)
	if err != nil {
		return conn.Totals{}, nil, err
	}
	defer c.Close()
	return c.run(ctx, o)
}

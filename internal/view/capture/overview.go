package capture

import (
	"fmt"

	"airtide/internal/packets/conn"
	"airtide/internal/units"
	"airtide/internal/view/terminal"
)

func seconds(ns int64) string { return units.ThreeDigits(float64(ns)/1e9) + " s" }

// writeOverview prints the totals and the table.
func (v *Viewer) writeOverview(totals conn.Totals) error {
	t := v.Terminal
	if err := t.Printf("%s  %s in %s; %d of TCP in %s\n", units.Printable(v.Path),
		units.Count(totals.Packets, "packet"), seconds(max(0, totals.LastNs-totals.FirstNs)), totals.TCP,
		units.Count(totals.Connections, "connection")); err != nil {
		return err
	}
	for _, note := range v.notes(totals) {
		if err := t.Printf("%s\n", note); err != nil {
			return err
		}
	}
	if len(v.largest) == 0 {
		return nil
	}
	table := &terminal.Table{Columns: []terminal.Column{
		{Title: "#", Right: true},
		{Title: "CLIENT", Least: 9, Optional: 3},
		{Title: "SERVER", Least: 9},
		{Title: "SECONDS", Right: true, Optional: 5},
		{Title: "DATA UP", Right: true},
		{Title: "DATA DOWN", Right: true, Optional: 4},
		{Title: "RTT MS", Right: true, Optional: 1},
		{Title: "SEG/ACK", Right: true, Optional: 8},
		{Title: "RETRANS", Right: true, Optional: 2},
		{Title: "DUP ACKS", Right: true, Optional: 7},
		{Title: "REORDERED", Right: true, Optional: 9},
		{Title: "HANDSHAKE", Optional: 10},
		{Title: "END", Optional: 6},
	}}
	for _, c := range v.largest {
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
	if more := totals.Connections - uint64(len(v.largest)); more > 0 {
		return t.Printf("%s with less data; --top shows more, --json all\n", units.Count(more, "more connection"))
	}
	return nil
}

// notes tells about packets that were not analysed.
func (v *Viewer) notes(totals conn.Totals) (all []string) {
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
	if note := v.forgotten(totals); note != "" {
		all = append(all, note)
	}
	add(totals.Unmeasured, "segments have no time to their ACK, because too many waited for ACKs")
	return all
}

// forgotten tells how many connections were ended early, or nothing.
func (v *Viewer) forgotten(totals conn.Totals) string {
	if totals.Forgotten == 0 {
		return ""
	}
	open := v.MaxOpen
	if open <= 0 {
		open = conn.DefaultMaxOpen
	}
	return fmt.Sprintf("%d connections were ended early, because more than %d were open; --open raises it",
		totals.Forgotten, open)
}

// WarnForgotten warns of connections that were ended early.
func (v *Viewer) WarnForgotten(totals conn.Totals) {
	if note := v.forgotten(totals); note != "" {
		v.Terminal.Warnf("%s", note)
	}
}

func ending(c *conn.Connection) string {
	if c.EndBy == "" || c.End == "refused" {
		return c.End
	}
	return c.End + " by " + c.EndBy
}

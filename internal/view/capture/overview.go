package capture

import (
	"fmt"
	"strings"

	"airtide/internal/packets/conn"
	"airtide/internal/packets/decode"
	"airtide/internal/units"
	"airtide/internal/view/terminal"
)

func seconds(ns int64) string { return units.ThreeDigits(float64(ns)/1e9) + " s" }

// writeOverview prints a sentence about the capture, and the table.
func (v *Viewer) writeOverview(totals conn.Totals) error {
	t := v.Terminal
	text := fmt.Sprintf("%s  %s\n", units.Printable(v.Path), v.sum.sentence(totals))
	text += strings.Join(append(v.notes(totals), ""), "\n")
	if err := t.Printf("%s", text); err != nil {
		return err
	}
	if len(v.largest) == 0 {
		return nil
	}
	table := overviewTable()
	for _, c := range v.largest {
		addConnection(table, c)
	}
	if err := t.Table(table); err != nil {
		return err
	}
	if more := totals.Connections - uint64(len(v.largest)); more > 0 {
		return t.Printf("%s with less data; --top shows more, --json all\n", units.Count(more, "more connection"))
	}
	return nil
}

// overviewTable has a row for each connection. The counts that tell of problems stay
// at any width.
func overviewTable() *terminal.Table {
	return &terminal.Table{Columns: []terminal.Column{
		{Title: "#", Right: true},
		{Title: "CLIENT", Optional: 3, Least: terminal.LeastEndpoint, Endpoint: true},
		{Title: "SERVER", Least: terminal.LeastEndpoint, Endpoint: true},
		{Title: "SECONDS", Right: true, Optional: 8},
		{Title: "DATA UP", Right: true, Optional: 2},
		{Title: "DATA DOWN", Right: true, Optional: 7},
		{Title: "RTT MS", Right: true, Optional: 1},
		{Title: "CLIENT MS", Right: true, Optional: 6},
		{Title: "SERVER MS", Right: true, Optional: 5},
		{Title: "SEG/ACK", Right: true, Optional: 11},
		{Title: "RETRANS", Right: true},
		{Title: "LATE", Right: true},
		{Title: "DUP ACKS", Right: true, Optional: 10},
		{Title: "HANDSHAKE", Optional: 12},
		{Title: "END", Optional: 9},
	}}
}

// addConnection adds the row of a connection: the direction with most data, and the ACKs of it.
func addConnection(table *terminal.Table, c *conn.Connection) {
	data, acks := c.Sender()
	rtt := "-"
	each := "-"
	if us, handshake := c.RTTUs(data); us > 0 {
		rtt = units.ThreeDigits(us / 1000)
		if handshake {
			rtt = "~" + rtt
		}
	}
	if acks.SegmentsPerAck > 0 {
		each = units.ThreeDigits(acks.SegmentsPerAck)
	}
	table.Add(fmt.Sprint(c.ID), c.Client.String(), c.Server.String(),
		units.ThreeDigits(float64(c.DurationNs())/1e9),
		units.Size(c.FromClient.DataBytes).Short(), units.Size(c.FromServer.DataBytes).Short(), rtt,
		sideText(c.ClientSideUs), sideText(c.ServerSideUs), each,
		resent(data), late(data), fmt.Sprint(acks.DupAcks), c.Handshake, ending(c))
}

// sideText is the RTT between the place of the capture and an end, in ms.
func sideText(us float64) string {
	if us <= 0 {
		return "-"
	}
	return units.ThreeDigits(us / 1000)
}

// resent is the number of segments that a direction sent again, if the capture can tell.
func resent(d *conn.Direction) string {
	if d.ResentSegments == nil {
		return "-"
	}
	return fmt.Sprint(*d.ResentSegments)
}

// late is the number of segments that were sent again or reordered, if the capture cannot tell
// which.
func late(d *conn.Direction) string {
	if d.ResentSegments != nil {
		return "-"
	}
	return fmt.Sprint(d.LateSegments)
}

// notes describes the packets that were not analysed.
func (v *Viewer) notes(totals conn.Totals) (all []string) {
	add := func(n uint64, noun, text string) {
		if n > 0 {
			all = append(all, units.Count(n, noun)+" "+text)
		}
	}
	if totals.TCP != totals.Packets {
		all = append(all, fmt.Sprintf("%s, %d of TCP", units.Count(totals.Packets, "packet"), totals.TCP))
	}
	for _, tunnel := range totals.Tunnels {
		add(tunnel.TCP, "packet", "of TCP in "+tunnel.Name)
	}
	add(totals.Copies, "packet", "captured a second time, inside or outside of a tunnel; not counted again")
	add(totals.Other, "packet", "of other protocols"+kinds(totals.Unread, false))
	add(totals.Cut, "packet", "captured with too few bytes for a TCP header; tcpdump -s 160 suffices")
	add(totals.Bad, "packet", "with malformed headers")
	add(totals.Fragments, "packet", "in IP fragments")
	add(totals.UnknownLink, "packet", "of links that are not read"+kinds(totals.Unread, true))
	add(totals.ClockStepsBack, "packet", "with an earlier time than the packet before")
	if note := v.forgotten(totals); note != "" {
		all = append(all, note)
	}
	add(totals.Unmeasured, "segment", "without a time to the ACK, because too many waited for ACKs")
	return all
}

// kinds names the kinds of packets that were not read, those with most packets first.
func kinds(unread []decode.Unread, links bool) string {
	const most = 5
	var names []string
	more := 0
	for _, u := range unread {
		switch {
		case u.Link() != links:
		case len(names) == most:
			more++
		default:
			names = append(names, fmt.Sprintf("%d of %s", u.Packets, u))
		}
	}
	if more > 0 {
		names = append(names, units.Count(uint64(more), "more kind"))
	}
	if len(names) == 0 {
		return ""
	}
	return ": " + strings.Join(names, ", ")
}

// forgotten gives the number of connections that were ended early, or nothing.
func (v *Viewer) forgotten(totals conn.Totals) string {
	if totals.Forgotten == 0 {
		return ""
	}
	open := v.MaxOpen
	if open <= 0 {
		open = conn.DefaultMaxOpen
	}
	return fmt.Sprintf("%s ended early, because more than %d were open; --open raises it",
		units.Count(totals.Forgotten, "connection"), open)
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

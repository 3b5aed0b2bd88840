package capture

import (
	"fmt"
	"time"

	"airtide/internal/packets/conn"
	"airtide/internal/units"
	"airtide/internal/view/terminal"
)

// writeDetail prints everything about a connection.
func writeDetail(t *terminal.Terminal, c *conn.Connection) error {
	first := time.Unix(0, c.FirstNs).UTC().Format("2006-01-02 15:04:05.000 UTC")
	text := fmt.Sprintf("connection %d  %s > %s\n%s, for %s; packets %d to %d; handshake %s; end: %s\n",
		c.ID, c.Client, c.Server, first, seconds(c.DurationNs()), c.FirstPacket, c.LastPacket, c.Handshake, ending(c))
	if c.HandshakeUs > 0 {
		text += fmt.Sprintf("handshake took %s ms; captured %s\n", units.ThreeDigits(c.HandshakeUs/1000), place(c.Near))
	}
	if c.ClientSideUs > 0 || c.ServerSideUs > 0 {
		text += fmt.Sprintf("RTT from here to the client %s ms, to the server %s ms\n", sideText(c.ClientSideUs),
			sideText(c.ServerSideUs))
	}
	if c.ClockStepsBack > 0 {
		text += units.Count(c.ClockStepsBack, "packet") + " with an earlier time than the packet before\n"
	}
	if err := t.PrintWrapped(text+"\n", 0); err != nil {
		return err
	}
	table := &terminal.Table{Columns: []terminal.Column{
		{Least: 6}, {Title: "FROM\nCLIENT", Right: true}, {Title: "FROM\nSERVER", Right: true},
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
	count("unique bytes of data", func(d *conn.Direction) uint64 { return d.UniqueBytes })
	count("largest segment", func(d *conn.Direction) uint64 { return uint64(d.GreatestData) })
	row("time to ACK, median (ms)", timeOf(func(r *conn.Distribution) float64 { return r.P50 }))
	row("  least", timeOf(func(r *conn.Distribution) float64 { return r.Min }))
	row("  95 %", timeOf(func(r *conn.Distribution) float64 { return r.P95 }))
	row("  greatest", timeOf(func(r *conn.Distribution) float64 { return r.Max }))
	count("segments of data", func(d *conn.Direction) uint64 { return d.DataSegments })
	row("  sent again", resent)
	row("  late: sent again or reordered", late)
	table.Add("packets as tshark counts")
	count("  retransmissions", func(d *conn.Direction) uint64 { return d.AllRetransmissions() })
	count("    fast", func(d *conn.Direction) uint64 { return d.Fast })
	count("    spurious", func(d *conn.Direction) uint64 { return d.Spurious })
	count("    bytes", func(d *conn.Direction) uint64 { return d.RepeatedBytes })
	count("  out of order", func(d *conn.Direction) uint64 { return d.OutOfOrder })
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
	row("SYN: MSS", offerOf(func(o *conn.Offer) string {
		if o.MSS == 0 && o.MissingBytes > 0 {
			return "-"
		}
		return fmt.Sprint(o.MSS)
	}))
	row("  window scale", offerOf(func(o *conn.Offer) string {
		switch {
		case o.Scale != nil:
			return fmt.Sprint(*o.Scale)
		case o.MissingBytes > 0:
			return "-"
		}
		return "no"
	}))
	row("  SACK", offerOf(func(o *conn.Offer) string { return known(o.SACK) }))
	row("  timestamps", offerOf(func(o *conn.Offer) string { return known(o.Timestamps) }))
	row("  ECN", offerOf(func(o *conn.Offer) string { return yes(o.ECN) }))
	row("  Fast Open", offerOf(func(o *conn.Offer) string { return known(o.FastOpen) }))
	return t.Table(table)
}

func yes(b bool) string {
	if b {
		return "yes"
	}
	return "no"
}

// known is a dash for an option that was not captured.
func known(b *bool) string {
	if b == nil {
		return "-"
	}
	return yes(*b)
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

package main

import (
	"fmt"
	"strings"
	"time"

	"airtide/internal/cell"
	"airtide/internal/cell/live"
	"airtide/internal/units"
	"airtide/internal/view/terminal"
)

// writeCell prints the activity of a cell as two tables that fit a width; 0 is no limit. The first
// table shows the radio and the rates, the second one the queues.
func writeCell(w *strings.Builder, s *live.Seen, width int, colour bool) error {
	head := fmt.Sprintf("cell %s, process %d, %s since it began", s.Name, s.PID,
		time.Duration(s.Window.ToNs).Truncate(time.Second))
	if e := s.Engine; e != nil {
		head += fmt.Sprintf("; engine late by %.2f ms at most for 99 %% of the packets", float64(e.Lag.P99Ns)/1e6)
	}
	w.WriteString(terminal.Wrap(units.PrintableText(head, false), width, 2) + "\n\n")
	if err := radioTable(s.Window).Write(w, width, colour); err != nil {
		return err
	}
	w.WriteByte('\n')
	if err := queueTable(s.Window).Write(w, width, colour); err != nil {
		return err
	}
	if s.Engine != nil {
		for _, warning := range s.Engine.Warnings {
			w.WriteString("\n" + terminal.Wrap(units.PrintableText(warning, false), width, 2) + "\n")
		}
	}
	w.WriteByte('\n')
	return nil
}

// radioTable shows PHY rates, airtime, rates, collisions and lengths of aggregates.
func radioTable(w *cell.Window) *terminal.Table {
	table := &terminal.Table{Columns: []terminal.Column{
		{Least: 8},
		{Title: "PHY\nMbit/s", Right: true, Optional: 2},
		{Title: "airtime\n%", Right: true},
		{Title: "sent\nMbit/s", Right: true},
		{Title: "received\nMbit/s", Right: true, Optional: 1},
		{Title: "collisions\n%", Right: true, Optional: 4},
		{Title: "retries\n%", Right: true, Optional: 3},
		{Title: "A-MPDU\nframes", Right: true, Optional: 5},
		{Title: "95 %\nframes", Right: true, Optional: 6},
	}}
	for i := range w.Terminals {
		t := &w.Terminals[i]
		name := units.PrintableText(t.Name, false)
		sent := decimal(t.SentMbps)
		received := decimal(t.ReceivedMbps)
		if t.Ethernet {
			table.Add(name, "Ethernet", "", sent, received)
			continue
		}
		table.Add(name, decimal(float64(t.PHYRateBps)/1e6), decimal(t.AirtimePercent), sent, received,
			decimal(t.Up.CollisionsPercent), decimal(t.Up.RetriesPercent), decimal(t.Up.AggregationFrames),
			fmt.Sprint(t.Up.AggregationP95))
	}
	ap := &w.AP.Radio
	table.Add("access point", "", decimal(ap.AirtimePercent), decimal(ap.RateMbps), "", decimal(ap.CollisionsPercent),
		decimal(ap.RetriesPercent), decimal(ap.AggregationFrames), fmt.Sprint(ap.AggregationP95))
	for _, wire := range wires(w) {
		rate := "no limit"
		if wire.RateBps > 0 {
			rate = decimal(float64(wire.RateBps) / 1e6)
		}
		table.Add(wire.name, rate, "", decimal(wire.RateMbps))
	}
	return table
}

// queueTable shows lengths of queues, stays and drops.
func queueTable(w *cell.Window) *terminal.Table {
	table := &terminal.Table{Columns: []terminal.Column{
		{Least: 8},
		{Title: "queue\npackets", Right: true},
		{Title: "95 %\npackets", Right: true, Optional: 3},
		{Title: "stay\nms", Right: true, Optional: 1},
		{Title: "AP queue\npackets", Right: true, Optional: 2},
		{Title: "95 %\npackets", Right: true, Optional: 5},
		{Title: "stay\nms", Right: true, Optional: 4},
		{Title: "drops\npackets", Right: true},
	}}
	queue := func(q *cell.QueueWindow) []string {
		return []string{decimal(q.MeanPackets), fmt.Sprint(q.P95Packets), fmt.Sprintf("%.2f", q.Sojourn.MedianMs)}
	}
	add := func(name string, own, ap []string, drops int64) {
		cells := append([]string{name}, own...)
		table.Add(append(append(cells, ap...), fmt.Sprint(drops))...)
	}
	none := make([]string, 3)
	for i := range w.Terminals {
		t := &w.Terminals[i]
		name := units.PrintableText(t.Name, false)
		if t.Ethernet {
			add(name, none, none, t.Drops.Total())
			continue
		}
		add(name, queue(&t.Queue), queue(&t.APQueue), t.Drops.Total())
	}
	add("access point", none, queue(&w.AP.Queue), w.AP.Queue.Dropped)
	for _, wire := range wires(w) {
		add(wire.name, queue(&wire.Queue), none, wire.Queue.Dropped)
	}
	return table
}

type namedWire struct {
	name string
	*cell.WireWindow
}

// wires are both directions of the wire.
func wires(w *cell.Window) []namedWire {
	return []namedWire{{"wire up", &w.WireUp}, {"wire down", &w.WireDown}}
}

// decimal prints a number with one decimal and without a negative zero.
func decimal(v float64) string {
	text := fmt.Sprintf("%.1f", v)
	if text == "-0.0" {
		return "0.0"
	}
	return text
}

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"runtime/debug"

	"airtide/internal/packets/conn"
	"airtide/internal/packets/join"
	"airtide/internal/recording/trace"
	"airtide/internal/tcp"
	"airtide/internal/units"
	"airtide/internal/view/capture"
	"airtide/internal/view/figure"
	"airtide/internal/view/plot"
	"airtide/internal/view/terminal"
)

// joinJSON is the JSON of packets --join.
type joinJSON struct {
	Joined []*join.Connection `json:"joined"`
	joinEnd
}

type joinEnd struct {
	// LeftOut counts the ends behind the last that may be printed.
	LeftOut uint64      `json:"left_out_ends,omitempty"`
	Totals  conn.Totals `json:"totals"`
}

// joinCapture shows the connections that a capture and a recording share: as text, as JSON, or one
// of them as a figure.
func joinCapture(ctx context.Context, v *capture.Viewer, recording string, asJSON bool, out outputFlags) error {
	if v.One && v.Number == 0 {
		return usageError{errors.New("--connection 0: connections are numbered from 1")}
	}
	format := ""
	if out.path != "" {
		var err error
		format, err = formatOf(v.Terminal, out.path, "")
		if err != nil {
			return err
		}
	}
	r, err := openTrace(v.Terminal, recording)
	if err != nil {
		return err
	}
	defer r.Close()
	m := r.Metadata()
	flows := &join.Recording{WallNs: m.WallNs}
	if err := r.scan(ctx, "reading", trace.ScanOptions{Fields: join.Fields()}, flows); err != nil {
		return err
	}
	r.warnDamage()
	debug.SetMemoryLimit(captureMemory) // the recording allows less
	c, err := capture.Open(ctx, v.Terminal, v.Path)
	if err != nil {
		return err
	}
	defer c.Close()
	list := &capture.List{Terminal: v.Terminal, Name: "joined", Most: v.Limit}
	table := joinedTable()
	var drawn *join.Connection // the end with most segments of data
	ends := uint64(0)
	j := &join.Joiner{Recording: flows, Joined: func(x *join.Connection) error {
		ends++
		switch {
		case asJSON:
			return list.Add(x)
		case format != "":
			if drawn == nil || len(x.InFlight) > len(drawn.InFlight) {
				drawn = x
			}
		case v.Limit == 0 || ends <= uint64(v.Limit):
			addJoined(table, x)
		default:
			list.LeftOut++
		}
		return nil
	}}
	if v.One {
		j.Only = v.Number
	}
	totals, damage, err := c.Run(ctx, conn.Options{MaxOpen: v.MaxOpen, Observer: j, Done: j.Done})
	if err != nil {
		return err
	}
	switch {
	case asJSON:
		err = list.End(joinEnd{LeftOut: list.LeftOut, Totals: totals})
	case ends == 0 && damage == nil:
		err = fmt.Errorf("%s has none of the connections of %s at their times", recording, v.Path)
	case drawn != nil:
		err = drawJoined(v.Terminal, drawn, format, out)
	case format == "":
		err = v.Terminal.Table(table)
	}
	v.WarnForgotten(totals)
	v.WarnLeftOut(list.LeftOut, units.Count(ends, "joined end"))
	return errors.Join(err, c.Report(damage))
}

func drawJoined(t *terminal.Terminal, x *join.Connection, format string, out outputFlags) error {
	var b bytes.Buffer
	if err := plot.DrawJoined(&b, format, x, figure.Options{}); err != nil {
		return fmt.Errorf("drawing %s: %w", out.path, err)
	}
	return out.writeOrPrint(t, b.Bytes())
}

// joinedTable is a table with a row for each recorded end.
func joinedTable() *terminal.Table {
	return &terminal.Table{Columns: []terminal.Column{
		{Title: "#", Right: true},
		{Title: "FLOW", Right: true},
		{Title: "LOCAL", Least: 9},
		{Title: "REMOTE", Least: 9},
		{Title: "OFFSET MS", Right: true},
		{Title: "BY", Optional: 5},
		{Title: "50, 95 %", Right: true, Optional: 4},
		{Title: "RETRANS CAPTURED", Right: true},
		{Title: "RTT MS", Right: true, Optional: 2},
		{Title: "IN FLIGHT", Right: true, Optional: 1},
		{Title: "RETRANS RECORDED", Right: true},
		{Title: "SRTT MS", Right: true, Optional: 2},
		{Title: "CWND", Right: true, Optional: 1},
	}}
}

func addJoined(table *terminal.Table, x *join.Connection) {
	ms := func(ns float64) string { return units.ThreeDigits(ns / 1e6) }
	known := func(text string, is bool) string {
		if is {
			return text
		}
		return "-"
	}
	table.Add(fmt.Sprint(x.Connection), fmt.Sprint(x.Flow), tcp.Endpoint(x.Local), tcp.Endpoint(x.Remote),
		ms(float64(x.OffsetNs)), x.AlignedBy,
		known(ms(float64(x.OffsetP50Ns))+", "+ms(float64(x.OffsetP95Ns)), x.Matches > 0),
		fmt.Sprint(x.CapturedRetransmissions), known(ms(x.CapturedRTTUs*1000), x.CapturedRTTUs > 0),
		units.Size(uint64(x.CapturedInFlight)).Short(),
		fmt.Sprint(x.RecordedRetransmissions), known(ms(float64(x.RecordedSrttUs)*1000), x.RecordedSrttUs > 0),
		known(units.Size(uint64(max(0, x.RecordedCwnd))).Short(), x.RecordedCwnd > 0))
}

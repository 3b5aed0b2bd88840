package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"

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
	Totals conn.Totals        `json:"totals"`
}

// joinCapture shows the connections that a capture and a recording share: as text, as JSON, or one
// of them as a figure.
func joinCapture(ctx context.Context, v *capture.Viewer, recording string, asJSON bool, out outputFlags) error {
	format := ""
	if out.path != "" {
		var err error
		if format, err = formatOf(v.Terminal, out.path, ""); err != nil {
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
	c, err := capture.Open(ctx, v.Terminal, v.Path)
	if err != nil {
		return err
	}
	defer c.Close()
	j := &join.Joiner{Recording: flows}
	totals, damage, err := c.Run(ctx, conn.Options{MaxOpen: v.MaxOpen, Observer: j, Done: j.Done})
	if err != nil {
		return err
	}
	joined := []*join.Connection{}
	for _, x := range j.Joined {
		if !v.One || x.Connection == v.Number {
			joined = append(joined, x)
		}
	}
	switch {
	case asJSON:
		err = v.Terminal.JSON(joinJSON{joined, totals})
	case len(joined) == 0 && damage == nil:
		err = fmt.Errorf("%s has none of the connections of %s at their times", recording, v.Path)
	case format != "":
		err = drawJoined(v.Terminal, joined, format, out)
	default:
		err = printJoined(v.Terminal, joined)
	}
	return errors.Join(err, c.Report(damage))
}

// drawJoined draws the end with most segments of data.
func drawJoined(t *terminal.Terminal, joined []*join.Connection, format string, out outputFlags) error {
	if len(joined) == 0 {
		return nil
	}
	best := joined[0]
	for _, x := range joined {
		if len(x.InFlight) > len(best.InFlight) {
			best = x
		}
	}
	var b bytes.Buffer
	if err := plot.DrawJoined(&b, format, best, figure.Options{}); err != nil {
		return fmt.Errorf("drawing %s: %w", out.path, err)
	}
	return out.writeOrPrint(t, b.Bytes())
}

// printJoined prints a row for each recorded end.
func printJoined(t *terminal.Terminal, joined []*join.Connection) error {
	table := &terminal.Table{Columns: []terminal.Column{
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
	ms := func(ns float64) string { return units.ThreeDigits(ns / 1e6) }
	known := func(text string, is bool) string {
		if is {
			return text
		}
		return "-"
	}
	for _, x := range joined {
		table.Add(fmt.Sprint(x.Connection), fmt.Sprint(x.Flow), tcp.Endpoint(x.Local), tcp.Endpoint(x.Remote),
			ms(float64(x.OffsetNs)), x.AlignedBy,
			known(ms(float64(x.OffsetP50Ns))+", "+ms(float64(x.OffsetP95Ns)), x.Matches > 0),
			fmt.Sprint(x.CapturedRetransmissions), known(ms(x.CapturedRTTUs*1000), x.CapturedRTTUs > 0),
			units.Size(uint64(x.CapturedInFlight)).Short(),
			fmt.Sprint(x.RecordedRetransmissions), known(ms(float64(x.RecordedSrttUs)*1000), x.RecordedSrttUs > 0),
			known(units.Size(uint64(max(0, x.RecordedCwnd))).Short(), x.RecordedCwnd > 0))
	}
	return t.Table(table)
}

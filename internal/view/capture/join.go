package capture

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"

	"airtide/internal/packets/conn"
	"airtide/internal/packets/join"
	"airtide/internal/tcp"
	"airtide/internal/units"
	"airtide/internal/view/figure"
	"airtide/internal/view/plot"
	"airtide/internal/view/terminal"
)

// Joined is the JSON of a capture beside a recording.
type Joined struct {
	Joined []*join.Connection `json:"joined"`
	joinedEnd
}

type joinedEnd struct {
	// LeftOut counts the ends behind the last that may be printed.
	LeftOut uint64      `json:"left_out_ends,omitempty"`
	Totals  conn.Totals `json:"totals"`
}

// joined is the result of a join.
type joined struct {
	totals conn.Totals
	ends   uint64
	damage error
}

// join calls each with the ends that are in the capture and in the recording.
func (v *Viewer) join(
	ctx context.Context, flows *join.Recording, each func(*join.Connection) error,
) (r joined, err error) {
	c, err := Open(ctx, v.Terminal, v.Path)
	if err != nil {
		return r, err
	}
	defer c.Close()
	j := &join.Joiner{Recording: flows, Joined: func(x *join.Connection) error {
		r.ends++
		return each(x)
	}}
	if v.One {
		j.Only = v.Number
	}
	totals, damage, err := c.Run(ctx, conn.Options{MaxOpen: v.MaxOpen, Observer: j, Done: j.Done})
	if err != nil {
		return r, err
	}
	r.totals = totals
	r.damage = c.Report(damage)
	if r.ends == 0 && damage == nil {
		return r, v.noneShared()
	}
	return r, nil
}

// warnJoined warns of ends that are missing in the output.
func (v *Viewer) warnJoined(r joined, leftOut uint64) {
	v.WarnForgotten(r.totals)
	v.WarnLeftOut(leftOut, units.Count(r.ends, "joined end"))
}

// JoinJSON prints the joined ends as JSON. A capture without any gives an empty list.
func (v *Viewer) JoinJSON(ctx context.Context, flows *join.Recording) error {
	list := &List{List: v.Terminal.NewList("joined"), Most: v.Limit}
	r, err := v.join(ctx, flows, func(x *join.Connection) error { return list.Add(x) })
	if err != nil && r.totals.Packets == 0 {
		return err
	}
	err = list.End(joinedEnd{LeftOut: list.LeftOut, Totals: r.totals})
	v.warnJoined(r, list.LeftOut)
	return errors.Join(err, r.damage)
}

// JoinFigure draws the joined end with most segments of data. It passes the figure to write.
func (v *Viewer) JoinFigure(
	ctx context.Context, flows *join.Recording, format string, write func([]byte) error,
) error {
	var drawn *join.Connection
	r, err := v.join(ctx, flows, func(x *join.Connection) error {
		if drawn == nil || len(x.InFlight) > len(drawn.InFlight) {
			drawn = x
		}
		return nil
	})
	if err != nil || drawn == nil {
		return errors.Join(err, r.damage)
	}
	var b bytes.Buffer
	if err := plot.DrawJoined(&b, format, drawn, figure.Options{}); err != nil {
		return fmt.Errorf("drawing a connection of %s: %w", v.Path, err)
	}
	err = write(b.Bytes())
	v.warnJoined(r, 0)
	return errors.Join(err, r.damage)
}

// JoinText prints a row for each joined end.
func (v *Viewer) JoinText(ctx context.Context, flows *join.Recording) error {
	table := joinedTable()
	leftOut := uint64(0)
	var notes []string
	r, err := v.join(ctx, flows, func(x *join.Connection) error {
		if v.Limit > 0 && table.Len() >= v.Limit {
			leftOut++
			return nil
		}
		addJoined(table, x)
		if note := differing(x); note != "" && len(notes) < maxNotes {
			notes = append(notes, note)
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err = v.Terminal.Table(table); err == nil && len(notes) > 0 {
		err = v.Terminal.Printf("%s\n", strings.Join(notes, "\n"))
	}
	v.warnJoined(r, leftOut)
	return errors.Join(err, r.damage)
}

// maxNotes bounds the notes below the table.
const maxNotes = 5

// differing gives the reason why the files differ in retransmissions of an end, or nothing.
func differing(x *join.Connection) string {
	captured := x.CapturedRetransmissions
	recorded := x.RecordedRetransmissions
	if captured == recorded {
		return ""
	}
	why := "the capture lacks packets, or the recording samples"
	switch {
	case !x.AtSender && captured < recorded:
		why = "the capture was not taken at this end: retransmissions that were lost before it are missing"
	case !x.AtSender:
		why = "the capture was not taken at this end: reordered segments count as well"
	case captured > recorded:
		why = "the recording covers less of the connection, or lacks samples"
	}
	return fmt.Sprintf("flow %d: %d segments captured again, %d recorded; %s", x.Flow, captured, recorded, why)
}

// joinedTable is a table with a row for each recorded end.
func joinedTable() *terminal.Table {
	return &terminal.Table{Columns: []terminal.Column{
		{Title: "#", Right: true},
		{Title: "FLOW", Right: true},
		{Title: "LOCAL", Least: terminal.LeastEndpoint, Endpoint: true},
		{Title: "REMOTE", Least: terminal.LeastEndpoint, Endpoint: true},
		{Title: "OFFSET\nMS", Right: true},
		{Title: "\nBY", Optional: 5},
		{Title: "\n50, 95 %", Right: true, Optional: 4},
		{Title: "CAPTURED\nRETRANS", Right: true}, // late segments, if not at the sender
		{Title: "\nRTT MS", Right: true, Optional: 2},
		{Title: "\nIN FLIGHT", Right: true, Optional: 1},
		{Title: "RECORDED\nRETRANS", Right: true},
		{Title: "\nSRTT MS", Right: true, Optional: 2},
		{Title: "\nCWND", Right: true, Optional: 1},
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

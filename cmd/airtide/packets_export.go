package main

import (
	"context"
	"errors"

	"airtide/internal/packets/conn"
	"airtide/internal/packets/series"
	"airtide/internal/recording/export"
	"airtide/internal/units"
	"airtide/internal/view/capture"
)

// exportCapture writes the segments of all connections, or of one, in a format of export.
func exportCapture(ctx context.Context, v *capture.Viewer, to, table string, out outputFlags) error {
	format, o, err := exportOptions(v.Terminal, out, to, table)
	if err != nil {
		return err
	}
	o.Fields = series.Fields()
	c, err := capture.Open(ctx, v.Terminal, v.Path)
	if err != nil {
		return err
	}
	defer c.Close()
	// Times of captures are those of the wall clock.
	x, err := export.New(format, out.path, export.Meta{
		Source: "capture", Tool: version(), ClockMonotonicNs: 1, ClockWallNs: 1,
	}, o)
	if err != nil {
		return err
	}
	rows := &series.Series{Sink: x, Most: uint64(v.Limit)}
	if v.One {
		rows.Only = v.Number
	}
	totals, damage, err := c.Run(ctx, conn.Options{MaxOpen: v.MaxOpen, Observer: rows, Done: rows.Done})
	if err == nil && v.One && (v.Number == 0 || v.Number > totals.Connections) {
		err = &capture.MissingError{Path: v.Path, Number: v.Number, Existing: totals.Connections}
	}
	if err == nil {
		err = rows.Flush()
	}
	if err != nil {
		x.Abort()
		return err
	}
	v.WarnForgotten(totals)
	v.WarnLeftOut(rows.LeftOut, units.Count(totals.Connections, "connection"))
	return errors.Join(x.Close(), c.Report(damage))
}

package capture

import (
	"context"
	"errors"
	"strings"

	"airtide/internal/packets/conn"
	"airtide/internal/packets/series"
	"airtide/internal/recording/export"
	"airtide/internal/units"
)

// Export writes the segments of all connections, or of one, to a path.
func (v *Viewer) Export(
	ctx context.Context, format export.Format, path string, meta export.Meta, o export.Options,
) error {
	c, err := Open(ctx, v.Terminal, v.Path)
	if err != nil {
		return err
	}
	defer c.Close()
	x, err := export.New(format, path, meta, o)
	if err != nil {
		return err
	}
	rows := &series.Series{Sink: x, Most: uint64(v.Limit)}
	if v.One {
		rows.Only = v.Number
	}
	totals, damage, err := c.Run(ctx, conn.Options{MaxOpen: v.MaxOpen, Observer: rows, Done: rows.Done})
	if err == nil && v.One && (v.Number == 0 || v.Number > totals.Connections) {
		err = v.missing(totals)
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
	if err := x.Close(); err != nil {
		return errors.Join(err, c.Report(damage))
	}
	if path != "-" {
		v.Terminal.Notef("wrote %s", strings.Join(x.Paths(), ", "))
	}
	return c.Report(damage)
}

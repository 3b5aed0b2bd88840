package capture

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"airtide/internal/packets/conn"
	"airtide/internal/view/figure"
	"airtide/internal/view/plot"
	"airtide/internal/view/terminal"
)

// Viewer shows the analysis of a capture. The zero number shows all connections.
type Viewer struct {
	Terminal *terminal.Terminal
	Path     string // "-" is standard input
	// Recording is the path of the recording of a join or of comments.
	Recording string
	// Top is the number of connections in the table, those with most data first.
	Top int
	// MaxOpen bounds the connections that are followed at a time, Limit those that are printed as
	// JSON, joined or exported. Zero stands for conn.DefaultMaxOpen, and for all.
	MaxOpen, Limit int
	// One shows only the connection with Number.
	One    bool
	Number uint64

	largest []*conn.Connection
	sum     sum
}

// MissingError means that a capture lacks a connection.
type MissingError struct {
	Path             string
	Number, Existing uint64
}

func (e *MissingError) Error() string {
	has := "none"
	if e.Existing > 0 {
		has = fmt.Sprintf("1 to %d", e.Existing)
	}
	return fmt.Sprintf("%s has no connection %d: it has %s", e.Path, e.Number, has)
}

func (v *Viewer) missing(totals conn.Totals) error {
	return &MissingError{v.Path, v.Number, totals.Connections}
}

// ErrReadTwice means that a figure of a capture in a pipe needs a connection: to find the largest
// one, the capture is read twice.
var ErrReadTwice = errors.New("standard input is read once: choose a connection with --connection")

// add sums up the connections, and remembers those with most data.
func (v *Viewer) add(c *conn.Connection) {
	v.sum.add(c)
	at, _ := slices.BinarySearchFunc(v.largest, c, func(a, b *conn.Connection) int {
		return cmp.Or(cmp.Compare(b.Bytes(), a.Bytes()), cmp.Compare(a.ID, b.ID))
	})
	if at == v.Top {
		return
	}
	v.largest = slices.Insert(v.largest, at, c)
	v.largest = v.largest[:min(len(v.largest), v.Top)]
}

// Text prints one connection in detail, or the totals and a table.
func (v *Viewer) Text(ctx context.Context) error {
	c, err := Open(ctx, v.Terminal, v.Path)
	if err != nil {
		return err
	}
	defer c.Close()
	var chosen *conn.Connection
	totals, damage, err := c.Run(ctx, conn.Options{MaxOpen: v.MaxOpen, Done: func(c *conn.Connection) error {
		if v.One && c.ID == v.Number {
			chosen = c
		}
		if !v.One {
			v.add(c)
		}
		return nil
	}})
	if err != nil {
		return err
	}
	switch {
	case v.One && chosen == nil:
		return v.missing(totals)
	case v.One:
		err = writeDetail(v.Terminal, chosen)
	default:
		err = v.writeOverview(totals)
	}
	return errors.Join(err, c.Report(damage))
}

// Figure draws one connection: the chosen one, or the one with most data, which takes a first look
// at the capture. It passes the figure to write.
func (v *Viewer) Figure(ctx context.Context, kind plot.PacketKind, format string, write func([]byte) error) error {
	id := v.Number
	if !v.One {
		if v.Path == "-" {
			return ErrReadTwice
		}
		v.Top = 1
		_, damaged, err := v.read(ctx, conn.Options{Done: func(c *conn.Connection) error { v.add(c); return nil }})
		if err != nil {
			return err
		}
		if len(v.largest) == 0 {
			return errors.Join(fmt.Errorf("%s has no TCP connections", v.Path), damaged)
		}
		id = v.largest[0].ID
	}
	series := &plot.PacketSeries{ID: id}
	totals, damaged, err := v.read(ctx, conn.Options{Observer: series})
	if err != nil {
		return err
	}
	if id == 0 || id > totals.Connections {
		return v.missing(totals)
	}
	var b bytes.Buffer
	if err := series.Draw(&b, format, kind, figure.Options{}); err != nil {
		return fmt.Errorf("drawing a connection of %s: %w", v.Path, err)
	}
	return errors.Join(write(b.Bytes()), damaged)
}

// read analyses the capture from its start.
func (v *Viewer) read(ctx context.Context, o conn.Options) (totals conn.Totals, damaged, err error) {
	c, err := Open(ctx, v.Terminal, v.Path)
	if err != nil {
		return conn.Totals{}, nil, err
	}
	defer c.Close()
	o.MaxOpen = v.MaxOpen
	totals, damage, err := c.Run(ctx, o)
	return totals, c.Report(damage), err
}

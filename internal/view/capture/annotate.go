package capture

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"airtide/internal/packets/annotate"
	"airtide/internal/packets/conn"
	"airtide/internal/packets/join"
	"airtide/internal/units"
)

// Notes is the part of a recording that becomes comments.
type Notes struct {
	History annotate.History
	Flows   join.Recording
}

// Annotate copies the capture with the sender's state in its comments, and counts. It calls create
// for the copy once both inputs are known to be readable.
func (v *Viewer) Annotate(
	ctx context.Context, n *Notes, create func() (io.Writer, error),
) (counts string, err error) {
	if err := v.alignClocks(ctx, n); err != nil {
		return "", err
	}
	c, err := Open(ctx, v.Terminal, v.Path)
	if err != nil {
		return "", err
	}
	defer c.Close()
	out, err := create()
	if err != nil {
		return "", err
	}
	return v.copyTo(ctx, c, n, out)
}

// alignClocks finds the offsets of the recording's clock in a first look at the capture. A pipe is
// read once, so both clocks count as equal.
func (v *Viewer) alignClocks(ctx context.Context, n *Notes) error {
	if info, err := os.Stat(v.Path); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	c, err := Open(ctx, v.Terminal, v.Path)
	if err != nil {
		return err
	}
	defer c.Close()
	// A recording has one clock: flows without matches take the offset of the end with most.
	most := 0
	offsetNs := int64(0)
	j := &join.Joiner{Recording: &n.Flows, Joined: func(x *join.Connection) error {
		if x.Matches > most {
			most = x.Matches
			offsetNs = x.SenderOffsetNs()
		}
		if x.Matches > 0 {
			n.History.Shift(x.Flow, x.SenderOffsetNs())
		}
		return nil
	}}
	if _, _, err := c.Run(ctx, conn.Options{MaxOpen: v.MaxOpen, Observer: j, Done: j.Done}); err != nil {
		return err
	}
	n.History.ShiftOthers(offsetNs)
	return nil
}

// copyTo copies up to the end or a damage.
func (v *Viewer) copyTo(ctx context.Context, c *Capture, n *Notes, w io.Writer) (counts string, err error) {
	out := bufio.NewWriterSize(w, 1<<16)
	copier := &annotate.Copier{Source: c.Reader, History: &n.History, Out: out}
	c.Source = copier
	totals, damage, err := c.Run(ctx, conn.Options{MaxOpen: v.MaxOpen, Observer: copier})
	if err != nil {
		return "", err
	}
	if err := errors.Join(copier.Flush(), out.Flush()); err != nil {
		return "", fmt.Errorf("writing the copy: %w", err)
	}
	if copier.Commented == 0 && damage == nil {
		return "", v.noneShared()
	}
	v.WarnForgotten(totals)
	return fmt.Sprintf("%s, %d with comments", units.Count(totals.Packets, "packet"), copier.Commented),
		c.Report(damage)
}

// noneShared means that a capture and a recording share no connection.
func (v *Viewer) noneShared() error {
	return fmt.Errorf("%s has none of the connections of %s at their times", v.Recording, v.Path)
}

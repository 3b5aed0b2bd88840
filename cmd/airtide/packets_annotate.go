package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"runtime/debug"
	"slices"

	"airtide/internal/packets/annotate"
	"airtide/internal/packets/conn"
	"airtide/internal/packets/join"
	"airtide/internal/packets/read"
	"airtide/internal/recording/trace"
	"airtide/internal/sys/file"
	"airtide/internal/tcp"
	"airtide/internal/units"
	"airtide/internal/view/capture"
)

// annotateCapture copies a capture with the sender's state in its comments. It leaves no half of a
// copy, and never writes over what it reads.
func annotateCapture(ctx context.Context, v *capture.Viewer, recording string, out outputFlags) error {
	t, path := v.Terminal, v.Path
	if out.path == "" {
		return usageError{errors.New("no output file: give one with -o FILE.pcapng")}
	}
	for _, input := range []string{path, recording} {
		if sameFile(input, out.path) {
			return usageError{fmt.Errorf("%s is read and cannot be written at the same time", out.path)}
		}
	}
	r, err := openTrace(t, recording)
	if err != nil {
		return err
	}
	defer r.Close()
	m := r.Metadata()
	history, flows := &annotate.History{WallNs: m.WallNs}, &join.Recording{WallNs: m.WallNs}
	fields := slices.Concat(annotate.Fields(), join.Fields())
	slices.Sort(fields)
	o := trace.ScanOptions{Fields: slices.Compact(fields)}
	if err := r.scan(ctx, "reading", o, tcp.Tee{history, flows}); err != nil {
		return err
	}
	r.warnDamage()
	debug.SetMemoryLimit(captureMemory) // the recording allows less
	if err := alignClocks(ctx, v, history, flows); err != nil {
		return err
	}
	c, err := capture.Open(ctx, t, path)
	if err != nil {
		return err
	}
	defer c.Close()
	if out.path == "-" {
		_, err := copyCapture(ctx, c, v, recording, history, t.Raw())
		return err
	}
	to, err := file.Create(out.path, out.force)
	if err != nil {
		return err
	}
	text, damage := copyCapture(ctx, c, v, recording, history, to)
	if _, damaged := errors.AsType[*read.Damage](damage); damage != nil && !damaged {
		to.Discard()
		return damage
	}
	if err := to.Commit(); err != nil {
		return err
	}
	return errors.Join(t.Printf("%s  %s\n", units.Printable(out.path), text), damage)
}

// alignClocks finds the offsets of the recording's clock in a first look at the capture. A pipe is
// read once, so both clocks count as equal.
func alignClocks(
	ctx context.Context, v *capture.Viewer, history *annotate.History, flows *join.Recording,
) error {
	if info, err := os.Stat(v.Path); err != nil || !info.Mode().IsRegular() {
		return nil
	}
	c, err := capture.Open(ctx, v.Terminal, v.Path)
	if err != nil {
		return err
	}
	defer c.Close()
	// A recording has one clock: flows without matches take the offset of the end with most.
	most, offsetNs := 0, int64(0)
	j := &join.Joiner{Recording: flows, Joined: func(x *join.Connection) error {
		if x.Matches > most {
			most = x.Matches
			offsetNs = x.SenderOffsetNs()
		}
		if x.Matches > 0 {
			history.Shift(x.Flow, x.SenderOffsetNs())
		}
		return nil
	}}
	if _, _, err := c.Run(ctx, conn.Options{MaxOpen: v.MaxOpen, Observer: j, Done: j.Done}); err != nil {
		return err
	}
	history.ShiftOthers(offsetNs)
	return nil
}

// copyCapture copies up to the end or a damage, and counts.
func copyCapture(
	ctx context.Context, c *capture.Capture, v *capture.Viewer, recording string, history *annotate.History,
	w io.Writer,
) (string, error) {
	out := bufio.NewWriterSize(w, 1<<16)
	copier := &annotate.Copier{Source: c.Reader, History: history, Out: out}
	c.Source = copier
	totals, damage, err := c.Run(ctx, conn.Options{MaxOpen: v.MaxOpen, Observer: copier})
	if err != nil {
		return "", err
	}
	if err := errors.Join(copier.Flush(), out.Flush()); err != nil {
		return "", fmt.Errorf("writing the copy: %w", err)
	}
	if copier.Commented == 0 && damage == nil {
		return "", fmt.Errorf("%s has none of the connections of %s at their times", recording, v.Path)
	}
	v.WarnForgotten(totals)
	return fmt.Sprintf("%d packets, %d with comments", totals.Packets, copier.Commented), c.Report(damage)
}

// sameFile tells whether two paths name one existing file.
func sameFile(a, b string) bool {
	x, err := os.Stat(a)
	if err != nil {
		return false
	}
	y, err := os.Stat(b)
	return err == nil && os.SameFile(x, y)
}

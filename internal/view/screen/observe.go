package screen

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"airtide/internal/sys/clock"
	"airtide/internal/tcp"
	"airtide/internal/units"
)

// Clock reads the clock of the samples (CLOCK_MONOTONIC nanoseconds) and the wall clock.
type Clock func() (monotonicNs int64, wall time.Time)

// SystemClock is this host's clock, right for a live source.
func SystemClock() (int64, time.Time) {
	return clock.Now(), time.Now()
}

// Recorder starts and ends recordings of the flows that choose accepts, nil for all. It reports the
// present or last file, whether a recording is under way, and why the last one failed.
type Recorder interface {
	Toggle(label string, choose func(*tcp.Flow) bool)
	State() (path string, on bool, err error)
}

// Options configure an observation.
type Options struct {
	// Source drives the sink until the context is done. It then delivers its remaining records and
	// returns nil.
	Source func(context.Context, tcp.Sink) error
	// Player replays a recording in place of Source and Clock.
	Player *Player
	// Recorder, if any, records on request of the user of the full screen.
	Recorder Recorder
	// Interval is the time between two redraws, tables or rounds of lines. 0 means one second, half
	// of it on the full screen.
	Interval time.Duration
	// Width is the number of columns for Plain; 0 is no limit.
	Width int
	// Once ends after the first interval, for Plain and JSONLines.
	Once bool
	// Events adds a line for every event, for JSONLines.
	Events bool
	Sort   Sort
	Filter Filter
	// Chosen names the flags by which the source chooses flows; empty if it shows all.
	Chosen string
	// Clock is SystemClock unless given.
	Clock Clock
	// Input and Output are stdin and stdout unless given.
	Input  io.Reader
	Output io.Writer
}

func (o Options) complete(interval time.Duration) Options {
	if o.Interval <= 0 {
		o.Interval = interval
	}
	if o.Player != nil {
		o.Clock = o.Player.Clock
		o.Source = o.Player.play
	}
	if o.Clock == nil {
		o.Clock = SystemClock
	}
	if o.Output == nil {
		o.Output = os.Stdout
	}
	return o
}

// Plain writes the whole table once per interval until the context or the source ends.
func Plain(ctx context.Context, t *Table, o Options) error {
	o = o.complete(time.Second)
	first := true
	return o.observe(ctx, t, func() error {
		if !first {
			if _, err := io.WriteString(o.Output, "\n"); err != nil {
				return err
			}
		}
		first = false
		nowNs, wall := o.Clock()
		s := t.Status(nowNs)
		rows := t.Rows(nowNs, o.Sort, o.Filter)
		if err := WriteTable(o.Output, wall, s, rows, o.Width); err != nil || len(rows) > 0 {
			return err
		}
		_, err := fmt.Fprintln(o.Output, comment(o.emptyText(s.Source, s.Flows), o.Width))
		return err
	})
}

// emptyText gives the reason why a table of so many flows has no row, and a remedy.
func (o *Options) emptyText(source string, flows int) string {
	of := ""
	if o.Chosen != "" {
		of = " of " + o.Chosen
	}
	switch {
	case flows > 0 && o.Filter.Text != "":
		return fmt.Sprintf("none of %s matches --find %q: try fewer words", units.Count(flows, "flow"),
			units.Printable(o.Filter.Text))
	case flows > 0:
		return "all flows are idle: leave out --hide-idle to show them"
	case o.Player != nil:
		return "no connection" + of + " until then"
	}
	text := "no connection" + of + " was seen"
	if strings.HasPrefix(source, "bpf") {
		text += ": one shows once a segment arrives; try a longer --interval, or --source diag for idle ones"
	}
	return text
}

// JSONLines writes, once per interval, a line of type "status" and one of type "flow" for each
// flow, and with Options.Events a line of type "event" for every event, until the context or the
// source ends.
func JSONLines(ctx context.Context, t *Table, o Options) error {
	o = o.complete(time.Second)
	lines := newLineWriter(o.Output, t, o.Clock)
	if o.Player != nil {
		lines.fromNs = o.Player.within(o.Player.o.FromNs)
	}
	var sink tcp.Sink = t
	if o.Events {
		sink = tcp.Tee{t, lines}
	}
	return o.observe(ctx, sink, func() error { return lines.round(o.Sort, o.Filter) })
}

// observe runs the source and calls show after every interval, and a last time when the source has
// ended.
func (o Options) observe(ctx context.Context, sink tcp.Sink, show func() error) error {
	if o.Player != nil {
		return o.Player.show(ctx, sink, &o, show)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- o.run(ctx, sink) }()
	ticks := time.NewTicker(o.Interval)
	defer ticks.Stop()
	for {
		select {
		case err := <-ended:
			if err != nil {
				return err
			}
			return show()
		case <-ticks.C:
			if o.Once {
				// The source delivers its remaining records before it ends.
				cancel()
				if err := <-ended; err != nil {
					return err
				}
				return show()
			}
			if err := show(); err != nil {
				cancel()
				<-ended
				return err
			}
		}
	}
}

// run runs the source. It ignores the error of a cancelled context.
func (o Options) run(ctx context.Context, sink tcp.Sink) error {
	if err := o.Source(ctx, sink); err != nil && !errors.Is(err, context.Canceled) {
		return err
	}
	return nil
}

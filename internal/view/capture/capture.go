package capture

import (
	"context"
	"errors"
	"runtime"
	"time"

	"airtide/internal/packets/conn"
	"airtide/internal/packets/read"
	"airtide/internal/units"
	"airtide/internal/view/terminal"
)

// Capture is an open capture.
type Capture struct {
	*read.Reader
	Source   conn.Source // the reader, or a copier behind it
	terminal *terminal.Terminal
	path     string
	begun    time.Time
}

// Open opens a capture; "-" is standard input. Like Run, it returns at the end of the context even
// if a pipe is silent.
func Open(ctx context.Context, t *terminal.Terminal, path string) (*Capture, error) {
	type result struct {
		reader *read.Reader
		err    error
	}
	done := make(chan result, 1)
	go func() {
		r, err := read.Open(path)
		done <- result{r, err}
	}()
	select {
	case r := <-done:
		if r.err != nil {
			return nil, r.err
		}
		return &Capture{r.reader, r.reader, t, path, time.Now()}, nil
	case <-ctx.Done():
		return nil, errors.New("interrupted")
	}
}

// Run analyses the capture and shows progress once it has taken long. A capture that ends early is
// analysed as far as it goes, with a warning. Other damage is an error behind the totals.
func (c *Capture) Run(ctx context.Context, o conn.Options) (totals conn.Totals, damage *read.Damage, err error) {
	o.Workers = min(runtime.GOMAXPROCS(0)-1, 2)
	how := func() string {
		at, size := c.Progress()
		text := "reading " + c.path + ": " + units.Size(at).Short()
		if size > 0 {
			text += " of " + units.Size(size).Short()
		}
		return text
	}
	err = c.terminal.Wait(c.begun, how, func() error {
		type result struct {
			totals conn.Totals
			err    error
		}
		done := make(chan result, 1)
		go func() {
			totals, err := conn.Run(ctx, c.Source, o)
			done <- result{totals, err}
		}()
		select {
		case r := <-done:
			totals = r.totals
			return r.err
		case <-ctx.Done():
			select {
			case <-done: // nothing writes any more
			case <-time.After(time.Second): // a read of a silent pipe does not return
			}
			return ctx.Err()
		}
	})
	if errors.Is(err, context.Canceled) {
		return conn.Totals{}, nil, errors.New("interrupted")
	}
	if d, ok := errors.AsType[*read.Damage](err); ok {
		return totals, d, nil
	}
	return totals, nil, err
}

// Report returns the damage of the capture as an error. An early end is only a warning.
func (c *Capture) Report(damage *read.Damage) error {
	switch {
	case damage == nil:
		return nil
	case damage.Cut:
		c.terminal.Warnf("%s", damage)
		return nil
	}
	return damage
}

package screen

import (
	"context"
	"errors"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/tcp"
	"airtide/test/pty"
)

func TestTheTerminalIsRestoredHoweverTheScreenEnds(t *testing.T) {
	refused := errors.New("attaching programs: operation not permitted")
	fail := make(chan error, 1)
	for _, c := range []struct {
		name string
		end  func(*pty.Terminal, context.CancelFunc)
		want error
	}{
		{"q", func(term *pty.Terminal, _ context.CancelFunc) { term.Press(t, "q") }, nil},
		{"Ctrl-C", func(term *pty.Terminal, _ context.CancelFunc) { term.Press(t, "\x03") }, nil},
		{"the context", func(_ *pty.Terminal, cancel context.CancelFunc) { cancel() }, nil},
		{"a source that fails", func(*pty.Terminal, context.CancelFunc) { fail <- refused }, refused},
	} {
		t.Run(c.name, func(t *testing.T) {
			term := pty.Open(t, 80, 24)
			before := term.Modes(t)
			ctx, cancel := context.WithCancel(context.Background())
			defer cancel()
			sourceEnded := false
			source := func(ctx context.Context, sink tcp.Sink) error {
				defer func() { sourceEnded = true }()
				s := &synthetic{flows: 3}
				if err := s.announce(sink, 0); err != nil {
					return err
				}
				select {
				case <-ctx.Done():
					return ctx.Err()
				case err := <-fail:
					return err
				}
			}
			ended := make(chan error, 1)
			go func() {
				ended <- Run(ctx, NewTable(TableOptions{}), Options{
					Source: source, Interval: 20 * time.Millisecond, Input: term.Slave, Output: term.Slave,
				})
			}()
			term.WaitFor(t, "192.0.2.2")
			if raw := term.Modes(t); raw.Lflag&(unix.ICANON|unix.ECHO) != 0 {
				t.Error("the terminal is not in raw mode while the screen is up")
			}
			c.end(term, cancel)
			select {
			case err := <-ended:
				if !errors.Is(err, c.want) {
					t.Errorf("got error %v, want %v", err, c.want)
				}
			case <-time.After(10 * time.Second):
				t.Fatal("the screen does not end")
			}
			if !sourceEnded {
				t.Error("the source is still running")
			}
			if after := term.Modes(t); after != before {
				t.Errorf("terminal modes %+v, were %+v", after, before)
			}
			term.WaitFor(t, "\x1b[?1049l") // leaves the alternate screen
			term.WaitFor(t, "\x1b[?25h")   // shows the cursor
		})
	}
}

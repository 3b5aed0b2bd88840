package screen

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/tcp"
)

// terminal is a pseudo-terminal with a reader.
type terminal struct {
	master, slave *os.File
	mu            sync.Mutex
	shown         bytes.Buffer
}

func openTerminal(t *testing.T) *terminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		t.Fatal(err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	if err := unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 24, Col: 80}); err != nil {
		t.Fatal(err)
	}
	term := &terminal{master: master, slave: slave}
	go func() {
		b := make([]byte, 4096)
		for {
			n, err := master.Read(b)
			if err != nil {
				return
			}
			term.mu.Lock()
			term.shown.Write(b[:n])
			term.mu.Unlock()
		}
	}()
	t.Cleanup(func() { slave.Close(); master.Close() })
	return term
}

// waitFor waits until a text was shown.
func (term *terminal) waitFor(t *testing.T, text string) {
	t.Helper()
	for range 500 {
		term.mu.Lock()
		found := strings.Contains(term.shown.String(), text)
		term.mu.Unlock()
		if found {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Fatalf("the terminal never showed %q", text)
}

func (term *terminal) modes(t *testing.T) unix.Termios {
	t.Helper()
	m, err := unix.IoctlGetTermios(int(term.slave.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *m
}

func TestTheTerminalIsRestoredHoweverTheScreenEnds(t *testing.T) {
	refused := errors.New("attaching programs: operation not permitted")
	fail := make(chan error, 1)
	for _, c := range []struct {
		name string
		end  func(*terminal, context.CancelFunc)
		want error
	}{
		{"q", func(term *terminal, _ context.CancelFunc) { term.master.WriteString("q") }, nil},
		{"Ctrl-C", func(term *terminal, _ context.CancelFunc) { term.master.WriteString("\x03") }, nil},
		{"the context", func(_ *terminal, cancel context.CancelFunc) { cancel() }, nil},
		{"a source that fails", func(*terminal, context.CancelFunc) { fail <- refused }, refused},
	} {
		t.Run(c.name, func(t *testing.T) {
			term := openTerminal(t)
			before := term.modes(t)
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
					Source: source, Interval: 20 * time.Millisecond, Input: term.slave, Output: term.slave,
				})
			}()
			term.waitFor(t, "192.0.2.2")
			if raw := term.modes(t); raw.Lflag&(unix.ICANON|unix.ECHO) != 0 {
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
			if after := term.modes(t); after != before {
				t.Errorf("terminal modes %+v, were %+v", after, before)
			}
			term.waitFor(t, "\x1b[?1049l") // leaves the alternate screen
			term.waitFor(t, "\x1b[?25h")   // shows the cursor
		})
	}
}

func TestOnlyATerminalGetsTheFullScreen(t *testing.T) {
	t.Setenv("TERM", "xterm-256color")
	file, err := os.CreateTemp(t.TempDir(), "table")
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	term := openTerminal(t)
	if !IsTerminal(term.slave) || IsTerminal(file) {
		t.Errorf("a terminal is %t, a file %t; want true and false", IsTerminal(term.slave), IsTerminal(file))
	}
	t.Setenv("TERM", "dumb")
	if IsTerminal(term.slave) {
		t.Error("a terminal that cannot move its cursor gets a full screen")
	}
}

package terminal

import (
	"fmt"
	"sync"
	"time"

	"github.com/charmbracelet/x/ansi"

	"airtide/internal/units"
)

// Control sequences of ECMA-48: erase the line; move to the top left and erase the rest.
const (
	eraseLine  = "\r\x1b[K"
	clearBelow = "\x1b[H\x1b[J"
)

// quiet is the time that work takes before Wait reports it, and interval the time between reports.
const (
	quiet    = 2 * time.Second
	interval = time.Second
)

// status is the line of Err that is replaced in place.
type status struct {
	mu    sync.Mutex
	shown bool
}

// SetStatus replaces the status line. It prints nothing unless the terminal is live.
func (t *Terminal) SetStatus(format string, values ...any) {
	if !t.Live {
		return
	}
	line := units.Printable(fmt.Sprintf(format, values...))
	if t.errWidth != nil {
		if width := t.errWidth(); width > 0 {
			line = ansi.Truncate(line, width-1, "…") // a wrapped line could not be erased
		}
	}
	t.status.mu.Lock()
	defer t.status.mu.Unlock()
	fmt.Fprint(t.control(), eraseLine+line)
	t.status.shown = true
}

// ClearStatus removes the status line.
func (t *Terminal) ClearStatus() {
	t.status.mu.Lock()
	defer t.status.mu.Unlock()
	t.clear()
}

func (t *Terminal) clear() {
	if t.status.shown {
		fmt.Fprint(t.control(), eraseLine)
		t.status.shown = false
	}
}

// Wait does work. Once 2 s have passed since begun, a live terminal shows the text each second.
// The text is asked for from another goroutine.
func (t *Terminal) Wait(begun time.Time, text func() string, work func() error) error {
	if !t.Live {
		return work()
	}
	done := make(chan struct{})
	stopped := make(chan struct{})
	go func() {
		defer close(stopped)
		next := time.NewTimer(max(quiet-time.Since(begun), 0))
		defer next.Stop()
		for {
			select {
			case <-done:
				t.ClearStatus()
				return
			case <-next.C:
				t.SetStatus("%s", text())
				next.Reset(interval)
			}
		}
	}()
	err := work()
	close(done)
	<-stopped
	return err
}

// WaitFor does work that is named and shows for how long it has been going on.
func (t *Terminal) WaitFor(name string, work func() error) error {
	begun := time.Now()
	text := func() string { return name + ": " + time.Since(begun).Truncate(time.Second).String() }
	return t.Wait(begun, text, work)
}

// Redraw prints a text in one piece. A screen is cleared first, so that the text replaces the
// text before.
func (t *Terminal) Redraw(text []byte) error {
	if t.Screen {
		text = append([]byte(clearBelow), units.PrintableText(string(text), t.Colour)...)
		_, err := t.Raw().Write(text)
		return err
	}
	return t.Print(text)
}

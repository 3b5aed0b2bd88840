package screen

import (
	"bytes"
	"context"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"

	"airtide/test/testnet"
)

// fiveSeconds is a player of a recording of three flows over five seconds.
func fiveSeconds(table *Table, speed float64) *Player {
	return NewPlayer(table, PlayerOptions{Scan: replay(false), EndNs: 5*second - stepNs, Wall: day, Speed: speed})
}

func TestAReplayInAPipeShowsEachIntervalOfTheRecording(t *testing.T) {
	show := func(speed float64, o Options) string {
		table := NewTable(TableOptions{})
		var out bytes.Buffer
		o.Player = fiveSeconds(table, speed)
		o.Output = &out
		if err := JSONLines(t.Context(), table, o); err != nil {
			t.Fatal(err)
		}
		return out.String()
	}
	text := show(0, Options{Interval: time.Second})
	if n := strings.Count(text, `"type":"status"`); n != 5 { // at 1, 2, 3, 4 s and at the end
		t.Errorf("%d rounds, want 5:\n%s", n, text)
	}
	if !strings.Contains(text, `"time_ns":3000000000`) {
		t.Errorf("no round at 3 s:\n%s", text)
	}
	if again := show(100, Options{Interval: time.Second}); again != text {
		t.Errorf("another speed changes the lines:\n%s\n%s", text, again)
	}
	if n := strings.Count(show(0, Options{Interval: time.Second, Once: true}), `"type":"status"`); n != 1 {
		t.Errorf("%d rounds with Once", n)
	}
}

func TestAReplayInAPipeBeginsLater(t *testing.T) {
	table := NewTable(TableOptions{})
	var out bytes.Buffer
	p := fiveSeconds(table, 0)
	p = NewPlayer(table, PlayerOptions{Scan: p.o.Scan, EndNs: p.o.EndNs, FromNs: 3 * second})
	if err := JSONLines(t.Context(), table, Options{Player: p, Output: &out, Events: true}); err != nil {
		t.Fatal(err)
	}
	if n := strings.Count(out.String(), `"type":"status"`); n != 2 {
		t.Errorf("%d rounds behind 3 s, want 2", n)
	}
	if strings.Contains(out.String(), `"time_ns":1`) || strings.Contains(out.String(), `"time_ns":2`) {
		t.Errorf("there are lines from before:\n%s", out.String())
	}
}

// settle waits until the source has delivered all that the clock has passed.
func settle(t *testing.T, table *Table, samples int64) {
	t.Helper()
	testnet.Eventually(t, time.Minute, fmt.Sprintf("%d samples", samples),
		func() bool { return table.Status(0).Samples == samples })
}

func TestSeekingDeliversTheSamplesUpToThePlace(t *testing.T) {
	table := NewTable(TableOptions{})
	p := fiveSeconds(table, 1)
	p.Pause()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- p.play(ctx, table) }()
	// The three flows have a sample in each step, also at the place itself.
	until := func(place time.Duration) int64 { return 3 * (int64(place)/stepNs + 1) }
	p.Seek(2 * time.Second)
	settle(t, table, until(2*time.Second))
	p.Step(100 * time.Millisecond)
	settle(t, table, until(2100*time.Millisecond))
	p.Seek(-1100 * time.Millisecond) // reads the recording again
	settle(t, table, until(time.Second))
	p.Seek(time.Hour)
	settle(t, table, 3*500)
	if s := p.State(); !s.Ended || s.Place != s.Length {
		t.Errorf("behind the end the state is %+v", s)
	}
	p.Seek(-time.Hour) // also from the end
	p.Seek(3 * time.Second)
	settle(t, table, until(3*time.Second))
	cancel()
	if err := <-ended; err != nil {
		t.Errorf("a cancelled replay ends with %v", err)
	}
}

func TestSpeedMovesTheClock(t *testing.T) {
	p := NewPlayer(NewTable(TableOptions{}), PlayerOptions{EndNs: 1e18, Wall: day, Speed: 1})
	p.change(func() {})
	for range 20 {
		p.Faster(2)
	}
	if s := p.State(); s.Speed != maxSpeed {
		t.Errorf("the speed is %g", s.Speed)
	}
	from, _ := p.Clock()
	testnet.Idle(t, 10*time.Millisecond, "the clock goes on")
	if ns, _ := p.Clock(); ns-from < maxSpeed*int64(10*time.Millisecond) {
		t.Errorf("the clock went on by %d ns", ns-from)
	}
	p.Pause()
	from, _ = p.Clock()
	if ns, _ := p.Clock(); ns != from {
		t.Error("a paused clock goes on")
	}
}

func TestTheScreenOfAReplayFitsEveryWidth(t *testing.T) {
	for _, width := range []int{30, 80, 100, 120, 200} {
		u := newUser(t, filled(t), width, 24)
		const paused = "PAUSED"
		place := func(seconds float64) string {
			if width < 80 {
				return "" // no room
			}
			return fmt.Sprintf("  %.1f of 5.0 s", seconds)
		}
		p := fiveSeconds(u.table, 1)
		u.m.o.Player = p
		u.m.o.Clock = p.Clock
		u.press(" ")
		u.expectSight("paused", paused+place(0), true)
		u.m.Update(tea.KeyPressMsg{Code: tea.KeyRight})
		u.expectSight("at the end", paused+place(5), true)
		u.press(",,")
		u.expectSight("two steps back", paused+place(4.8), true)
		u.press("+?")
		if width >= 120 {
			u.expectSight("the keys", "replay: twice as fast", true)
		}
		u.sees()
		u.press("?", "enter")
		u.sees()
	}
}

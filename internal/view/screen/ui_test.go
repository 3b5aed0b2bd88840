package screen

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	tea "charm.land/bubbletea/v2"
	"github.com/charmbracelet/x/ansi"

	"airtide/internal/tcp"
)

// user types at a screen whose clock advances only on request.
type user struct {
	t     *testing.T
	m     *ui
	table *Table
	nowNs int64
}

func newUser(t *testing.T, table *Table, width, height int) *user {
	u := &user{t: t, table: table, nowNs: 5 * second}
	clock := func() (int64, time.Time) { return u.nowNs, day.Add(time.Duration(u.nowNs)) }
	u.m = newUI(table, Options{Clock: clock}.complete(time.Second), true)
	u.m.glyphs = braille
	u.m.Update(tea.WindowSizeMsg{Width: width, Height: height})
	return u
}

var specialKeys = map[string]tea.Key{
	"enter": {Code: tea.KeyEnter}, "esc": {Code: tea.KeyEscape}, "up": {Code: tea.KeyUp}, "down": {Code: tea.KeyDown},
	"pgup": {
		Code: tea.KeyPgUp,
	}, "pgdown": {Code: tea.KeyPgDown}, "home": {Code: tea.KeyHome}, "end": {Code: tea.KeyEnd},
	"ctrl+c": {Code: 'c', Mod: tea.ModCtrl}, "backspace": {Code: tea.KeyBackspace},
}

// press types keys; a key that is not special is typed as text. It returns the last key's command.
func (u *user) press(keys ...string) (last tea.Cmd) {
	for _, k := range keys {
		if special, ok := specialKeys[k]; ok {
			_, last = u.m.Update(tea.KeyPressMsg(special))
			continue
		}
		for _, r := range k {
			_, last = u.m.Update(tea.KeyPressMsg{Code: r, Text: string(r)})
		}
	}
	return last
}

func (u *user) wait(ns int64) {
	u.nowNs += ns
	u.m.Update(tickMsg{})
}

// sees is the screen without colours. It must fill the terminal and not overflow it.
func (u *user) sees() []string {
	u.t.Helper()
	lines := strings.Split(u.m.View().Content, "\n")
	if len(lines) != u.m.height {
		u.t.Fatalf("%d lines on a screen of %d", len(lines), u.m.height)
	}
	for i, l := range lines {
		if w := ansi.StringWidth(l); w > u.m.width {
			u.t.Fatalf("line %d is %d cells wide on a screen of %d: %q", i, w, u.m.width, l)
		}
		lines[i] = ansi.Strip(l)
	}
	return lines
}

// processes are the first words of the table's rows.
func (u *user) processes() (list []string) {
	for _, l := range u.sees()[2 : u.m.height-1] {
		if f := strings.Fields(l); len(f) > 0 {
			list = append(list, strings.Split(f[0], "/")[0])
		}
	}
	return list
}

func (u *user) expect(what, got, want string) {
	u.t.Helper()
	if got != want {
		u.t.Errorf("%s: got %q, want %q", what, got, want)
	}
}

func (u *user) expectSight(what, text string, want bool) {
	u.t.Helper()
	screen := strings.Join(u.sees(), "\n")
	if strings.Contains(screen, text) != want {
		u.t.Errorf("%s: %q in sight is %t, want %t:\n%s", what, text, !want, want, screen)
	}
}

func joined(list []string) string { return strings.Join(list, " ") }

func TestTheKeysChangeTheOrder(t *testing.T) {
	u := newUser(t, filled(t), 80, 24)
	u.expect("by rate", joined(u.processes()), "nginx rsync sshd curl iperf3 chrome ?[31mevil")
	u.press("s")
	u.expect("by process", joined(u.processes()), "?[31mevil chrome curl iperf3 nginx rsync sshd")
	u.press("S")
	u.expect("by process, reversed", joined(u.processes()), "sshd rsync nginx iperf3 curl chrome ?[31mevil")
	u.press(">>>")
	u.expectSight("by cwnd", "sort CWND▼", true)
	u.expect("by cwnd", joined(u.processes()), "chrome rsync nginx sshd curl iperf3 ?[31mevil")
	u.press("<<<<")
	u.expectSight("back at the rate", "sort rate▼", true)
	u.press("<")
	u.expectSight("round the corner", "sort RECV b/s▼", true)
}

func TestTheFilterWorksWhileItIsTyped(t *testing.T) {
	u := newUser(t, filled(t), 80, 24)
	u.press("/", "NGI")
	u.expect("typing", joined(u.processes()), "nginx")
	u.expectSight("typing", "1 of 7 flows", true)
	u.press("backspace", "backspace", "backspace", "q")
	u.expect("q is a letter here", joined(u.processes()), "no")
	u.expectSight("nothing matches", "no flow matches the filter", true)
	u.press("esc")
	u.expect("esc clears", fmt.Sprint(len(u.processes())), "7")
	u.press("/", "192.0.2.3", "enter", "s")
	u.expect("keys work again", joined(u.processes()), "nginx")
	u.expectSight("the filter is shown", "filter 192.0.2.3", true)
	u.press("esc")
	u.expect("esc clears it here too", fmt.Sprint(len(u.processes())), "7")
	u.press("e")
	u.expect("idle flows hidden", joined(u.processes()), "curl iperf3 nginx rsync sshd")
}

func TestPauseStopsThePictureAndNotTheTable(t *testing.T) {
	table := filled(t)
	u := newUser(t, table, 80, 24)
	u.press("p")
	before := joined(u.sees())
	feed(t, table, sample(1, 6*second, map[tcp.Field]int64{tcp.CwndPackets: 77_777}))
	observe(t, table.Event(&tcp.Event{TimeNs: 6 * second, Flow: 1, Kind: tcp.EventZeroWindow}))
	u.wait(second)
	u.expect("paused", joined(u.sees()), before)
	u.expectSight("paused", "PAUSED", true)
	u.press("/", "iperf", "enter", "enter")
	u.expectSight("detail while paused", "zero window", false)
	u.expectSight("detail while paused", "77777", false)
	u.press("p")
	u.expectSight("going on, cwnd", "77777", true)
	u.expectSight("going on, events", "zero window", true)
}

func TestTheSelectionStaysWithItsFlow(t *testing.T) {
	u := newUser(t, filled(t), 80, 24)
	u.press("down", "j")
	selected := u.m.rows[u.m.cursor].Comm
	u.press("s")
	u.expect("after sorting", string(u.m.rows[u.m.cursor].Comm), string(selected))
	u.press("end")
	u.expect("end", fmt.Sprint(u.m.cursor), "6")
	u.press("down", "down")
	u.expect("below the end", fmt.Sprint(u.m.cursor), "6")
	u.press("home", "k")
	u.expect("above the top", fmt.Sprint(u.m.cursor), "0")
}

func TestTheDetailShowsOneConnectionWithChartsAndEvents(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {160, 45}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			u := newUser(t, filled(t), size[0], size[1])
			u.press("/", "sshd", "enter", "enter")
			golden(t, fmt.Sprintf("detail_%dx%d.txt", size[0], size[1]), strings.Join(u.sees(), "\n"))
		})
	}
	u := newUser(t, filled(t), 100, 40)
	u.press("enter")
	first := u.sees()[1]
	u.press("down")
	if u.sees()[1] == first {
		t.Error("down does not lead to the next connection")
	}
	u.press("z")
	u.expectSight("z", "last 60 s", true)
	u.press("z")
	u.expectSight("z again", "last 30 s", true)
	u.press("b")
	u.expectSight("blocks", "▄", true)
	u.press("q")
	u.expectSight("q goes back", "PROCESS", true)
}

func TestTheDetailOfAFlowThatLeavesKeepsItsLastState(t *testing.T) {
	u := newUser(t, filled(t), 80, 24)
	u.press("/", "curl", "enter", "enter")
	u.expectSight("closed", "closed: remote_fin", true)
	u.wait(10 * second)
	u.expectSight("gone from the table", "curl/1007", true)
	u.press("esc")
	u.expectSight("back", "no flow matches", true)
}

func TestLostRecordsAreNeverHidden(t *testing.T) {
	table := filled(t)
	table.SetSource(Source{Name: strings.Repeat("a source with a long name ", 10)})
	for width := 20; width < 120; width += 7 {
		u := newUser(t, table, width, 10)
		u.expectSight(fmt.Sprintf("width %d", width), "LOST 42", true)
		u.press("enter")
		u.expectSight(fmt.Sprintf("detail at width %d", width), "LOST 42", true)
	}
	red := "\x1b[1;31mLOST 42"
	if u := newUser(t, table, 80, 24); !strings.Contains(u.m.View().Content, red) {
		t.Error("lost records are not red")
	}
	u := newUser(t, table, 80, 24)
	u.m.styles = newStyles(false)
	for _, keys := range []string{"", "j", "enter", "b"} {
		u.press(keys)
		for _, colour := range []string{"\x1b[31m", ";31m", "\x1b[33m", ";33m", "\x1b[36m", "\x1b[35m"} {
			if strings.Contains(u.m.View().Content, colour) {
				t.Errorf("colour %q on a screen without colour", colour)
			}
		}
	}
}

func TestEverySizeIsFilledAndNotOverflown(t *testing.T) {
	u := newUser(t, filled(t), 80, 24)
	screens := map[string][]string{
		"table":  nil,
		"detail": {"enter"},
		"help":   {"esc", "?"},
		"filter": {"?", "/", "chrome"},
	}
	for _, name := range []string{"table", "detail", "help", "filter"} {
		u.press(screens[name]...)
		for _, width := range []int{1, 5, 20, 40, 79, 80, 81, 119, 120, 132, 160, 250} {
			for _, height := range []int{1, 2, 3, 5, 10, 24, 25, 45, 80} {
				u.m.Update(tea.WindowSizeMsg{Width: width, Height: height})
				u.sees()
			}
		}
	}
}

func TestOnlyTheRowsInSightAreDrawn(t *testing.T) {
	s := &synthetic{flows: 5000}
	table := NewTable(TableOptions{})
	observe(t, s.announce(table, 0))
	observe(t, s.step(table, 0))
	u := newUser(t, table, 80, 24)
	u.expect("rows", fmt.Sprint(len(u.processes())), "21")
	u.press("end")
	u.expect("rows at the end", fmt.Sprint(len(u.processes())), "21")
	if u.m.top != 5000-21 {
		t.Errorf("the first row in sight is %d, want %d", u.m.top, 5000-21)
	}
	if allocated := testing.AllocsPerRun(10, func() { u.m.View() }); allocated > 5000 {
		t.Errorf("a picture of 21 rows takes %.0f allocations: it grows with the number of flows", allocated)
	}
	u.press("pgup")
	u.expect("a page up", fmt.Sprint(u.m.cursor), fmt.Sprint(4999-21))
}

func TestQuittingAndTheEndOfTheSource(t *testing.T) {
	isQuit := func(cmd tea.Cmd) bool {
		if cmd == nil {
			return false
		}
		_, ok := cmd().(tea.QuitMsg)
		return ok
	}
	for _, keys := range [][]string{
		{"q"}, {"ctrl+c"}, {"enter", "ctrl+c"}, {"/", "ctrl+c"}, {"?", "q", "q"}, {"enter", "esc", "q"},
	} {
		if u := newUser(t, filled(t), 80, 24); !isQuit(u.press(keys...)) {
			t.Errorf("%v does not quit", keys)
		}
	}
	u := newUser(t, filled(t), 80, 24)
	if _, cmd := u.m.Update(endedMsg{errors.New("no")}); !isQuit(cmd) {
		t.Error("a source that fails does not end the screen")
	}
	if _, cmd := u.m.Update(endedMsg{}); cmd != nil {
		t.Error("a source that is through takes its last state from the screen")
	}
	u.expectSight("ended", "ENDED", true)
	u.press("?")
	u.expectSight("help", "REORD reordering", true)
}

func TestTheHelpIsWholeOnNarrowScreens(t *testing.T) {
	for _, width := range []int{30, 60, 80, 120} {
		u := newUser(t, filled(t), width, 60)
		u.press("?")
		text := strings.Join(strings.Fields(strings.Join(u.sees(), " ")), " ")
		for _, want := range []string{"RECVQ received, not read (bytes)", "RTO timeouts", "a value that is not known"} {
			if !strings.Contains(text, want) {
				t.Errorf("%d columns lack %q:\n%s", width, want, strings.Join(u.sees(), "\n"))
			}
		}
	}
	u := newUser(t, filled(t), 80, 24)
	u.press("?")
	u.expectSight("the help at 80x24", "a value that is not known", true)
}

//go:build kernel

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"airtide/test/need"
	"airtide/test/pty"
)

func TestMonitorOnATerminalShowsAConnectionAndGivesTheTerminalBack(t *testing.T) {
	need.Root(t)
	port := littleTraffic(t)
	term := pty.Open(t, 120, 40)
	before := term.Modes(t)
	cmd := airtide("monitor", "--port", fmt.Sprint(port))
	cmd.Env = append(cmd.Env, "TERM=xterm-256color")
	cmd.Dir = t.TempDir()
	term.Attach(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer cmd.Process.Kill() // should it not have ended
	term.WaitFor(t, fmt.Sprintf("127.0.0.1:%d", port))
	if raw := term.Modes(t); raw.Lflag&(unix.ICANON|unix.ECHO) != 0 {
		t.Error("the terminal is not in raw mode while the screen is up")
	}
	term.Press(t, "?")
	term.WaitFor(t, "back, clear the filter") // of the help
	term.Press(t, "?")
	term.Press(t, "r")
	term.WaitFor(t, "REC airtide-")
	term.Press(t, "q")
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("q ends it with %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("q does not end it")
	}
	files, err := filepath.Glob(filepath.Join(cmd.Dir, "airtide-*.atr"))
	if err != nil || len(files) != 1 {
		t.Fatalf("recordings %q, %v; want one", files, err)
	}
	if out, err := airtide("info", files[0]).CombinedOutput(); err != nil ||
		!strings.Contains(string(out), fmt.Sprint(port)) {
		t.Errorf("info of the recording: %v\n%s", err, out)
	}
	if after := term.Modes(t); after != before {
		t.Errorf("terminal modes %+v, were %+v", after, before)
	}
	term.WaitFor(t, "\x1b[?1049l") // leaves the alternate screen
	term.WaitFor(t, "\x1b[?25h")   // shows the cursor
}

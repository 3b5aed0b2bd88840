//go:build kernel

package main

import (
	"fmt"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"airtide/test/need"
)

func TestMonitorOnATerminalShowsAConnectionAndGivesTheTerminalBack(t *testing.T) {
	need.Root(t)
	port := littleTraffic(t)
	term := openTerminal(t)
	before := term.modes(t)
	cmd := airtide("monitor", "--port", fmt.Sprint(port))
	cmd.Env = append(cmd.Env, "TERM=xterm-256color")
	cmd.Dir = t.TempDir()
	cmd.Stdin, cmd.Stdout, cmd.Stderr = term.slave, term.slave, term.slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer cmd.Process.Kill() // should it not have ended
	term.waitFor(t, fmt.Sprintf("127.0.0.1:%d", port))
	if raw := term.modes(t); raw.Lflag&(unix.ICANON|unix.ECHO) != 0 {
		t.Error("the terminal is not in raw mode while the screen is up")
	}
	term.press(t, "?")
	term.waitFor(t, "back, clear the filter") // of the help
	term.press(t, "?")
	term.press(t, "r")
	term.waitFor(t, "REC airtide-")
	term.press(t, "q")
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
	if out, err := airtide("info", files[0]).CombinedOutput(); err != nil || !strings.Contains(string(out), fmt.Sprint(port)) {
		t.Errorf("info of the recording: %v\n%s", err, out)
	}
	if after := term.modes(t); after != before {
		t.Errorf("terminal modes %+v, were %+v", after, before)
	}
	term.waitFor(t, "\x1b[?1049l") // leaves the alternate screen
	term.waitFor(t, "\x1b[?25h")   // shows the cursor
}

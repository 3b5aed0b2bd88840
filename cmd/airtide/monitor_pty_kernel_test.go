//go:build kernel

package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"airtide/test/need"
)

// pseudoTerminal is a terminal that collects its output.
type pseudoTerminal struct {
	master, slave *os.File
	mu            sync.Mutex
	shown         bytes.Buffer
}

func openTerminal(t *testing.T) *pseudoTerminal {
	t.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { master.Close() })
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err == nil {
		err = unix.IoctlSetWinsize(int(master.Fd()), unix.TIOCSWINSZ, &unix.Winsize{Row: 40, Col: 120})
	}
	if err != nil {
		t.Fatalf("preparing a pseudo-terminal: %v", err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { slave.Close() })
	term := &pseudoTerminal{master: master, slave: slave}
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
	return term
}

func (term *pseudoTerminal) waitFor(t *testing.T, text string) {
	t.Helper()
	waitFor(t, fmt.Sprintf("the terminal to show %q", text), func() bool {
		term.mu.Lock()
		defer term.mu.Unlock()
		return strings.Contains(term.shown.String(), text)
	})
}

func (term *pseudoTerminal) press(t *testing.T, key string) {
	t.Helper()
	if _, err := term.master.WriteString(key); err != nil {
		t.Fatal(err)
	}
}

func (term *pseudoTerminal) modes(t *testing.T) unix.Termios {
	t.Helper()
	m, err := unix.IoctlGetTermios(int(term.slave.Fd()), unix.TCGETS)
	if err != nil {
		t.Fatal(err)
	}
	return *m
}

func TestMonitorOnATerminalShowsAConnectionAndGivesTheTerminalBack(t *testing.T) {
	need.Root(t)
	port := littleTraffic(t)
	term := openTerminal(t)
	before := term.modes(t)
	cmd := airtide("monitor", "--port", fmt.Sprint(port))
	cmd.Env = append(cmd.Env, "TERM=xterm-256color")
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
	term.press(t, "q")
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("q ends it with %v", err)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("q does not end it")
	}
	if after := term.modes(t); after != before {
		t.Errorf("terminal modes %+v, were %+v", after, before)
	}
	term.waitFor(t, "\x1b[?1049l") // leaves the alternate screen
	term.waitFor(t, "\x1b[?25h")   // shows the cursor
}

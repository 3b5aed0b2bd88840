package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"golang.org/x/sys/unix"
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

func (term *pseudoTerminal) resize(t *testing.T, columns, rows uint16) {
	t.Helper()
	size := unix.Winsize{Row: rows, Col: columns}
	if err := unix.IoctlSetWinsize(int(term.master.Fd()), unix.TIOCSWINSZ, &size); err != nil {
		t.Fatal(err)
	}
}

// Package pty gives tests a pseudo-terminal that collects its output.
package pty

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// patience is a generous guard for texts that are waited for.
const patience = time.Minute

// Terminal is a pseudo-terminal. Slave is the program's end; the test holds the other end.
type Terminal struct {
	Slave  *os.File
	master *os.File
	mu     sync.Mutex
	shown  bytes.Buffer
}

// Open makes a terminal of a size. It is closed at the end of the test.
func Open(tb testing.TB, columns, rows uint16) *Terminal {
	tb.Helper()
	master, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { master.Close() })
	n, err := unix.IoctlGetInt(int(master.Fd()), unix.TIOCGPTN)
	if err == nil {
		err = unix.IoctlSetPointerInt(int(master.Fd()), unix.TIOCSPTLCK, 0)
	}
	if err != nil {
		tb.Fatalf("preparing a pseudo-terminal: %v", err)
	}
	slave, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { slave.Close() })
	term := &Terminal{Slave: slave, master: master}
	term.Resize(tb, columns, rows)
	go term.collect()
	return term
}

func (term *Terminal) collect() {
	b := make([]byte, 4096)
	for {
		n, err := term.master.Read(b)
		if err != nil {
			return
		}
		term.mu.Lock()
		term.shown.Write(b[:n])
		term.mu.Unlock()
	}
}

// Attach makes the terminal the controlling terminal of a command that has not started, with all
// its streams.
func (term *Terminal) Attach(cmd *exec.Cmd) {
	cmd.Stdin = term.Slave
	cmd.Stdout = term.Slave
	cmd.Stderr = term.Slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
}

// Shown returns all output until now.
func (term *Terminal) Shown() string {
	term.mu.Lock()
	defer term.mu.Unlock()
	return term.shown.String()
}

// WaitFor waits until a text was shown.
func (term *Terminal) WaitFor(tb testing.TB, text string) {
	tb.Helper()
	for end := time.Now().Add(patience); !strings.Contains(term.Shown(), text); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			tb.Fatalf("the terminal does not show %q:\n%q", text, term.Shown())
		}
	}
}

// Finish waits for all output of programs that have ended and returns it, with plain ends of lines.
func (term *Terminal) Finish(tb testing.TB) string {
	tb.Helper()
	const end = "<end of the output>" // it follows all output through the terminal
	if _, err := term.Slave.WriteString(end); err != nil {
		tb.Fatal(err)
	}
	term.WaitFor(tb, end)
	shown, _, _ := strings.Cut(term.Shown(), end)
	return strings.ReplaceAll(shown, "\r\n", "\n")
}

// Press types keys.
func (term *Terminal) Press(tb testing.TB, keys string) {
	tb.Helper()
	if _, err := term.master.WriteString(keys); err != nil {
		tb.Fatal(err)
	}
}

// Modes returns the modes of the terminal.
func (term *Terminal) Modes(tb testing.TB) unix.Termios {
	tb.Helper()
	m, err := unix.IoctlGetTermios(int(term.Slave.Fd()), unix.TCGETS)
	if err != nil {
		tb.Fatal(err)
	}
	return *m
}

// Resize changes the size of the terminal.
func (term *Terminal) Resize(tb testing.TB, columns, rows uint16) {
	tb.Helper()
	size := unix.Winsize{Row: rows, Col: columns}
	if err := unix.IoctlSetWinsize(int(term.master.Fd()), unix.TIOCSWINSZ, &size); err != nil {
		tb.Fatal(err)
	}
}

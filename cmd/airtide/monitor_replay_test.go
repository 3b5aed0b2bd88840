package main

import (
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"airtide/test/pty"
)

// TestSignalsEndMonitorOnATerminal sends each signal as soon as the screen is up, when the program
// of the screen still starts its parts.
func TestSignalsEndMonitorOnATerminal(t *testing.T) {
	// Under nohup the test ignores SIGHUP, as its children would. A signal with a handler has its
	// default action in children.
	hangups := make(chan os.Signal, 1)
	signal.Notify(hangups, syscall.SIGHUP)
	defer signal.Stop(hangups)
	for _, args := range [][]string{{kernelRecording, "--speed", "0.001"}, {"--source", "diag"}} {
		for _, s := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM, syscall.SIGHUP} {
			for range 4 {
				signalEndsMonitor(t, s, args)
			}
		}
	}
}

func signalEndsMonitor(t *testing.T, s syscall.Signal, args []string) {
	t.Helper()
	term := pty.Open(t, 100, 24)
	before := term.Modes(t)
	cmd := airtide(append([]string{"monitor"}, args...)...)
	cmd.Env = append(cmd.Env, "TERM=xterm-256color")
	term.Attach(cmd)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	term.WaitFor(t, "\x1b[?1049h") // enters the alternate screen
	if err := cmd.Process.Signal(s); err != nil {
		t.Fatal(err)
	}
	select {
	case err := <-ended:
		if err != nil {
			t.Errorf("%s ends it with %v", s, err)
		}
	case <-time.After(20 * time.Second):
		_ = cmd.Process.Kill()
		<-ended
		t.Fatalf("%s does not end it", s)
	}
	if after := term.Modes(t); after != before {
		t.Errorf("%s: terminal modes %+v, were %+v", s, after, before)
	}
	term.WaitFor(t, "\x1b[?1049l") // leaves the alternate screen
}

func TestMonitorReplaysOnTerminalsOfEveryWidth(t *testing.T) {
	for _, width := range []uint16{30, 80, 120, 200} {
		for _, end := range []string{"q", "\x03"} {
			t.Run(fmt.Sprintf("%d columns, %q", width, end), func(t *testing.T) {
				term := pty.Open(t, width, 24)
				before := term.Modes(t)
				cmd := airtide("monitor", kernelRecording, "--speed", "0.001")
				cmd.Env = append(cmd.Env, "TERM=xterm-256color")
				term.Attach(cmd)
				if err := cmd.Start(); err != nil {
					t.Fatal(err)
				}
				ended := make(chan error, 1)
				go func() { ended <- cmd.Wait() }()
				defer cmd.Process.Kill() // should it not have ended
				term.WaitFor(t, "192.0.2.2:5201")
				if raw := term.Modes(t); raw.Lflag&(unix.ICANON|unix.ECHO) != 0 {
					t.Error("the terminal is not in raw mode while the screen is up")
				}
				term.Press(t, " ")
				term.WaitFor(t, "PAUSED")
				term.Press(t, end)
				select {
				case err := <-ended:
					if err != nil {
						t.Errorf("%q ends it with %v", end, err)
					}
				case <-time.After(time.Minute):
					t.Fatalf("%q does not end it", end)
				}
				if after := term.Modes(t); after != before {
					t.Errorf("terminal modes %+v, were %+v", after, before)
				}
				term.WaitFor(t, "\x1b[?1049l") // leaves the alternate screen
			})
		}
	}
}

package main

import (
	"bytes"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
)

// TestStopAndInterrupt presses Ctrl-Z, continues, and presses Ctrl-C.
func TestStopAndInterrupt(t *testing.T) {
	files := faultFiles(t)
	recorded := filepath.Join(t.TempDir(), "a.atr")
	written := func(string) bool {
		info, err := os.Stat(recorded)
		return err == nil && info.Size() > 0
	}
	for _, c := range []struct {
		args  []string
		ready func(output string) bool
	}{
		{[]string{"monitor", "--source", "diag", "--interval", "50ms"}, printed("PROCESS")},
		{[]string{"monitor", "{recording}", "--speed", "0.001", "--interval", "1ms"}, printed("PROCESS")},
		{[]string{"record", "--source", "diag", "-o", recorded}, written},
		{[]string{"share", "hub", "--key", "{key}", "--listen", freePort(t)}, printed("listening on 127.0.0.1:")},
	} {
		stopAndInterrupt(t, files(c.args), c.ready)
	}
}

// startVerb starts a verb. The channel is closed when it has ended.
func startVerb(t *testing.T, cmd *exec.Cmd) chan struct{} {
	t.Helper()
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan struct{})
	go func() {
		_ = cmd.Wait()
		close(ended)
	}()
	return ended
}

// TestOneInterruptEndsEveryVerb interrupts each verb while it works, or when it has waited for a
// while.
func TestOneInterruptEndsEveryVerb(t *testing.T) {
	files := faultFiles(t)
	eachVerb(t, func(t *testing.T, verb *cobra.Command, path []string, row faultRow) {
		if !verb.Runnable() {
			return
		}
		cmd := airtide(files(row.whole(path))...)
		cmd.Dir = t.TempDir()
		var output bytes.Buffer
		cmd.Stdout = &output
		cmd.Stderr = &output
		ended := startVerb(t, cmd)
		for began, working := time.Now(), false; !working && time.Since(began) < time.Second; {
			select {
			case <-ended:
				working = true
			case <-time.After(time.Millisecond):
				working = processorTicks(cmd.Process.Pid) > 2
			}
		}
		guard := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Process.Signal(syscall.SIGINT)
		<-ended
		by := cmd.ProcessState.Sys().(syscall.WaitStatus)
		atStart := by.Signaled() && by.Signal() == syscall.SIGINT
		if !guard.Stop() || !by.Exited() && !atStart || strings.Contains(output.String(), "goroutine ") {
			t.Errorf("it ends with %s: %.2000s", cmd.ProcessState, output.String())
		}
	})
}

// processorTicks is the processor time of a process until now, in ticks of 10 ms.
func processorTicks(pid int) (ticks int) {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	if fields := strings.Fields(rest); len(fields) > 12 {
		for _, field := range fields[11:13] { // user and system
			n, _ := strconv.Atoi(field)
			ticks += n
		}
	}
	return ticks
}

// printed waits for a text.
func printed(text string) func(string) bool {
	return func(output string) bool { return strings.Contains(output, text) }
}

// freePort is an address of this machine with a port that nothing uses.
func freePort(t *testing.T) string {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return c.LocalAddr().String()
}

// stopAndInterrupt stops airtide once it is ready, continues it and interrupts it. It expects
// status 0, because these verbs run until Ctrl-C.
func stopAndInterrupt(t *testing.T, args []string, ready func(output string) bool) {
	t.Helper()
	out, err := os.OpenFile(filepath.Join(t.TempDir(), "output"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	output := func() string {
		text, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	cmd := airtide(args...)
	cmd.Stdout = out
	cmd.Stderr = out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the kernel stops no orphaned group
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	guard := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	defer guard.Stop()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer cmd.Process.Kill() // should it not have ended
	stopped := func() bool {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
		_, state, _ := strings.Cut(string(stat), ") ")
		return strings.HasPrefix(state, "T")
	}
	send := func(s syscall.Signal) {
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatalf("airtide %q: %v\n%s", args, err, output())
		}
	}
	waitFor(t, fmt.Sprintf("airtide %q to run", args), func() bool { return ready(output()) })
	send(syscall.SIGTSTP)
	waitFor(t, "Ctrl-Z to stop it", stopped)
	send(syscall.SIGCONT)
	waitFor(t, "it to continue", func() bool { return !stopped() })
	send(syscall.SIGINT)
	err = <-ended
	wantClean(t, output())
	if err != nil || strings.Contains(output(), "interrupted") || strings.Contains(output(), "context canceled") {
		t.Errorf("airtide %q ends with %v:\n%s", args, err, output())
	}
}

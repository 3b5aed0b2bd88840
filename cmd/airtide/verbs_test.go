package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"

	"airtide/test/testnet"
)

// These tests run the real binary on real traffic, one story per verb and fault. They need root.

// self makes the test binary play airtide, or the application that is observed.
const self = "AIRTIDE_TEST_PLAYS"

func TestMain(m *testing.M) {
	switch os.Getenv(self) {
	case "airtide":
		main()
		return
	case "transfer":
		transfer()
		return
	case "airtide on an old kernel":
		onOldKernel()
		return
	case "crowd":
		crowd()
		return
	case "talk":
		talk(os.Args[1])
		return
	case "sleep":
		time.Sleep(time.Minute)
		return
	}
	testscript.Main(m, map[string]func(){"airtide": main})
}

// transfer moves some megabytes over a new loopback connection.
func transfer() {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		panic(err)
	}
	done := make(chan int64, 1)
	go func() {
		c, err := l.Accept()
		if err != nil {
			panic(err)
		}
		n, _ := io.Copy(io.Discard, c)
		done <- n
	}()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		panic(err)
	}
	chunk := make([]byte, 64<<10)
	ticks := time.NewTicker(5 * time.Millisecond)
	for range 200 {
		if _, err := c.Write(chunk); err != nil {
			panic(err)
		}
		<-ticks.C
	}
	c.Close()
	fmt.Println(<-done)
}

// airtide prepares a run of the binary.
func airtide(args ...string) *exec.Cmd {
	cmd := exec.Command("/proc/self/exe", args...)
	if exe, err := os.Executable(); err == nil {
		cmd.Path = exe
	}
	cmd.Env = append(os.Environ(), self+"=airtide")
	return cmd
}

// run runs airtide and returns its output and its exit status.
func run(t *testing.T, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	return runCmd(t, airtide(args...))
}

func runCmd(t *testing.T, cmd *exec.Cmd) (stdout, stderr string, status int) {
	t.Helper()
	var out, errOut bytes.Buffer
	cmd.Stdout = &out
	cmd.Stderr = &errOut
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatalf("running %v: %v", cmd.Args, err)
	}
	return out.String(), errOut.String(), cmd.ProcessState.ExitCode()
}

func mustRun(t *testing.T, args ...string) string {
	t.Helper()
	stdout, stderr, status := run(t, args...)
	if status != 0 {
		t.Fatalf("airtide %s: exit status %d\n%s%s", strings.Join(args, " "), status, stdout, stderr)
	}
	return stdout
}

func waitFor(t *testing.T, what string, ready func() bool) {
	t.Helper()
	testnet.Eventually(t, time.Minute, what, ready)
}

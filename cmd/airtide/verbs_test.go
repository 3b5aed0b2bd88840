package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/testscript"
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
	case "talk":
		talk(os.Args[1])
		return
	case "sleep":
		time.Sleep(time.Minute)
		return
	}
	testscript.Main(m, map[string]func(){"airtide": main})
}

// transfer moves some megabytes over a loopback connection of its own.
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
	for range 200 {
		if _, err := c.Write(chunk); err != nil {
			panic(err)
		}
		time.Sleep(5 * time.Millisecond)
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

// played is the command line that makes airtide record this binary in a role.
func played(role string) []string {
	exe, _ := os.Executable()
	return []string{"env", self + "=" + role, exe}
}

// run runs it and returns what it printed and its exit status.
func run(t *testing.T, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	return runCmd(t, airtide(args...))
}

func runCmd(t *testing.T, cmd *exec.Cmd) (stdout, stderr string, status int) {
	t.Helper()
	var out, errOut bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &errOut
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

func needRoot(t *testing.T) {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("needs root: BPF, namespaces and mounts")
	}
}

// recording makes a recording of one transfer.
func recording(t *testing.T, args ...string) string {
	t.Helper()
	needRoot(t)
	path := filepath.Join(t.TempDir(), "a.atr")
	mustRun(
		t,
		append(append([]string{"record", "-o", path}, args...), append([]string{"--"}, played("transfer")...)...)...)
	return path
}

type infoReport struct {
	Totals struct {
		Flows   int
		Samples int
	}
	Flows []struct {
		Process    string `json:"comm"`
		PID        uint32
		AckedBytes *int64 `json:"acked_bytes"`
	}
	Damage struct {
		CleanEnd     bool  `json:"clean_end"`
		SkippedBytes int64 `json:"skipped_bytes"`
	}
}

func info(t *testing.T, path string) (r infoReport) {
	t.Helper()
	if err := json.Unmarshal([]byte(mustRun(t, "info", "--json", path)), &r); err != nil {
		t.Fatalf("reading info: %v", err)
	}
	return r
}

const transferred = 200 * 64 << 10

func waitFor(t *testing.T, what string, ready func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if ready() {
			return
		}
	}
	t.Fatalf("waited in vain for %s", what)
}

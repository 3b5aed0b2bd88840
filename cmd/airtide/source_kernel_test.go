//go:build kernel

package main

import (
	"encoding/json"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"airtide/test/need"
)

func TestWithoutRootMonitorUsesDiagAndRefusesBPF(t *testing.T) {
	need.Root(t)
	dir := openDir(t)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	nobody := func(args ...string) (string, string, int) {
		cmd := airtide(args...)
		cmd.Dir = dir
		return runCmd(t, asNobody(cmd))
	}
	if _, stderr, status := nobody(
		"record", "--source", "bpf", "-d", "1s", "-o", filepath.Join(dir, "a.atr"),
	); status != statusFailed ||
		!strings.Contains(stderr, "root") ||
		!strings.Contains(stderr, "--source diag") {
		t.Errorf("bpf without root: status %d: %s", status, stderr)
	}
	stop := make(chan bool)
	go busyTraffic(stop)
	defer close(stop)
	path := filepath.Join(dir, "b.atr")
	_, stderr, status := nobody("record", "-d", "2s", "-o", path)
	if status != 0 || !strings.Contains(stderr, "polling every") {
		t.Errorf("auto without root: status %d: %s", status, stderr)
	}
	if r := info(t, path); r.Totals.Samples == 0 {
		t.Errorf("%+v", r)
	}
	if stdout, stderr, status := nobody("doctor"); status != 0 || !strings.Contains(stdout, "diag") {
		t.Errorf("doctor without root: status %d: %s%s", status, stdout, stderr)
	}
}

func TestMonitorInAPipeEndsWithItsReader(t *testing.T) {
	need.Root(t)
	stop := make(chan bool)
	go busyTraffic(stop)
	defer close(stop)
	table := mustRun(t, "monitor", "--once", "--interval", "700ms")
	if !strings.Contains(table, "127.0.0.1:") || !strings.Contains(table, "PROCESS") {
		t.Errorf("the plain table:\n%s", table)
	}
	lines := mustRun(t, "monitor", "--once", "--json", "--interval", "700ms", "--find", "127.0.0.1")
	flows := 0
	for line := range strings.Lines(lines) {
		var l struct {
			Type string
			Cwnd *int64 `json:"cwnd_packets"`
		}
		if err := json.Unmarshal([]byte(line), &l); err != nil {
			t.Fatalf("%v in %q", err, line)
		}
		if l.Type == "flow" && l.Cwnd != nil && *l.Cwnd > 0 {
			flows++
		}
	}
	if flows < 8 {
		t.Errorf("%d flows with a congestion window, want both ends of four connections:\n%s", flows, lines)
	}

	cmd := airtide("monitor", "--json", "--interval", "100ms")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := io.ReadFull(out, make([]byte, 100)); err != nil {
		t.Fatal(err)
	}
	out.Close()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		_ = cmd.Process.Kill()
		t.Error("monitor goes on although its reader has left")
	}
}

func TestMonitorShowsConnectionsThatAreIdle(t *testing.T) {
	need.Root(t)
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	c, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	out := mustRun(t, "monitor", "--once", "--source", "bpf", "--interval", "300ms", "--find", l.Addr().String())
	if !strings.Contains(out, c.LocalAddr().String()) && !strings.Contains(out, l.Addr().String()) {
		t.Errorf("an idle connection is not shown:\n%s", out)
	}
}

// withoutBTF runs a verb on a kernel without types: /sys/kernel/btf is covered in a separate mount
// namespace.
func withoutBTF(args ...string) *exec.Cmd {
	cmd := airtide(args...)
	covered := exec.Command(
		"sh",
		append([]string{"-c", `mount -t tmpfs none /sys/kernel/btf && exec "$@"`, "sh", cmd.Path}, cmd.Args[1:]...)...)
	covered.Env = cmd.Env
	covered.SysProcAttr = &syscall.SysProcAttr{Unshareflags: syscall.CLONE_NEWNS}
	return covered
}

func TestWithoutBTFMonitorUsesDiagOrAFileOfTypes(t *testing.T) {
	need.Root(t)
	dir := t.TempDir()
	types, err := os.ReadFile("/sys/kernel/btf/vmlinux")
	if err != nil {
		t.Skipf("needs a kernel with BTF to take it away: %v", err)
	}
	copied := filepath.Join(dir, "vmlinux.btf")
	if err := os.WriteFile(copied, types, 0o600); err != nil {
		t.Fatal(err)
	}
	stop := make(chan bool)
	go busyTraffic(stop)
	defer close(stop)
	path := filepath.Join(dir, "a.atr")
	_, stderr, status := runCmd(t, withoutBTF("record", "--source", "bpf", "-d", "1s", "-o", path))
	if status != 1 || !strings.Contains(stderr, "no BTF") || !strings.Contains(stderr, "--btf FILE") {
		t.Errorf("status %d: %s", status, stderr)
	}
	_, stderr, status = runCmd(t, withoutBTF("record", "-d", "1s", "-o", path))
	if status != 0 || !strings.Contains(stderr, "polling every") || !strings.Contains(stderr, "BTF") {
		t.Errorf("auto: status %d: %s", status, stderr)
	}
	_, stderr, status = runCmd(t,
		withoutBTF("record", "--source", "bpf", "--btf", copied, "-d", "1s", "--force", "-o", path))
	if status != 0 {
		t.Errorf("with the types in a file: status %d: %s", status, stderr)
	}
	if r := info(t, path); r.Totals.Samples == 0 {
		t.Errorf("%+v", r)
	}
}

//go:build kernel

package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/kernel/congestion"
	"airtide/test/need"
	"airtide/test/testnet"
)

// ccName is a name that no other test on this machine uses.
func ccName(prefix string) string { return fmt.Sprintf("%s%d", prefix, os.Getpid()) }

func isAvailable(t *testing.T, name string) bool {
	t.Helper()
	text, err := os.ReadFile("/proc/sys/net/ipv4/tcp_available_congestion_control")
	if err != nil {
		t.Fatal(err)
	}
	return strings.Contains(" "+strings.TrimSpace(string(text))+" ", " "+name+" ")
}

func TestCCIsPinnedListedAndUnloaded(t *testing.T) {
	need.Root(t)
	folder := t.TempDir()
	name := ccName("pin")
	t.Cleanup(func() { _ = unix.Unmount(folder, unix.MNT_DETACH) })
	out := mustRun(t, "cc", "load", "cubic_rtt", "--as", name, "--rtt-ref", "50ms", "--pin", "--bpffs", folder)
	if !strings.Contains(out, name+" is loaded") || !strings.Contains(out, "rtt-ref=50ms") {
		t.Errorf("load prints %q, want the name and its parameters", out)
	}
	var list struct {
		Loaded []congestion.Entry
		Others []string
	}
	if err := json.Unmarshal([]byte(mustRun(t, "cc", "list", "--json", "--bpffs", folder)), &list); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, e := range list.Loaded {
		if e.Name == name {
			found = e.Kind == congestion.CubicRTT && e.Parameters.RTTRefUs == 50_000 && strings.HasPrefix(e.Pin, folder)
		}
	}
	if !found || !strings.Contains(strings.Join(list.Others, " "), "cubic") {
		t.Errorf("listed are %+v, want %s with its pin, and cubic", list, name)
	}
	if out := mustRun(t, "cc", "list", "--bpffs", folder); !strings.Contains(out, name+" ") ||
		!strings.Contains(out, "rtt-ref=50ms") {
		t.Errorf("the list has no %s with its parameters:\n%s", name, out)
	}
	if out := mustRun(t, "__complete", "cc", "unload", "--bpffs", folder, ""); !strings.Contains(out, name) {
		t.Errorf("unload completes to %s, want %s among it", out, name)
	}
	if _, stderr, status := run(t, "cc", "load", "compound", "--as", name); status != statusFailed ||
		!strings.Contains(stderr, "in use") {
		t.Errorf("load of a name in use: status %d: %s", status, stderr)
	}
	if out := mustRun(t, "cc", "unload", name, "--bpffs", folder); !strings.Contains(out, "is unloaded") {
		t.Errorf("unload prints %q", out)
	}
	if isAvailable(t, name) {
		t.Errorf("%s is still available after unload", name)
	}
	if _, stderr, status := run(t, "cc", "unload", name, "--bpffs", folder); status != statusFailed ||
		!strings.Contains(stderr, "not loaded") {
		t.Errorf("a second unload: status %d: %s", status, stderr)
	}
}

func TestCCLastsAsLongAsTheCommand(t *testing.T) {
	need.Root(t)
	name := ccName("cmd")
	out, stderr, status := run(t, "cc", "load", "compound", "--as", name, "--", "sh", "-c",
		"cat /proc/sys/net/ipv4/tcp_available_congestion_control; exit 3")
	if status != 3 || !strings.Contains(out, name) {
		t.Errorf("status %d, want 3; printed %q, want %s; %q", status, out, name, stderr)
	}
	if _, _, status := run(
		t, "cc", "load", "compound", "--as", name, "--", "sh", "-c", "kill -KILL $$",
	); status != 128+9 {
		t.Errorf("status of a command that SIGKILL ends: got %d, want %d", status, 128+9)
	}
	testnet.Eventually(t, 10*time.Second, "the unload", func() bool { return !isAvailable(t, name) })
}

func TestAKilledCCLoaderLeavesNothing(t *testing.T) {
	need.Root(t)
	for _, signal := range []syscall.Signal{syscall.SIGKILL, syscall.SIGINT} {
		name := ccName("kill")
		loader := airtide("cc", "load", "cubic_bound", "--as", name, "--json")
		out, err := loader.StdoutPipe()
		if err != nil {
			t.Fatal(err)
		}
		if err := loader.Start(); err != nil {
			t.Fatal(err)
		}
		line, err := bufio.NewReader(out).ReadString('\n')
		var e congestion.Entry
		if err != nil || json.Unmarshal([]byte(line), &e) != nil || e.Name != name || len(e.Processes) != 1 {
			t.Errorf("load prints %q, %v, want %s and one process", line, err, name)
		}
		if !isAvailable(t, name) {
			t.Errorf("%s is not available", name)
		}
		_ = loader.Process.Signal(signal)
		_ = loader.Wait()
		testnet.Eventually(t, 10*time.Second, "the unload", func() bool { return !isAvailable(t, name) })
	}
}

func TestCCWithoutRoot(t *testing.T) {
	need.Root(t)
	for _, args := range [][]string{{"cc", "load", "compound"}, {"cc", "list"}} {
		cmd := airtide(args...)
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		cmd.Dir = "/"
		// The folder of the binary may be readable only by root.
		cmd.Path = "/proc/self/exe"
		_, stderr, status := runCmd(t, cmd)
		if status != statusFailed || !strings.Contains(stderr, "root") {
			t.Errorf("%v without root: status %d, want %d: %s", args, status, statusFailed, stderr)
		}
	}
}

//go:build kernel

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
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"airtide/internal/sys/clock"
	"airtide/test/need"
	"airtide/test/testnet"
)

func TestRecordedCommandIsSummedUpDrawnAndExported(t *testing.T) {
	for _, c := range []struct {
		source string
		flags  []string
		least  int64 // acknowledged bytes
	}{
		{"bpf", nil, transferred},
		// A polled value is up to 20 ms old at the end, and 200 ms if polls are late.
		{"diag", []string{"--poll", "20ms"}, transferred * 8 / 10},
	} {
		t.Run(c.source, func(t *testing.T) {
			path := recording(t, append(c.flags, "--source", c.source)...)
			r := info(t, path)
			// Both ends of the loopback connection belong to the command. No other flow does.
			if r.Totals.Flows != 2 || r.Totals.Samples < 10 || !r.Damage.CleanEnd {
				t.Fatalf("%+v", r)
			}
			var acked int64
			for _, f := range r.Flows {
				if f.AckedBytes != nil {
					acked += *f.AckedBytes
				}
			}
			if acked < c.least || acked > transferred+4 {
				t.Errorf("%d bytes were acknowledged, %d were sent", acked, transferred)
			}
			dir := t.TempDir()
			for _, kind := range []string{"cwnd", "rtt", "queues", "rates", "windows", "sequence", "overview"} {
				out := filepath.Join(dir, kind+".svg")
				mustRun(t, "plot", path, "--kind", kind, "-o", out)
				if b, err := os.ReadFile(out); err != nil || !bytes.Contains(b, []byte("time (s)")) {
					t.Errorf("figure %s: %v", kind, err)
				}
			}
			for _, format := range []string{"parquet", "csv", "jsonl", "perfetto"} {
				out := filepath.Join(dir, "out."+format)
				mustRun(t, "export", path, "--to", format, "-o", out)
				if st, err := os.Stat(out); err != nil || st.Size() < 500 {
					t.Errorf("export to %s: %v", format, err)
				}
			}
			_, stderr, status := run(t, "export", path, "--to", "csv", "-o", filepath.Join(dir, "out.csv"))
			if status != 1 || !strings.Contains(stderr, "exist") {
				t.Errorf("an existing output gives status %d: %s", status, stderr)
			}
		})
	}
}

func TestOutputThatExistsOrIsBeingWrittenIsNotTouched(t *testing.T) {
	path := recording(t)
	before, _ := os.ReadFile(path)
	if _, stderr, status := run(t, "record", "-o", path, "-d", "1s"); status != statusFailed ||
		!strings.Contains(stderr, path) {
		t.Errorf("an existing file gives status %d: %s", status, stderr)
	}
	if after, _ := os.ReadFile(path); !bytes.Equal(before, after) {
		t.Error("the existing recording has changed")
	}
	busy := filepath.Join(t.TempDir(), "busy.atr")
	first := airtide("record", "-o", busy, "-d", "30s")
	if err := first.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the recording to begin", func() bool { st, err := os.Stat(busy); return err == nil && st.Size() > 0 })
	_, stderr, status := run(t, "record", "-f", "-o", busy, "-d", "1s")
	if status != statusFailed || !strings.Contains(stderr, "another") {
		t.Errorf("a file that is being written gives status %d: %s", status, stderr)
	}
	_ = first.Process.Signal(os.Interrupt)
	if err := first.Wait(); err != nil {
		t.Errorf("Ctrl-C: %v", err)
	}
	if !info(t, busy).Damage.CleanEnd {
		t.Error("Ctrl-C did not end the recording cleanly")
	}
}

func TestAFullDiskEndsTheRecordingAndKeepsWhatWasWritten(t *testing.T) {
	need.Root(t)
	dir := t.TempDir()
	if err := syscall.Mount("tmpfs", dir, "tmpfs", 0, "size=64k"); err != nil {
		t.Fatalf("mounting a small tmpfs: %v", err)
	}
	t.Cleanup(func() { _ = syscall.Unmount(dir, syscall.MNT_DETACH) })
	path := filepath.Join(dir, "a.atr")
	stop := make(chan bool)
	go busyTraffic(stop)
	defer close(stop)
	_, stderr, status := run(t, "record", "-o", path, "-d", "20s")
	if status != statusFailed || strings.Count(stderr, "no space left") != 1 {
		t.Fatalf("status %d, want 1 and the error once: %s", status, stderr)
	}
	r := info(t, path)
	if r.Totals.Samples == 0 || r.Damage.SkippedBytes != 0 {
		t.Errorf("of the recording on a full disk this is left: %+v", r)
	}
	if sum := fmt.Sprintf(" %d samples, ", r.Totals.Samples); !strings.Contains(stderr, sum) {
		t.Errorf("the file has%s the sum says %s", sum, stderr)
	}
}

// busyTraffic keeps loopback connections talking until stop is closed.
func busyTraffic(stop chan bool) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return
	}
	defer l.Close()
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go func() { _, _ = io.Copy(c, c) }()
		}
	}()
	for range 4 {
		go func() {
			c, err := net.Dial("tcp", l.Addr().String())
			if err != nil {
				return
			}
			defer c.Close()
			b := make([]byte, 1000)
			for {
				if _, err := c.Write(b); err != nil {
					return
				}
				if _, err := io.ReadFull(c, b); err != nil {
					return
				}
				select {
				case <-stop:
					return
				default:
				}
			}
		}()
	}
	<-stop
}

func TestKillLosesAtMostTheLastSecondAndTheNextStartCleansUp(t *testing.T) {
	need.Root(t)
	for _, source := range []string{"bpf", "diag"} {
		t.Run(source, func(t *testing.T) { killRecording(t, source) })
	}
}

func killRecording(t *testing.T, source string) {
	t.Helper()
	// So little that no batch fills: only time writes it down.
	port := littleTraffic(t)
	path := filepath.Join(t.TempDir(), "a.atr")
	cmd := airtide(
		append(
			[]string{"record", "-a", "--source", source, "--port", fmt.Sprint(port), "-o", path, "--"},
			played("sleep")...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the recording to begin", func() bool { st, err := os.Stat(path); return err == nil && st.Size() > 0 })
	writtenAgain(t, path, 4)
	held := heldPrograms(t, cmd.Process.Pid)
	if source == "bpf" && len(held) < 5 {
		t.Fatalf("the recording holds the BPF programs %v, so this test shows nothing", held)
	}
	commands := childrenOf(t, cmd.Process.Pid)
	killed := clock.Now()
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	for _, pid := range commands {
		_ = syscall.Kill(pid, syscall.SIGKILL)
	}

	var r struct {
		Totals struct {
			EndNs   int64 `json:"end_ns"`
			Samples int
		}
	}
	if err := json.Unmarshal([]byte(mustRun(t, "info", "--json", path)), &r); err != nil {
		t.Fatal(err)
	}
	if lost := time.Duration(killed - r.Totals.EndNs); r.Totals.Samples == 0 || lost > time.Second {
		t.Errorf("%d samples, and the last %v are missing", r.Totals.Samples, lost)
	}
	waitFor(t, "the kernel to drop the programs of the killed process", func() bool {
		for _, id := range held {
			if exec.Command("bpftool", "prog", "show", "id", id).Run() == nil {
				return false
			}
		}
		return true
	})
}

// writtenAgain waits until a recording has been written down so many times more.
func writtenAgain(t *testing.T, path string, times int) {
	t.Helper()
	size := int64(-1)
	waitFor(t, "the recording to grow", func() bool {
		st, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if size >= 0 && st.Size() > size {
			times--
		}
		size = st.Size()
		return times == 0
	})
}

// childrenOf are the processes that a process has started.
func childrenOf(t *testing.T, pid int) (children []int) {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		list, _ := os.ReadFile(f) // the thread may have ended
		for _, field := range strings.Fields(string(list)) {
			if child, err := strconv.Atoi(field); err == nil {
				children = append(children, child)
			}
		}
	}
	return children
}

// littleTraffic sends a byte each few milliseconds over a connection, until the test ends, and
// returns its server's port.
func littleTraffic(t *testing.T) uint16 {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	from, err := net.Dial("tcp", l.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	to, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { from.Close(); to.Close() })
	go func() { _, _ = io.Copy(io.Discard, to) }()
	go func() {
		ticks := time.NewTicker(5 * time.Millisecond)
		defer ticks.Stop()
		for {
			if _, err := from.Write([]byte{0}); err != nil {
				return
			}
			<-ticks.C
		}
	}()
	return l.Addr().(*net.TCPAddr).AddrPort().Port()
}

func TestTheCgroupOfAKilledRecordingIsRemovedByTheNext(t *testing.T) {
	need.Root(t)
	path := filepath.Join(t.TempDir(), "a.atr")
	cmd := airtide(append([]string{"record", "-o", path, "--"}, played("transfer")...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	left := func() string { return cgroupsOf(t, func(pid int) bool { return pid == cmd.Process.Pid }) }
	waitFor(t, "the command's cgroup", func() bool { return left() != "" })
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	folder := left()
	waitFor(t, "the end of the command", func() bool {
		inside, err := os.ReadFile(filepath.Join(folder, "cgroup.procs"))
		return err != nil || len(inside) == 0
	})
	if left() == "" {
		t.Fatal("the killed recording left no cgroup, so this test shows nothing")
	}
	recording(t)
	if left := left(); left != "" {
		t.Errorf("cgroups left: %s", left)
	}
}

// cgroupsOf are the cgroups that recordings of some processes made, one in a line. Other tests may
// record at the same time.
func cgroupsOf(t *testing.T, of func(pid int) bool) string {
	t.Helper()
	out, err := exec.Command("find", "/sys/fs/cgroup", "-name", "airtide-record-*", "-type", "d").Output()
	// find fails if a folder vanishes meanwhile, and prints the others.
	if exit := (*exec.ExitError)(nil); err != nil && !errors.As(err, &exit) {
		t.Fatalf("looking for cgroups: %v", err)
	}
	return strings.Join(slices.DeleteFunc(strings.Fields(string(out)), func(path string) bool {
		pid, err := strconv.Atoi(path[strings.LastIndexByte(path, '-')+1:])
		return err != nil || !of(pid)
	}), "\n")
}

func hasEnded(pid int) bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) }

// heldPrograms are the ids of the BPF programs that a process holds.
func heldPrograms(t *testing.T, pid int) (ids []string) {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range files {
		info, err := os.ReadFile(f)
		if err != nil {
			continue // closed meanwhile
		}
		for line := range strings.Lines(string(info)) {
			if id, ok := strings.CutPrefix(line, "prog_id:"); ok {
				ids = append(ids, strings.TrimSpace(id))
			}
		}
	}
	return ids
}

func TestTwoRecordingsAtOnceDoNotDisturbEachOther(t *testing.T) {
	need.Root(t)
	dir := t.TempDir()
	results := make(chan string, 2)
	for _, name := range []string{"a.atr", "b.atr"} {
		path := filepath.Join(dir, name)
		cmd := airtide(append([]string{"record", "-o", path, "--"}, played("transfer")...)...)
		go func() {
			out, err := cmd.CombinedOutput()
			if err != nil {
				results <- fmt.Sprintf("%v: %s", err, out)
				return
			}
			results <- ""
		}()
	}
	for range 2 {
		if failed := <-results; failed != "" {
			t.Fatal(failed)
		}
	}
	for _, name := range []string{"a.atr", "b.atr"} {
		if r := info(t, filepath.Join(dir, name)); r.Totals.Flows != 2 {
			t.Errorf("%s has %d flows, want the two ends of its own command's connection", name, r.Totals.Flows)
		}
	}
}

func TestFailedCommandIsToldAndTheRecordingKept(t *testing.T) {
	need.Root(t)
	path := filepath.Join(t.TempDir(), "a.atr")
	if _, stderr, status := run(t, "record", "-o", path, "--", "false"); status != statusFailed ||
		!strings.Contains(stderr, "kept") {
		t.Errorf("status %d: %s", status, stderr)
	}
	if !info(t, path).Damage.CleanEnd {
		t.Error("the recording is not whole")
	}
	if _, stderr, status := run(t, "record", "-o", path+"2", "--", "/no/such/program"); status != statusFailed ||
		!strings.Contains(stderr, "/no/such/program") {
		t.Errorf("status %d: %s", status, stderr)
	}
	const killed = 128 + int(syscall.SIGKILL)
	if _, stderr, status := run(t, "record", "-o", path+"3", "--", "sh", "-c", "kill -KILL $$"); status != killed ||
		!strings.Contains(stderr, "signal: killed") {
		t.Errorf("a killed command: status %d, want %d: %s", status, killed, stderr)
	}
	if left := cgroupsOf(t, hasEnded); left != "" {
		t.Errorf("cgroups left: %s", left)
	}
}

// TestRecordInsideANamespace records as most experiments do: `ip netns exec` hides the mount of
// cgroup v2. Other connections of the namespace and of the machine are not recorded.
func TestRecordInsideANamespace(t *testing.T) {
	need.Root(t)
	n := testnet.New(t, testnet.Options{})
	n.Connect(testnet.Dial{})
	littleTraffic(t)
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(t.TempDir(), "a.atr")
	cmd := exec.Command("ip", append([]string{
		"netns", "exec", n.Client.Name, "env", self + "=airtide", exe, "record", "-o", path, "--",
	}, played("transfer")...)...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if r := info(t, path); r.Totals.Flows != 2 {
		t.Errorf("it recorded %d flows, want both ends of the command's connection", r.Totals.Flows)
	}
	// The process of ip becomes airtide's, and other tests may be recording.
	if left := cgroupsOf(t, func(pid int) bool { return pid == cmd.Process.Pid }); left != "" {
		t.Errorf("cgroups left: %s", left)
	}
}

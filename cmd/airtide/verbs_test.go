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
	"syscall"
	"testing"
	"time"

	"airtide/screen"
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
	case "sleep":
		time.Sleep(time.Minute)
		return
	}
	os.Exit(m.Run())
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
	mustRun(t, append(append([]string{"record", "-o", path}, args...), append([]string{"--"}, played("transfer")...)...)...)
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

func TestRecordedCommandIsSummedUpDrawnAndExported(t *testing.T) {
	for _, source := range []string{"bpf", "diag"} {
		t.Run(source, func(t *testing.T) {
			path := recording(t, "--source", source)
			r := info(t, path)
			// Both ends of the loopback connection belong to the command, and nothing else does.
			if r.Totals.Flows != 2 || r.Totals.Samples < 10 || !r.Damage.CleanEnd {
				t.Fatalf("%+v", r)
			}
			var acked int64
			for _, f := range r.Flows {
				if f.AckedBytes != nil {
					acked += *f.AckedBytes
				}
			}
			// What a poll finds is up to 100 ms old when the connection closes.
			if least := map[string]int64{"bpf": transferred, "diag": transferred * 8 / 10}[source]; acked < least || acked > transferred+4 {
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
			if _, stderr, status := run(t, "export", path, "--to", "csv", "-o", filepath.Join(dir, "out.csv")); status != 1 || !strings.Contains(stderr, "exist") {
				t.Errorf("an existing output gives status %d: %s", status, stderr)
			}
		})
	}
}

func TestMisuseEndsWithStatus2AndNamesThePlace(t *testing.T) {
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"nonsense"}, "nonsense"},
		{[]string{"record"}, "-o FILE"},
		{[]string{"record", "-o", "x.atr", "--port", "70000"}, "70000"},
		{[]string{"record", "-o", "x.atr", "--host", "no-address"}, "no-address"},
		{[]string{"record", "-o", "x.atr", "--density", "often"}, "often"},
		{[]string{"record", "-o", "x.atr", "--source", "magic"}, "magic"},
		{[]string{"record", "-o", "x.atr", "--netns", "no-such-name"}, "no-such-name"},
		{[]string{"record", "-o", "x.atr", "--cgroup", "/no/such/cgroup"}, "/no/such/cgroup"},
		{[]string{"record", "-o", "x.atr", "--process", "a-name-that-is-too-long"}, "a-name-that-is-too-long"},
		{[]string{"record", "-o", "x.atr", "--filter", "tcp"}, "filter"},
		{[]string{"record", "-o", "x.atr", "curl"}, "--"},
		{[]string{"record", "-o", "x.atr", "--buffer-mb", "0"}, "buffer-mb"},
		{[]string{"record", "-o", "x.atr", "--btf", "/no/such/file"}, "/no/such/file"},
		{[]string{"monitor", "--sort", "beauty"}, "beauty"},
		{[]string{"monitor", "--events"}, "--json"},
		{[]string{"info"}, "FILE"},
		{[]string{"plot", "a.atr"}, "-o"},
		{[]string{"plot", "a.atr", "-o", "a.gif"}, "gif"},
		{[]string{"plot", "a.atr", "-o", "a.png", "--kind", "pie"}, "pie"},
		{[]string{"export", "a.atr", "-o", "x"}, "--to"},
		{[]string{"export", "a.atr", "-o", "x", "--to", "word"}, "word"},
		{[]string{"export", "a.atr", "-o", "x", "--to", "csv", "--fields", "beauty"}, "beauty"},
	} {
		stdout, stderr, status := run(t, c.args...)
		if status != exitMisuse || !strings.Contains(stderr, c.want) || stdout != "" {
			t.Errorf("airtide %s: status %d, %q, %q", strings.Join(c.args, " "), status, stdout, stderr)
		}
		if strings.Count(stderr, "\n") > 2 {
			t.Errorf("airtide %s says more than the error and a hint:\n%s", strings.Join(c.args, " "), stderr)
		}
	}
	if _, err := os.Stat("x.atr"); err == nil {
		t.Error("misuse left a file")
	}
}

func TestFilesThatAreNoRecordings(t *testing.T) {
	dir := t.TempDir()
	for name, content := range map[string]string{
		"empty": "", "text": "this is a letter to the editor\n", "pcap": "\xd4\xc3\xb2\xa1\x02\x00\x04\x00" + strings.Repeat("\x00", 100),
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{
			{"info", path}, {"plot", path, "-o", filepath.Join(dir, "x.png")}, {"export", path, "--to", "csv", "-o", filepath.Join(dir, "x.csv")},
		} {
			_, stderr, status := run(t, args...)
			if status != exitFailed || !strings.Contains(stderr, path) || strings.Count(stderr, "\n") != 1 {
				t.Errorf("airtide %s: status %d: %s", strings.Join(args, " "), status, stderr)
			}
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "x*")); len(left) > 0 {
		t.Errorf("failed verbs left %v", left)
	}
}

func TestDamagedRecordingIsReadAsFarAsItGoes(t *testing.T) {
	needRoot(t)
	stop := make(chan bool)
	go busyTraffic(stop)
	defer close(stop)
	path := filepath.Join(t.TempDir(), "a.atr")
	mustRun(t, "record", "-o", path, "-d", "4s")
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := info(t, path).Totals.Samples

	cut := filepath.Join(t.TempDir(), "cut.atr")
	if err := os.WriteFile(cut, whole[:len(whole)*2/3], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr, status := run(t, "info", cut); status != 0 || !strings.Contains(stderr, "cut off") {
		t.Errorf("a cut file gives status %d: %s", status, stderr)
	}
	if r := info(t, cut); r.Totals.Samples == 0 || r.Totals.Samples >= all || r.Damage.CleanEnd {
		t.Errorf("of %d samples the cut file has %d", all, r.Totals.Samples)
	}
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 0x10
	bad := filepath.Join(t.TempDir(), "bad.atr")
	if err := os.WriteFile(bad, flipped, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := info(t, bad); r.Totals.Samples == 0 || r.Totals.Samples >= all || r.Damage.SkippedBytes == 0 {
		t.Errorf("of %d samples the file with a flipped bit has %d, %d bytes skipped", all, r.Totals.Samples, r.Damage.SkippedBytes)
	}
}

func TestOutputThatExistsOrIsBeingWrittenIsNotTouched(t *testing.T) {
	path := recording(t)
	before, _ := os.ReadFile(path)
	if _, stderr, status := run(t, "record", "-o", path, "-d", "1s"); status != exitFailed || !strings.Contains(stderr, path) {
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
	if status != exitFailed || !strings.Contains(stderr, "another") {
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

func waitFor(t *testing.T, what string, ready func() bool) {
	t.Helper()
	for end := time.Now().Add(20 * time.Second); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if ready() {
			return
		}
	}
	t.Fatalf("waited in vain for %s", what)
}

func TestAFullDiskEndsTheRecordingAndKeepsWhatWasWritten(t *testing.T) {
	needRoot(t)
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
	if status != exitFailed || !strings.Contains(stderr, "no space left") {
		t.Fatalf("status %d: %s", status, stderr)
	}
	if r := info(t, path); r.Totals.Samples == 0 || r.Damage.SkippedBytes != 0 {
		t.Errorf("of the recording on a full disk this is left: %+v", r)
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
	needRoot(t)
	stop := make(chan bool)
	go busyTraffic(stop)
	defer close(stop)
	path := filepath.Join(t.TempDir(), "a.atr")
	cmd := airtide(append([]string{"record", "-a", "-o", path, "--"}, played("sleep")...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the recording to begin", func() bool { st, err := os.Stat(path); return err == nil && st.Size() > 20_000 })
	time.Sleep(2500 * time.Millisecond)
	held := heldPrograms(t, cmd.Process.Pid)
	if len(held) < 5 {
		t.Fatalf("the recording holds the BPF programs %v, so this test shows nothing", held)
	}
	killed := monotonic()
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	_ = exec.Command("pkill", "-f", self+"=sleep").Run()

	var r struct {
		Totals struct {
			EndNs   int64 `json:"end_ns"`
			Samples int
		}
	}
	if err := json.Unmarshal([]byte(mustRun(t, "info", "--json", path)), &r); err != nil {
		t.Fatal(err)
	}
	if lost := time.Duration(killed - r.Totals.EndNs); r.Totals.Samples == 0 || lost > 1300*time.Millisecond {
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

func TestTheCgroupOfAKilledRecordingIsRemovedByTheNext(t *testing.T) {
	needRoot(t)
	path := filepath.Join(t.TempDir(), "a.atr")
	cmd := airtide(append([]string{"record", "-o", path, "--"}, played("transfer")...)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	waitFor(t, "the command's cgroup", func() bool { return cgroupsLeft(t) != "" })
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	time.Sleep(2 * time.Second) // the transfer itself ends
	if cgroupsLeft(t) == "" {
		t.Fatal("the killed recording left no cgroup, so this test shows nothing")
	}
	recording(t)
	if left := cgroupsLeft(t); left != "" {
		t.Errorf("cgroups left: %s", left)
	}
}

func cgroupsLeft(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("find", "/sys/fs/cgroup", "-name", "airtide-record-*", "-type", "d").Output()
	if err != nil {
		t.Fatalf("looking for cgroups: %v", err)
	}
	return strings.TrimSpace(string(out))
}

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
	needRoot(t)
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
	needRoot(t)
	path := filepath.Join(t.TempDir(), "a.atr")
	if _, stderr, status := run(t, "record", "-o", path, "--", "false"); status != exitFailed || !strings.Contains(stderr, "kept") {
		t.Errorf("status %d: %s", status, stderr)
	}
	if !info(t, path).Damage.CleanEnd {
		t.Error("the recording is not whole")
	}
	if _, stderr, status := run(t, "record", "-o", path+"2", "--", "/no/such/program"); status != exitFailed || !strings.Contains(stderr, "/no/such/program") {
		t.Errorf("status %d: %s", status, stderr)
	}
	if left := cgroupsLeft(t); left != "" {
		t.Errorf("cgroups left: %s", left)
	}
}

// asNobody makes the command run without privileges.
func asNobody(cmd *exec.Cmd) *exec.Cmd {
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	return cmd
}

// openBinary puts a copy of the test binary where everybody may run it.
func openBinary(t *testing.T) (binary, dir string) {
	t.Helper()
	dir, err := os.MkdirTemp("", "airtide-nobody-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(exe)
	if err != nil {
		t.Fatal(err)
	}
	binary = filepath.Join(dir, "airtide")
	if err := os.WriteFile(binary, b, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	return binary, dir
}

func TestWithoutRootTheDiagSourceServesAndBPFIsRefusedClearly(t *testing.T) {
	needRoot(t)
	binary, dir := openBinary(t)
	nobody := func(args ...string) (string, string, int) {
		cmd := airtide(args...)
		cmd.Path, cmd.Dir = binary, dir
		return runCmd(t, asNobody(cmd))
	}
	if _, stderr, status := nobody("record", "--source", "bpf", "-d", "1s", "-o", filepath.Join(dir, "a.atr")); status != exitFailed ||
		!strings.Contains(stderr, "root") || !strings.Contains(stderr, "--source diag") {
		t.Errorf("bpf without root: status %d: %s", status, stderr)
	}
	stop := make(chan bool)
	go busyTraffic(stop)
	defer close(stop)
	path := filepath.Join(dir, "b.atr")
	_, stderr, status := nobody("record", "-d", "2s", "-o", path)
	if status != 0 || !strings.Contains(stderr, "taking diag") {
		t.Errorf("auto without root: status %d: %s", status, stderr)
	}
	if r := info(t, path); r.Totals.Samples == 0 {
		t.Errorf("%+v", r)
	}
	if stdout, stderr, status := nobody("doctor"); status != 0 || !strings.Contains(stdout, "diag") {
		t.Errorf("doctor without root: status %d: %s%s", status, stdout, stderr)
	}
}

func TestMonitorPrintsOnceAndLinesAndEndsWithItsReader(t *testing.T) {
	needRoot(t)
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
	needRoot(t)
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

func TestDoctorAsJSON(t *testing.T) {
	var r struct {
		Usable bool
		Checks []struct{ Name, Status string }
	}
	if err := json.Unmarshal([]byte(mustRun(t, "doctor", "--json")), &r); err != nil || !r.Usable || len(r.Checks) < 20 {
		t.Errorf("%v: %+v", err, r)
	}
}

func TestHelpOfEachVerbHasExamples(t *testing.T) {
	for _, verb := range []string{"doctor", "monitor", "record", "info", "export", "plot"} {
		if out := mustRun(t, verb, "--help"); !strings.Contains(out, "Examples:") || !strings.Contains(out, "airtide "+verb) {
			t.Errorf("airtide %s --help has no examples", verb)
		}
	}
	for _, shell := range []string{"bash", "zsh", "fish"} {
		if out := mustRun(t, "completion", shell); len(out) < 500 {
			t.Errorf("completion for %s: %q", shell, out)
		}
	}
	if out := mustRun(t, "__complete", "plot", "x.atr", "--kind", ""); !strings.Contains(out, "cwnd") {
		t.Errorf("--kind does not complete: %s", out)
	}
}

func monotonic() int64 {
	ns, _ := screen.SystemClock()
	return ns
}

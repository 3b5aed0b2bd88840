//go:build kernel

package main

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"airtide/internal/sys/clock"
	"airtide/test/need"
)

func TestStopAndInterruptOfVerbsThatChangeTheKernel(t *testing.T) {
	need.Root(t)
	files := faultFiles(t)
	observing := []string{
		"share", "run", "--key", "{key}", "--interface", "lo", "--port", "47471", "--policy", "observe",
	}
	for _, c := range []struct {
		args  []string
		ready string
	}{
		{[]string{"tune", "--port", "47471", "--cwnd-max", "10"}, "Ctrl-C restores everything"},
		{[]string{"cc", "load", "cubic_rtt", "--as", "faults_rtt"}, "faults_rtt"},
		{[]string{"cell", "run", "{experiment}"}, "ip netns exec"},
		{observing, "windows are not bounded"},
	} {
		stopAndInterrupt(t, files(c.args), printed(c.ready))
	}
}

func TestADeviceStaysIfItCannotBeWritten(t *testing.T) {
	need.Root(t)
	full := filepath.Join(t.TempDir(), "full")
	if err := unix.Mknod(full, unix.S_IFCHR|0o666, int(unix.Mkdev(1, 7))); err != nil {
		t.Fatal(err)
	}
	_, stderr, status := run(t, "plot", kernelRecording, "-o", full, "--format", "png", "--force")
	if status != statusFailed || !strings.Contains(stderr, "no space left") {
		t.Errorf("status %d: %s", status, stderr)
	}
	if _, err := os.Lstat(full); err != nil {
		t.Error(err)
	}
}

func TestStopAndInterruptOfAWatchedAgent(t *testing.T) {
	need.Root(t)
	agent := airtide(faultFiles(t)([]string{
		"share", "run", "--key", "{key}", "--interface", "lo", "--port", "47472", "--policy", "observe",
	})...)
	if err := agent.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() {
		_ = agent.Process.Signal(os.Interrupt)
		_ = agent.Wait()
	}()
	shows := func() bool {
		stdout, _, _ := run(t, "share", "status", "--json")
		return strings.Contains(stdout, fmt.Sprintf(`"pid":%d,`, agent.Process.Pid))
	}
	waitFor(t, "the agent to answer", shows)
	stopAndInterrupt(t, []string{"share", "status", "--watch", "--interval", "100ms"}, printed("policy observe"))
}

// TestOutputsOfRootAreClosedOrFull runs the verbs that need root, end by themselves and only read.
func TestOutputsOfRootAreClosedOrFull(t *testing.T) {
	need.Root(t)
	for _, args := range [][]string{
		{"cc", "list"},
		{"cc", "list", "--json"},
		{"tune", "show"},
		{"tune", "show", "--json"},
	} {
		wantQuietEnd(t, args)
	}
}

// TestNoSpaceIsLeft runs the verbs that write files in a file system of one page that is full.
func TestNoSpaceIsLeft(t *testing.T) {
	need.Root(t)
	need.Lab(t)
	files := faultFiles(t)
	full := t.TempDir()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"record", "--source", "diag", "-d", "100ms", "-o", "{full}/a.atr"},
		{"plot", "{recording}", "--flow", "3", "-o", "{full}/a.svg"},
		{"plot", "{recording}", "--grid", "-o", "{full}/a.png"},
		{"export", "{recording}", "--to", "csv", "-o", "{full}/a.csv"},
		{"export", "{recording}", "--to", "jsonl", "-o", "{full}/a.jsonl"},
		{"export", "{recording}", "--to", "parquet", "-o", "{full}/a.parquet"},
		{"export", "{recording}", "--to", "perfetto", "-o", "{full}/a.perfetto"},
		{"packets", "plot", "{capture}", "--connection", "1", "-k", "packets", "-o", "{full}/a.svg"},
		{"share", "key", "-o", "{full}/cell.key"},
		{"lab", "run", "{experiment}", "--results", "{full}"},
	} {
		args = files(args)
		for i, arg := range args {
			args[i] = strings.ReplaceAll(arg, "{full}", full)
		}
		// The mount is seen by this command alone.
		const script = `mount -t tmpfs -o size=4k none "$0" && { cat /dev/zero >"$0/filler" 2>/dev/null; "$@"; } ` +
			`&& status=0 || status=$?; ls -A "$0"; exit $status`
		cmd := exec.Command(need.Tool(t, "unshare"), append([]string{"-m", "sh", "-c", script, full, exe}, args...)...)
		cmd.Env = append(os.Environ(), self+"=airtide")
		left := "filler\n"
		if args[0] == "lab" {
			left += "quickstart\n" // the result, which lab resume continues
		}
		stdout, stderr, status := runCmd(t, cmd)
		wantClean(t, stdout, stderr)
		if status != statusFailed || strings.Count(stderr, "\n") != 1 ||
			!strings.Contains(stderr, "no space left on device") || stdout != left {
			t.Errorf("airtide %q: status %d, %q; left are %q", args, status, stderr, stdout)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(full, "*")); len(left) > 0 {
		t.Errorf("beside the mount are %q", left)
	}
}

// TestFewDescriptors records with fewer open files than BPF needs.
func TestFewDescriptors(t *testing.T) {
	need.Root(t)
	program := built(t)
	for _, limit := range []int{10, 20, 30, 60} { // Go itself needs 9
		path := filepath.Join(t.TempDir(), "a.atr")
		for _, source := range []string{"auto", "bpf"} {
			cmd := exec.Command("sh", "-c", fmt.Sprintf(`ulimit -n %d && exec "$0" "$@"`, limit), program, "record",
				"--source", source, "-d", "100ms", "-f", "-o", path)
			_, stderr, status := runCmd(t, cmd)
			wantClean(t, stderr)
			if strings.Contains(stderr, "goroutine ") || status != 0 && status != statusFailed {
				t.Fatalf("%d open files: status %d: %s", limit, status, stderr)
			}
			if (status != 0 || strings.Contains(stderr, "BPF is not available")) &&
				!strings.Contains(stderr, "open files") {
				t.Errorf("%d open files, %s: the limit is not named: %s", limit, source, stderr)
			}
			if status == 0 {
				mustRun(t, "info", path)
			}
		}
	}
}

// TestNoMemoryForMaps maps rings that are larger than the memory that the process may use.
func TestNoMemoryForMaps(t *testing.T) {
	need.Root(t)
	cmd := exec.Command("sh", "-c", `ulimit -v 2000000 && exec "$0" "$@"`, built(t), "record", "--source", "bpf",
		"--buffer-mb", "1024", "-d", "100ms", "-o", filepath.Join(t.TempDir(), "a.atr"))
	_, stderr, status := runCmd(t, cmd)
	if status != statusFailed || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "smaller --max-flows") {
		t.Errorf("status %d: %s", status, stderr)
	}
}

// withoutProc runs airtide where /proc is empty.
func withoutProc(t *testing.T, program string, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	empty := []string{"-m", "sh", "-c", `mount -t tmpfs none /proc && exec "$0" "$@"`, program}
	return runCmd(t, exec.Command("unshare", append(empty, args...)...))
}

// TestHiddenProc records without /proc, and as a user from whom /proc hides the processes of
// others.
func TestHiddenProc(t *testing.T) {
	need.Root(t)
	program := built(t)
	path := filepath.Join(openDir(t), "a.atr")
	for _, source := range []string{"bpf", "diag"} {
		_, stderr, status := withoutProc(t, program, "record", "--source", source, "-d", "100ms", "-o", path)
		wantClean(t, stderr)
		if status != statusFailed || strings.Count(stderr, "\n") != 1 || !strings.Contains(stderr, "/proc") {
			t.Errorf("%s without /proc: status %d: %s", source, status, stderr)
		}
		if _, err := os.Stat(path); err == nil {
			t.Errorf("%s without /proc leaves a file", source)
		}
		stop := make(chan bool)
		go busyTraffic(stop)
		cmd := exec.Command("unshare", "-m", "sh", "-c", `mount -t proc -o hidepid=2 proc /proc && exec "$0" "$@"`,
			program, "record", "--source", source, "-d", "1s", "-f", "-o", path)
		_, stderr, status = runCmd(t, cmd)
		close(stop)
		if status != 0 {
			t.Errorf("%s, hidepid: status %d: %s", source, status, stderr)
		}
		if err := os.Remove(path); err != nil {
			t.Error(err)
		}
	}
}

// The loader fails before the verifier sees a program.
func TestCCWithoutProc(t *testing.T) {
	need.Root(t)
	_, stderr, status := withoutProc(t, built(t), "cc", "load", "cubic_rtt", "--as", ccName("proc"), "--", "true")
	wantClean(t, stderr)
	oneLine := strings.Count(stderr, "\n") == 1
	named := strings.Contains(stderr, "/proc/self/mountinfo") && !strings.Contains(stderr, "verifier")
	if status != statusFailed || !oneLine || !named {
		t.Errorf("status %d: %s", status, stderr)
	}
}

// TestATimeNamespace records where the clock of the process is another than that of the kernel.
func TestATimeNamespace(t *testing.T) {
	need.Root(t)
	if _, err := os.Stat("/proc/self/timens_offsets"); err != nil {
		t.Skip("this kernel has no time namespaces")
	}
	program := built(t)
	stop := make(chan bool)
	go busyTraffic(stop)
	defer close(stop)
	for _, source := range []string{"bpf", "diag"} {
		path := filepath.Join(t.TempDir(), "a.atr")
		cmd := exec.Command("unshare", "-T", "--monotonic", "100000", "--boottime", "200000", program, "record",
			"--source", source, "-d", "1s", "-o", path)
		if _, stderr, status := runCmd(t, cmd); status != 0 {
			t.Fatalf("%s: status %d: %s", source, status, stderr)
		}
		var report struct {
			Recording struct {
				MonotonicNs int64 `json:"clock_monotonic_ns"`
				BootNs      int64 `json:"clock_boot_ns"`
			}
			Totals struct {
				Samples int
				StartNs int64 `json:"start_ns"`
			}
		}
		if err := json.Unmarshal([]byte(mustRun(t, "info", "--json", path)), &report); err != nil {
			t.Fatal(err)
		}
		const minute = int64(time.Minute)
		r := report.Recording
		if ago := r.MonotonicNs - report.Totals.StartNs; ago > minute || ago < -minute || report.Totals.Samples == 0 {
			t.Errorf("%s: the first of %d samples is %s before the clocks", source, report.Totals.Samples,
				time.Duration(ago))
		}
		if here := clock.Now(); r.MonotonicNs < here-minute || r.MonotonicNs > here {
			t.Errorf("%s: the clock is %d, outside of the namespace it is %d", source, r.MonotonicNs, here)
		}
		if d := r.BootNs - r.MonotonicNs - clock.BootAhead(); d > minute || d < -minute {
			t.Errorf("%s: the host has slept for another %s", source, time.Duration(d))
		}
	}
}

// TestAReadOnlyRun runs every verb where /run can only be read. It works, or one line names the
// folder. A verb that fails for another reason says what it says elsewhere. Nothing stays pinned,
// and one that fails leaves no file.
func TestAReadOnlyRun(t *testing.T) {
	need.Root(t)
	files := faultFiles(t)
	program := built(t)
	pins := t.TempDir()
	if err := unix.Mount("none", pins, "bpf", 0, ""); err != nil {
		t.Fatal(err)
	}
	defer unix.Unmount(pins, 0)
	// The storage of all tunes stays, and each tune uses it again.
	pinned := func() []string {
		return slices.DeleteFunc(namesBelow(t, pins), func(path string) bool {
			return path == filepath.Join(pins, "airtide/tune/sockets")
		})
	}
	empty := pinned()
	const (
		script   = `mount -t tmpfs -o ro none /run && mount --bind "$1" /sys/fs/bpf && shift && exec "$0" "$@"`
		readOnly = ": read-only file system\n"
	)
	named := map[string]string{} // what verbs say that name the folder
	eachVerb(t, func(t *testing.T, verb *cobra.Command, path []string, row faultRow) {
		if !verb.Runnable() {
			return
		}
		args := files(row.whole(path))
		args = slices.DeleteFunc(args, func(arg string) bool { return arg == "--dry-run" })
		cmd := exec.Command("unshare", append([]string{"-m", "sh", "-c", script, program, pins}, args...)...)
		cmd.Dir = t.TempDir()
		stderr, status := runUntil(t, cmd, readOnly, "listening on")
		wantClean(t, stderr) // some write captures and figures to standard output
		says := strings.HasSuffix(stderr, readOnly) && strings.Contains(stderr, " /run/")
		if says {
			named[strings.Join(path, " ")] = stderr
		}
		left, err := os.ReadDir(cmd.Dir)
		if err != nil {
			t.Fatal(err)
		}
		if status != 0 && len(left) > 0 {
			t.Errorf("it fails and leaves %v", left)
		}
		if left := pinned(); !slices.Equal(left, empty) {
			t.Errorf("it leaves the pins %q", left)
		}
		switch {
		case status == statusFailed && !says:
			// A /run of its own: in that of the machine other tests have cells and agents.
			writable := strings.ReplaceAll(script, " -o ro ", " ")
			shell := []string{"-m", "sh", "-c", writable, program, pins}
			elsewhere := exec.Command("unshare", append(shell, args...)...)
			elsewhere.Dir = t.TempDir()
			if _, want, _ := runCmd(t, elsewhere); stderr != want {
				t.Errorf("it says %q, and with a writable /run %q", stderr, want)
			}
		case status == statusFailed && strings.Count(stderr, "\n") != 1, status != 0 && status != statusFailed:
			t.Errorf("status %d: %s", status, stderr)
		}
	})
	for _, verb := range []string{"cell run", "lab run", "share run"} {
		if named[verb] == "" {
			t.Errorf("%s does not name the folder, but these do: %q", verb, named)
		}
	}
	if !strings.Contains(named["lab run"], "/run/airtide"+readOnly) {
		t.Errorf("lab run says %q", named["lab run"])
	}
}

// runUntil runs a command to its end. It interrupts it once its output has one of the texts.
func runUntil(t *testing.T, cmd *exec.Cmd, texts ...string) (stderr string, status int) {
	t.Helper()
	dir := t.TempDir()
	files := make([]*os.File, 2)
	for i := range files {
		f, err := os.Create(filepath.Join(dir, fmt.Sprint(i)))
		if err != nil {
			t.Fatal(err)
		}
		defer f.Close()
		files[i] = f
	}
	output := func(i int) string {
		text, err := os.ReadFile(files[i].Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	cmd.Stdout = files[0]
	cmd.Stderr = files[1]
	ended := startVerb(t, cmd)
	defer cmd.Process.Kill() // should it not have ended
	waitFor(t, fmt.Sprintf("the end of %q, or one of %q", cmd.Args, texts), func() bool {
		select {
		case <-ended:
			return true
		default:
			both := output(0) + output(1)
			return slices.ContainsFunc(texts, func(text string) bool { return strings.Contains(both, text) })
		}
	})
	_ = cmd.Process.Signal(os.Interrupt)
	<-ended
	return output(1), cmd.ProcessState.ExitCode()
}

// namesBelow returns the paths of all files below a folder, without the folders.
func namesBelow(t *testing.T, folder string) (names []string) {
	t.Helper()
	err := filepath.WalkDir(folder, func(path string, entry fs.DirEntry, err error) error {
		if err == nil && !entry.IsDir() {
			names = append(names, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return names
}

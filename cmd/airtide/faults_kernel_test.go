//go:build kernel

package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

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
	files, full := faultFiles(t), t.TempDir()
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

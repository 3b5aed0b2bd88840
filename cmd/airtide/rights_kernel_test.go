//go:build kernel

package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"airtide/test/need"
)

// threadStatus returns a field of /proc/PID/status for each thread of a process.
func threadStatus(t *testing.T, pid int, field string) (values []string) {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/status", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // the thread has ended
		}
		for line := range strings.Lines(string(text)) {
			if value, ok := strings.CutPrefix(line, field+":"); ok {
				values = append(values, strings.TrimSpace(value))
			}
		}
	}
	return values
}

// wantOnly reports threads of a running verb with another capability than these, without
// no_new_privs or without a filter.
func wantOnly(t *testing.T, pid int, capabilities ...int) {
	t.Helper()
	var allowed uint64
	for _, c := range capabilities {
		allowed |= 1 << c
	}
	waitFor(t, "the filter of system calls", func() bool {
		seccomp := threadStatus(t, pid, "Seccomp")
		return len(seccomp) > 0 && seccomp[0] == "2"
	})
	for _, field := range []string{"CapEff", "CapPrm", "CapBnd", "CapInh", "CapAmb"} {
		for _, value := range threadStatus(t, pid, field) {
			if has, err := strconv.ParseUint(value, 16, 64); err != nil || has&^allowed != 0 {
				t.Errorf("%s %s, want at most %016x", field, value, allowed)
			}
		}
	}
	for field, want := range map[string]string{"NoNewPrivs": "1", "Seccomp": "2"} {
		for _, value := range threadStatus(t, pid, field) {
			if value != want {
				t.Errorf("%s %s, want %s on every thread", field, value, want)
			}
		}
	}
}

func TestRunningVerbsHaveOnlyTheRightsTheyNeed(t *testing.T) {
	need.Root(t)
	key := filepath.Join(t.TempDir(), "cell.key")
	mustRun(t, "share", "key", "-o", key)
	observes := []int{
		unix.CAP_SYS_PTRACE, unix.CAP_DAC_READ_SEARCH, unix.CAP_SYS_NICE, unix.CAP_NET_ADMIN, unix.CAP_BPF,
		unix.CAP_PERFMON,
	}
	agent := []int{unix.CAP_BPF, unix.CAP_PERFMON, unix.CAP_NET_ADMIN, unix.CAP_SYS_ADMIN}
	for _, c := range []struct {
		args []string
		caps []int
	}{
		{[]string{"monitor", "--source", "bpf", "--json"}, observes},
		{[]string{"monitor", "--source", "diag", "--json"}, append(observes, unix.CAP_SYS_ADMIN)},
		{[]string{"monitor", kernelRecording, "--speed", "0.001", "--json"}, readerRights.Capabilities},
		{[]string{"record", "-o", filepath.Join(t.TempDir(), "a.atr")}, observes},
		{[]string{"diagnose", "--live", "--source", "bpf"}, observes},
		{[]string{"diagnose", "--live", "--source", "diag"}, append(observes, unix.CAP_SYS_ADMIN)},
		{[]string{"diagnose", "--", "sleep", "1000"}, append(observes, commandRights...)},
		{[]string{"share", "run", "--key", key, "--interface", "lo", "--port", "47475", "--policy", "observe"}, agent},
		{[]string{"share", "hub", "--key", key, "--listen", freePort(t)}, nil},
		{
			[]string{"tune", "--port", "47476", "--cwnd-max", "10"},
			append(agent, unix.CAP_SYS_PTRACE, unix.CAP_DAC_READ_SEARCH),
		},
	} {
		t.Run(strings.Join(c.args[:2], " "), func(t *testing.T) {
			cmd := airtide(c.args...)
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			wantOnly(t, cmd.Process.Pid, c.caps...)
			_ = cmd.Process.Signal(os.Interrupt)
			// A verb that was not yet at work has status 130.
			if err := cmd.Wait(); err != nil && cmd.ProcessState.ExitCode() != 130 {
				t.Errorf("it ends with %v", err)
			}
		})
	}
}

// bySudo is a command as sudo of nobody starts it.
func bySudo(args ...string) *exec.Cmd {
	cmd := airtide(args...)
	cmd.Env = append(cmd.Env, fmt.Sprintf("SUDO_UID=%d", nobody), fmt.Sprintf("SUDO_GID=%d", nobody))
	return cmd
}

func TestUnderSudoARecordingBelongsToTheCaller(t *testing.T) {
	need.Root(t)
	for _, source := range []string{"bpf", "diag"} {
		path := filepath.Join(t.TempDir(), "a.atr")
		cmd := bySudo("record", "--source", source, "-o", path)
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ids := fmt.Sprintf("%d\t%[1]d\t%[1]d\t%[1]d", nobody)
		// The kernel changes the threads one by one.
		waitFor(t, "every thread of record to become the caller", func() bool {
			uid := threadStatus(t, cmd.Process.Pid, "Uid")
			return len(uid) > 0 && !slices.ContainsFunc(uid, func(value string) bool { return value != ids })
		})
		for _, field := range []string{"Uid", "Gid"} {
			for _, value := range threadStatus(t, cmd.Process.Pid, field) {
				if value != ids {
					t.Errorf("%s %s, want %s on every thread", field, value, ids)
				}
			}
		}
		_ = cmd.Process.Signal(os.Interrupt)
		if err := cmd.Wait(); err != nil {
			t.Errorf("it ends with %v", err)
		}
		info, err := os.Stat(path)
		if err != nil {
			t.Fatal(err)
		}
		if owner := info.Sys().(*syscall.Stat_t); owner.Uid != nobody || owner.Gid != nobody {
			t.Errorf("the recording belongs to %d:%d", owner.Uid, owner.Gid)
		}
		mustRun(t, "info", path)
	}
}

// The outputs of verbs that read belong to the caller too. A key stays root's.
func TestUnderSudoOutputsBelongToTheCaller(t *testing.T) {
	need.Root(t)
	dir := t.TempDir()
	result := resultOf(t, [2]float64{18, 18.1})
	for _, c := range []struct {
		args  []string
		made  string
		owner uint32
	}{
		{[]string{"plot", kernelRecording, "--flow", "3", "-o", dir + "/a.svg"}, dir + "/a.svg", nobody},
		{[]string{"export", kernelRecording, "-o", dir + "/a.parquet"}, dir + "/a.events.parquet", nobody},
		{[]string{"packets", "plot", lossyCapture, "-o", dir + "/b.svg"}, dir + "/b.svg", nobody},
		{[]string{"lab", "show", result, "--figures", dir}, dir + "/*.svg", nobody},
		{[]string{"share", "key", "-o", dir + "/cell.key"}, dir + "/cell.key", 0},
	} {
		cmd := bySudo(c.args...)
		if _, stderr, status := runCmd(t, cmd); status != 0 {
			t.Errorf("airtide %q: status %d: %s", c.args, status, stderr)
		}
		made, err := filepath.Glob(c.made)
		if err != nil || len(made) == 0 {
			t.Errorf("airtide %q makes no %s", c.args, c.made)
		}
		for _, path := range made {
			info, err := os.Lstat(path)
			if err != nil {
				t.Fatal(err)
			}
			if s := info.Sys().(*syscall.Stat_t); s.Uid != c.owner || s.Gid != c.owner || info.Mode() != 0o600 {
				t.Errorf("%s belongs to %d:%d and has mode %v", path, s.Uid, s.Gid, info.Mode())
			}
		}
	}
}

// Another user puts a pipe in the place of an output and reads it. The caller of sudo may do so.
func TestAPipeOfAnotherUserGetsNoOutput(t *testing.T) {
	need.Root(t)
	files := faultFiles(t)
	verbs := 0
	eachVerb(t, func(t *testing.T, _ *cobra.Command, path []string, row faultRow) {
		if !slices.Contains(fileVerbs[strings.Join(path, " ")].write, "output") {
			return
		}
		verbs++
		fifo := filepath.Join(t.TempDir(), "out.svg")
		if err := errors.Join(unix.Mkfifo(fifo, 0o666), os.Chown(fifo, nobody, nobody)); err != nil {
			t.Fatal(err)
		}
		reader, err := os.OpenFile(fifo, os.O_RDWR|unix.O_NONBLOCK, 0) // it stays open between writers
		if err != nil {
			t.Fatal(err)
		}
		defer reader.Close()
		read := make(chan int64)
		go func() { // until the deadline
			n, _ := io.Copy(io.Discard, reader)
			read <- n
		}()
		args := files(row.whole(path, "--output="+fifo, "--force"))
		_, stderr, status := run(t, args...)
		if err := reader.SetReadDeadline(time.Now().Add(time.Millisecond)); err != nil {
			t.Fatal(err)
		}
		if n := <-read; status == 0 || n > 0 {
			t.Errorf("status %d, another user reads %d bytes: %s", status, n, stderr)
		}
		if !strings.Contains(stderr, "pipe of another user") {
			t.Errorf("it says %q", stderr)
		}
		if err := reader.SetReadDeadline(time.Time{}); err != nil {
			t.Fatal(err)
		}
		go func() { _, _ = io.Copy(io.Discard, reader) }()
		if _, stderr, status := runCmd(t, bySudo(args...)); status != 0 {
			t.Errorf("status %d for the caller of sudo: %s", status, stderr)
		}
	})
	if verbs < 6 {
		t.Errorf("only %d verbs write an output", verbs)
	}
}

// Another user puts a link in the place of a folder for outputs. Root's own link leads on, and for
// the caller of sudo that of the caller.
func TestALinkOfAnotherUserIsNoFolder(t *testing.T) {
	need.Root(t)
	need.Lab(t)
	result := resultOf(t, [2]float64{18, 18.1})
	for _, call := range [][]string{
		{"export", kernelRecording, "--to", "csv", "-o", "LINK"},
		{"export", kernelRecording, "--to", "csv", "-o", "LINK/"},
		{"lab", "show", result, "--figures", "LINK"},
		{"lab", "run", "quickstart", "--results", "FOLDER"}, // the link is the experiment's folder in it
	} {
		folder := t.TempDir()
		target := t.TempDir()
		link := filepath.Join(folder, "quickstart")
		if err := errors.Join(os.Symlink(target, link), os.Lchown(link, nobody, nobody)); err != nil {
			t.Fatal(err)
		}
		args := slices.Clone(call)
		for i := range args {
			args[i] = strings.NewReplacer("LINK", link, "FOLDER", folder).Replace(args[i])
		}
		_, stderr, status := run(t, args...)
		made, err := os.ReadDir(target)
		if err != nil || status == 0 || len(made) > 0 || !strings.Contains(stderr, "link of another user") {
			t.Errorf("airtide %q: status %d, %d files where the link leads: %s", args, status, len(made), stderr)
		}
		if slices.Contains(call, "FOLDER") {
			continue // the run would take long
		}
		if _, stderr, status := runCmd(t, bySudo(args...)); status != 0 {
			t.Errorf("airtide %q: status %d for the caller of sudo: %s", args, status, stderr)
		}
		if err := os.Lchown(link, 0, 0); err != nil {
			t.Fatal(err)
		}
		if _, stderr, status := run(t, append(args, forced(call)...)...); status != 0 {
			t.Errorf("airtide %q: status %d for a link of root: %s", args, status, stderr)
		}
	}
}

// forced is the flag by which an export replaces the files of the one before.
func forced(call []string) []string {
	if call[0] == "export" {
		return []string{"--force"}
	}
	return nil
}

// A command that is recorded or tuned may change everything, as without airtide.
func TestACommandKeepsAllRights(t *testing.T) {
	need.Root(t)
	const script = `grep -E '^(CapEff|CapBnd|NoNewPrivs|Seccomp):' /proc/self/status`
	before, err := exec.Command("sh", "-c", script).Output()
	if err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{
		{"record", "-q", "-o", filepath.Join(t.TempDir(), "a.atr"), "--"},
		{"tune", "-q", "--cwnd-max", "10", "--"},
		{"diagnose", "--json", "--"},
	} {
		cmd := bySudo(append(args, "sh", "-c", script)...)
		out, err := cmd.Output()
		if err != nil || !strings.HasPrefix(string(out), string(before)) {
			t.Errorf("airtide %s: %v, the command has\n%swant\n%s", args[0], err, out, before)
		}
		group := fmt.Sprintf("/sys/fs/cgroup/*/airtide-*-%d", cmd.Process.Pid)
		if left, _ := filepath.Glob(group); len(left) > 0 {
			t.Errorf("left are %q", left)
		}
	}
}

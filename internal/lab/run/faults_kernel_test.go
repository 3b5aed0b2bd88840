//go:build kernel

package run

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/kernel/congestion"
	"airtide/internal/lab/result"
	"airtide/test/testnet"
)

// loadedBy returns the congestion controls that a process has loaded.
func loadedBy(t *testing.T, pid int) (names []string) {
	t.Helper()
	all, err := congestion.List("")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range all {
		if slices.Contains(e.Processes, pid) {
			names = append(names, e.Name)
		}
	}
	return names
}

func TestAfterAKillTheNextStartCleansUp(t *testing.T) {
	o := newLab(t)
	before := namespaces(t)
	root := t.TempDir()
	c := exec.Command(os.Args[0])
	c.Env = append(os.Environ(), childVariable+"="+root)
	out, err := c.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := c.Start(); err != nil {
		t.Fatal(err)
	}
	if n, err := out.Read(make([]byte, 1)); n != 1 {
		t.Fatalf("the experiment never ran: %v", err)
	}
	processes := descendants(t, c.Process.Pid)
	if len(processes) < 4 { // engine, servers, clients
		t.Errorf("processes of the experiment: got only %v", processes)
	}
	loaded := loadedBy(t, c.Process.Pid)
	if len(loaded) != 1 {
		t.Errorf("congestion controls of the lab: got %v, want one", loaded)
	}
	if err := c.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = c.Wait()
	await(t, "all that it had started to end", func() bool {
		for _, pid := range processes {
			if unix.Kill(pid, 0) == nil && !zombie(pid) {
				return false
			}
		}
		return true
	})
	await(t, "its congestion control to be gone", func() bool {
		available, err := congestion.Available()
		return err == nil && !slices.ContainsFunc(loaded, func(name string) bool {
			return slices.Contains(available, name)
		})
	})
	dir, err := result.Latest(root, "small")
	if err != nil {
		t.Fatal(err)
	}
	outcome, err := Resume(t.Context(), dir, nil, o)
	if err != nil || outcome.Finished != 2 {
		t.Errorf("outcome %+v, error %v", outcome, err)
	}
	if left := leftovers(t, before); left != nil {
		t.Errorf("namespaces are left after the next start: %v", left)
	}
}

// descendants returns the processes below a process.
func descendants(t *testing.T, pid int) (all []int) {
	t.Helper()
	lists, err := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range lists {
		text, _ := os.ReadFile(path)
		for _, field := range strings.Fields(string(text)) {
			below, err := strconv.Atoi(field)
			if err != nil {
				t.Fatal(err)
			}
			all = append(all, below)
			all = append(all, descendants(t, below)...)
		}
	}
	return all
}

func zombie(pid int) bool {
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	return err != nil || strings.Contains(string(stat), ") Z ")
}

func await(t *testing.T, what string, is func() bool) {
	t.Helper()
	testnet.Eventually(t, 20*time.Second, what, is)
}

func TestAWorkloadThatDiesFailsItsRunAlone(t *testing.T) {
	o := newLab(t)
	killed := false
	o.Progress = func(p Progress) {
		if killed || p.Elapsed < 300*time.Millisecond {
			return
		}
		killed = true
		for _, pid := range descendants(t, os.Getpid()) {
			name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
			if strings.HasPrefix(string(name), "iperf3") {
				_ = unix.Kill(pid, unix.SIGKILL)
			}
		}
	}
	outcome, err := Run(t.Context(), t.TempDir(), planOf(t, small), o)
	if !errors.Is(err, ErrFailed) || outcome.Finished != 1 || len(outcome.Failed) != 1 ||
		!strings.Contains(outcome.Failed[0].Reason, "flow upload") {
		t.Errorf("outcome %+v, error %v", outcome, err)
	}
}

// The engine of a run stands still for longer than the limit of lateness, and goes on.
func TestARunWhoseEngineStoodStillIsRepeated(t *testing.T) {
	o := newLab(t)
	o.LagLimit = 500 * time.Millisecond
	const pause = 3 * time.Second
	stopped := false
	o.Progress = func(p Progress) {
		if stopped || p.Elapsed < 300*time.Millisecond {
			return
		}
		stopped = true
		for _, pid := range engines(t) {
			_ = unix.Kill(pid, unix.SIGSTOP)
			time.AfterFunc(pause, func() { _ = unix.Kill(pid, unix.SIGCONT) })
		}
	}
	one := strings.Replace(small, "repeats: 2", "repeats: 1", 1)
	outcome, err := Run(t.Context(), t.TempDir(), planOf(t, one), o)
	if err != nil || outcome.Finished != 1 {
		t.Fatalf("outcome %+v, error %v", outcome, err)
	}
	f, err := result.Open(t.Context(), outcome.Dir)
	if err != nil {
		t.Fatal(err)
	}
	failures, err := f.Failures(t.Context())
	if err != nil || len(failures) == 0 {
		t.Errorf("the run beside the stopped engine counts: failures %+v, %v", failures, err)
	}
}

// engines returns the processes below this one that run the same program.
func engines(t *testing.T) (pids []int) {
	own, err := os.Readlink("/proc/self/exe")
	if err != nil {
		t.Error(err)
	}
	for _, pid := range descendants(t, os.Getpid()) {
		if exe, err := os.Readlink(fmt.Sprintf("/proc/%d/exe", pid)); err == nil && exe == own {
			pids = append(pids, pid)
		}
	}
	return pids
}

func TestAFullDiskKeepsFinishedRuns(t *testing.T) {
	o := newLab(t)
	root := t.TempDir()
	if err := unix.Mount("tmpfs", root, "tmpfs", 0, "size=16m"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = unix.Unmount(root, unix.MNT_DETACH) })
	o.Progress = func(p Progress) {
		if p.Number == 2 && p.Elapsed > 300*time.Millisecond {
			fill(root)
		}
	}
	outcome, err := Run(t.Context(), root, planOf(t, small), o)
	if err == nil || outcome == nil || outcome.Finished != 1 || !errors.Is(err, unix.ENOSPC) {
		t.Fatalf("outcome %+v, error %v", outcome, err)
	}
	if err := os.Remove(filepath.Join(root, "filler")); err != nil {
		t.Fatal(err)
	}
	o.Progress = nil
	outcome, err = Resume(t.Context(), outcome.Dir, nil, o)
	if err != nil || outcome.Finished != 2 {
		t.Errorf("after there was room: outcome %+v, error %v", outcome, err)
	}
}

// fill fills a file system.
func fill(root string) {
	f, err := os.OpenFile(filepath.Join(root, "filler"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o644)
	if err != nil {
		return
	}
	defer f.Close()
	for block := make([]byte, 4096); err == nil; {
		_, err = f.Write(block)
	}
}

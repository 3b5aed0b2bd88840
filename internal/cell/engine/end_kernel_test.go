//go:build kernel

package engine

import (
	"bufio"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"airtide/test/testnet"
)

// parentCommand starts such a process, through other commands that change its rights.
func parentCommand(through ...string) *exec.Cmd {
	arguments := append(through, os.Args[0])
	c := exec.Command(arguments[0], arguments[1:]...)
	c.Env = append(os.Environ(), parentVariable+"=1")
	return c
}

// startParent starts such a process and gives its engine's PID.
func startParent(t *testing.T) (parent *exec.Cmd, enginePID int) {
	t.Helper()
	parent = parentCommand()
	parent.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := parent.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	in, err := parent.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close() })
	if err := parent.Start(); err != nil {
		t.Fatal(err)
	}
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	enginePID, err = strconv.Atoi(strings.TrimSpace(line))
	if err != nil {
		t.Fatalf("the parent says %q", line)
	}
	if left := leftOf(t, enginePID); len(left) != 3 {
		t.Fatalf("the engine has namespaces %v, want three", left)
	}
	return parent, enginePID
}

// gone reports whether an engine has ended. Its new parent may not have waited for it yet.
func gone(pid int) bool { return !isEngine(pid) }

// programOf is the ID of the BPF program that an engine has attached.
func programOf(t *testing.T, pid int) ebpf.ProgramID {
	t.Helper()
	files, err := filepath.Glob(fmt.Sprintf("/proc/%d/fdinfo/*", pid))
	if err != nil {
		t.Fatal(err)
	}
	pattern := regexp.MustCompile(`(?m)^prog_id:\s*(\d+)$`)
	for _, file := range files {
		text, err := os.ReadFile(file)
		if err != nil {
			continue // it was closed
		}
		if m := pattern.FindSubmatch(text); m != nil {
			id, err := strconv.ParseUint(string(m[1]), 10, 32)
			if err != nil {
				t.Fatal(err)
			}
			return ebpf.ProgramID(id)
		}
	}
	t.Fatalf("engine %d has no BPF program", pid)
	return 0
}

// nothingLeft waits until an engine has ended, which its parent's end makes it do, and fails the
// test when it has left namespaces or its BPF program.
func nothingLeft(t *testing.T, pid int, program ebpf.ProgramID) {
	t.Helper()
	testnet.Eventually(t, 10*time.Second, "the engine to end", func() bool { return gone(pid) })
	if left := leftOf(t, pid); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	testnet.Eventually(t, 10*time.Second, "the BPF program to go with the engine",
		func() bool { return unloaded(program) })
}

func unloaded(id ebpf.ProgramID) bool {
	p, err := ebpf.NewProgramFromID(id)
	if err == nil {
		p.Close()
	}
	return errors.Is(err, os.ErrNotExist)
}

func TestNothingIsLeftWhateverEndsAnEngine(t *testing.T) {
	refusing := func() Config {
		c := pair(lineConfig{Limit: 10})
		c.Ports[0].Refuse = true
		return c
	}
	t.Run("Stop", func(t *testing.T) {
		e := start(t, refusing())
		program := programOf(t, e.Ready.PID)
		if err := e.Stop(); err != nil {
			t.Fatal(err)
		}
		nothingLeft(t, e.Ready.PID, program)
	})
	t.Run("SIGTERM to the engine", func(t *testing.T) {
		e := start(t, refusing())
		program := programOf(t, e.Ready.PID)
		if err := unix.Kill(e.Ready.PID, unix.SIGTERM); err != nil {
			t.Fatal(err)
		}
		<-e.Ended()
		nothingLeft(t, e.Ready.PID, program)
	})
	t.Run("kill -9 to the engine while its parent lives", func(t *testing.T) {
		e := start(t, refusing())
		program := programOf(t, e.Ready.PID)
		if err := unix.Kill(e.Ready.PID, unix.SIGKILL); err != nil {
			t.Fatal(err)
		}
		<-e.Ended()
		nothingLeft(t, e.Ready.PID, program)
		if _, err := e.Status(); err == nil || !strings.Contains(err.Error(), "killed") {
			t.Errorf("Status says %v", err)
		}
	})
	t.Run("Ctrl-C to parent and engine", func(t *testing.T) {
		parent, pid := startParent(t)
		program := programOf(t, pid)
		if err := unix.Kill(-parent.Process.Pid, unix.SIGINT); err != nil {
			t.Fatal(err)
		}
		_ = parent.Wait()
		nothingLeft(t, pid, program)
	})
	t.Run("kill -9 to the parent", func(t *testing.T) {
		parent, pid := startParent(t)
		program := programOf(t, pid)
		_ = parent.Process.Kill()
		_ = parent.Wait()
		nothingLeft(t, pid, program)
	})
	t.Run("kill -9 to both, and the next start", func(t *testing.T) {
		parent, pid := startParent(t)
		program := programOf(t, pid)
		// Stopped, the parent cannot sweep behind the engine.
		if err := errors.Join(
			unix.Kill(parent.Process.Pid, unix.SIGSTOP), unix.Kill(pid, unix.SIGKILL), parent.Process.Kill(),
		); err != nil {
			t.Fatal(err)
		}
		_ = parent.Wait()
		testnet.Eventually(t, 10*time.Second, "the engine to end", func() bool { return gone(pid) })
		// Another engine that starts meanwhile may have cleaned up already.
		other := start(t, pair(lineConfig{}))
		nothingLeft(t, pid, program)
		if own := leftOf(t, other.Ready.PID); len(own) != 3 {
			t.Errorf("the next engine has %v", own)
		}
	})
}

func TestLeftoversAreThoseOfProcessesThatAreNoEngines(t *testing.T) {
	e := start(t, pair(lineConfig{}))
	// This process might have got the PID of an engine that was killed.
	left, err := newNamespace(namespaceName(os.Getpid(), "left"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(left.close)
	kept, err := newNamespace(fmt.Sprintf("airtide-test-%d-kept", os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(kept.close)
	RemoveLeftovers()
	if left := leftOf(t, os.Getpid()); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
	if own := leftOf(t, e.Ready.PID); len(own) != 3 {
		t.Errorf("the engine that runs has %v", own)
	}
	if _, err := os.Stat(filepath.Join(namespaceFolder, kept.name)); err != nil {
		t.Errorf("a namespace that is no engine's was removed: %v", err)
	}
}

func TestANamespaceInUseIsLeftAlone(t *testing.T) {
	name := fmt.Sprintf("airtide-test-%d-used", os.Getpid())
	first, err := newNamespace(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(first.close)
	if second, err := newNamespace(name); err == nil {
		second.close()
		t.Error("it was made twice")
	} else if !strings.Contains(err.Error(), "exists already: remove it with `ip netns delete "+name) {
		t.Errorf("it says %v", err)
	}
	if err := inPath(filepath.Join(namespaceFolder, name), func() error { return nil }); err != nil {
		t.Errorf("the first cannot be entered any more: %v", err)
	}
}

func TestWhatAProcessMayNotDoIsSaid(t *testing.T) {
	for _, c := range []struct {
		name    string
		through []string
		starts  bool
		want    string
	}{
		{
			"without root",
			[]string{"setpriv", "--bounding-set=-all"},
			false,
			"starting the engine: it makes network namespaces and devices, which needs root " +
				"(CAP_SYS_ADMIN, CAP_NET_ADMIN, CAP_MKNOD is missing): run it with sudo",
		},
		{
			"without /dev/net/tun",
			[]string{"unshare", "--mount", "sh", "-c", `mount -t tmpfs none /dev/net && exec "$0"`},
			false,
			"attaching port \"server\": opening /dev/net/tun: no such file or directory: " +
				"load the kernel's module with `modprobe tun`",
		},
		{
			"without a real-time priority",
			[]string{"setpriv", "--bounding-set=-sys_nice"},
			true,
			"the engine has no real-time priority (SCHED_RR) and will fall behind when " +
				"processors are busy; it needs CAP_SYS_NICE",
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			out, err := parentCommand(c.through...).Output() // with nothing to read it stops the engine at once
			if started := err == nil; started != c.starts || !strings.Contains(string(out), c.want) {
				t.Errorf("started %v, want %v (%v); it says\n%s\nwant %q", started, c.starts, err, out, c.want)
			}
			if want := 1; !c.starts && strings.Count(strings.TrimSpace(string(out)), "\n")+1 != want {
				t.Errorf("it says more than one line:\n%s", out)
			}
		})
	}
}

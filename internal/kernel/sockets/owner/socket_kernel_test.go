//go:build kernel

package owner

import (
	"bufio"
	"fmt"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"airtide/test/need"
)

// child starts the test binary again in a role and gives its first line of output.
func child(t *testing.T, role string, attr *syscall.SysProcAttr) (*exec.Cmd, string) {
	t.Helper()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), childEnv+"="+role)
	cmd.SysProcAttr = attr
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	cmd.Stderr = os.Stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		stdin.Close() // a child ends when its standard input does
		_ = cmd.Wait()
	})
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatalf("child %s said nothing: %v", role, err)
	}
	return cmd, strings.TrimSpace(line)
}

func TestFirstRefreshFindsOwnAndForeignSockets(t *testing.T) {
	need.Root(t)
	l := listen(t)
	cmd, line := child(t, "listen", nil)
	var foreign uint64
	fmt.Sscan(line, &foreign)
	r := NewResolver()
	refresh(t, r)
	name, err := Comm(uint32(os.Getpid()))
	if err != nil {
		t.Fatal(err)
	}
	if p, ok := r.Lookup(inodeOf(l)); !ok || p != (Process{uint32(os.Getpid()), name}) {
		t.Errorf("own socket: got %v, %v", p, ok)
	}
	if p, ok := r.Lookup(foreign); !ok || p.PID != uint32(cmd.Process.Pid) {
		t.Errorf("socket of child %d: got %v, %v", cmd.Process.Pid, p, ok)
	}
	if s := r.Stats(); s.Scans != 1 || s.Sockets < 2 || s.Processes < 2 {
		t.Errorf("stats: %+v", s)
	}
}

func TestClosedSocketAndEndedProcessAreForgotten(t *testing.T) {
	need.Root(t)
	l := listen(t)
	inode := inodeOf(l)
	cmd, line := child(t, "listen", nil)
	var foreign uint64
	fmt.Sscan(line, &foreign)
	r := NewResolver()
	refresh(t, r)
	l.Close()
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	r.Lookup(1 << 40)
	refresh(t, r)
	for what, i := range map[string]uint64{"closed": inode, "of an ended process": foreign} {
		if p, ok := r.Lookup(i); ok {
			t.Errorf("socket %s still belongs to %v", what, p)
		}
	}
}

func TestSocketHandedToAnotherProcessChangesOwner(t *testing.T) {
	need.Root(t)
	l := listen(t)
	inode := inodeOf(l)
	f, err := l.File()
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("sleep", "60")
	cmd.ExtraFiles = []*os.File{f}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill(); _ = cmd.Wait() }()
	r := NewResolver()
	refresh(t, r)
	if p, _ := r.Lookup(inode); p.PID != uint32(os.Getpid()) {
		t.Errorf("while both hold it: %v, want this process, the lower pid", p)
	}
	f.Close()
	l.Close()
	r.Lookup(1 << 40)
	refresh(t, r)
	if p, ok := r.Lookup(inode); !ok || p != (Process{uint32(cmd.Process.Pid), "sleep"}) {
		t.Errorf("after this process closed it: %v, %v", p, ok)
	}
}

func TestWithoutRootOwnSocketsAreFoundAndOthersAreCounted(t *testing.T) {
	need.Root(t)
	_, line := child(t, "scan", &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}})
	if line != "<nil> true true" {
		t.Errorf("as nobody: error, own socket found, others counted: %s", line)
	}
}

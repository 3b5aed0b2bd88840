//go:build kernel

package diag

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/kernel/sockets/owner"
	"airtide/test/need"
)

func TestFilterByCgroupTakesWhatLiesBelow(t *testing.T) {
	need.Root(t)
	cgroups, err := owner.OpenCgroups()
	if err != nil {
		t.Fatal(err)
	}
	top := fmt.Sprintf("/diag-test-%d", os.Getpid())
	for _, dir := range []string{top, top + "/leaf"} {
		full := filepath.Join(cgroups.Mount(), dir)
		if err := os.Mkdir(full, 0o755); err != nil {
			t.Fatal(err)
		}
		defer func() { _ = os.Remove(full) }()
	}
	leaf, err := os.Open(filepath.Join(cgroups.Mount(), top, "leaf"))
	if err != nil {
		t.Fatal(err)
	}
	defer leaf.Close()
	id, err := cgroups.ID(top)
	if err != nil {
		t.Fatal(err)
	}
	r, _, stop := start(t, Options{Filter: filter.Filter{Cgroups: []uint64{id}}})

	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), childEnv+"=connect")
	cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(leaf.Fd())}
	stdin, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { stdin.Close(); _ = cmd.Wait() }()
	line, err := bufio.NewReader(out).ReadString('\n')
	if err != nil {
		t.Fatal(err)
	}
	address, err := net.ResolveTCPAddr("tcp4", strings.TrimSpace(line))
	if err != nil {
		t.Fatal(err)
	}
	other, _ := connect(t, "tcp4", "127.0.0.1:0") // in the cgroup of this process
	eventually(t, "the child's connection is seen with the path of its cgroup and its process", func() bool {
		f, ok := r.find(address)
		return ok && f.CgroupPath == top+"/leaf" && f.PID == uint32(cmd.Process.Pid)
	})
	stop()
	if f, ok := r.find(other.LocalAddr()); ok {
		t.Errorf("%v of cgroup %q passed the filter", &f, f.CgroupPath)
	}
}

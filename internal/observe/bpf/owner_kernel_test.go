//go:build kernel

package bpf

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/tcp"
	"airtide/test/testnet"
)

// cgroupFolder makes two nested cgroups for the test and returns the folder of the outer one.
func cgroupFolder(t *testing.T) (outer, inner string) {
	t.Helper()
	root := ""
	mounts, err := os.ReadFile("/proc/self/mounts")
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(mounts)) {
		if f := strings.Fields(line); len(f) > 2 && f[2] == "cgroup2" {
			root = f[1]
		}
	}
	if root == "" {
		t.Skip("needs a cgroup v2 mount, which this system has not: mount -t cgroup2 none DIRECTORY")
	}
	outer = filepath.Join(root, fmt.Sprintf("airtide-test-%d-%s", os.Getpid(), strings.ReplaceAll(t.Name(), "/", "-")))
	inner = filepath.Join(outer, "inner")
	if err := os.MkdirAll(inner, 0o755); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		// A cgroup stays busy until its last process has been reaped.
		testnet.Eventually(t, time.Minute, "the cgroups to be empty", func() bool {
			_ = os.Remove(inner)
			return os.Remove(outer) == nil
		})
	})
	return outer, inner
}

func inodeOfFolder(t *testing.T, path string) uint64 {
	t.Helper()
	var stat unix.Stat_t
	if err := unix.Stat(path, &stat); err != nil {
		t.Fatal(err)
	}
	return stat.Ino
}

func inCgroup(t *testing.T, path string) func(*exec.Cmd) {
	t.Helper()
	folder, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { folder.Close() })
	return func(cmd *exec.Cmd) {
		cmd.SysProcAttr = &syscall.SysProcAttr{UseCgroupFD: true, CgroupFD: int(folder.Fd())}
	}
}

func TestOwners(t *testing.T) {
	n := newNetwork(t, 0)
	outer, inner := cgroupFolder(t)
	// Open before the observation begins.
	oldClient, oldServer := n.Connect(testnet.Dial{})
	send(t, oldClient, oldServer, 10)

	obs := observeNetwork(t, n, Options{})
	listener, to, err := n.Server.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer listener.Close()
	file, err := listener.File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	accepting := startHelper(t, n.Server, "acceptor", "accept 1 500", func(cmd *exec.Cmd) {
		cmd.ExtraFiles = []*os.File{file}
		inCgroup(t, outer)(cmd)
	})
	dialing := startHelper(t, n.Client, "dialer", fmt.Sprintf("dial %s 1000", to), inCgroup(t, inner))
	dialed := dialing.inodes()[0]
	accepted := accepting.inodes()[0]
	send(t, oldClient, oldServer, 10)

	find := func(r *recording, what func(f tcp.Flow) bool) *tcp.Flow {
		for _, f := range r.flows {
			if what(f) {
				return &f
			}
		}
		return nil
	}
	obs.await(time.Minute, "every owner to be found", func(r *recording) bool {
		for _, f := range r.flows {
			if f.PID == 0 || f.Inode == 0 {
				return false
			}
		}
		return len(r.flows) == 4
	})
	oldInode, err := inodeOf(oldClient)
	if err != nil {
		t.Fatal(err)
	}
	self, err := os.ReadFile("/proc/self/comm")
	if err != nil {
		t.Fatal(err)
	}
	selfCgroup := inodeOfFolder(t, filepath.Dir(outer))
	obs.check(func(t *testing.T, r *recording) {
		root := filepath.Base(outer)
		old := r.flow(t, oldClient)
		for _, c := range []struct {
			what string
			flow *tcp.Flow
			want tcp.Flow
		}{
			{"dialed by another process", find(r, func(f tcp.Flow) bool { return f.Remote == to }), tcp.Flow{
				PID: dialing.pid(), Comm: "dialer", Inode: dialed, NetNS: n.Client.NetNS,
				Cgroup: inodeOfFolder(t, inner), CgroupPath: "/" + root + "/inner",
			}},
			// The socket belongs to the cgroup of the listener, which this process opened.
			{"accepted by another process", find(r, func(f tcp.Flow) bool { return f.Local == to }), tcp.Flow{
				PID: accepting.pid(), Comm: "acceptor", Inode: accepted, NetNS: n.Server.NetNS,
				Cgroup: selfCgroup, CgroupPath: "/",
			}},
			{"open before the observation", &old, tcp.Flow{
				PID: uint32(os.Getpid()), Comm: strings.TrimSpace(string(self)), Inode: oldInode, NetNS: n.Client.NetNS,
				Cgroup: selfCgroup, CgroupPath: "/", Inherited: true,
			}},
		} {
			if c.flow == nil {
				t.Errorf("%s: no flow", c.what)
				continue
			}
			got := *c.flow
			got.ID = 0
			got.Local = c.want.Local
			got.Remote = c.want.Remote
			got.FirstNs = 0
			got.CongestionControl = ""
			if got != c.want {
				t.Errorf("%s: %+v, want %+v", c.what, got, c.want)
			}
		}
		if opened := r.of(old.ID, tcp.EventOpen); len(opened) != 1 || opened[0].From != opened[0].To ||
			!opened[0].FromSample {
			t.Errorf("the inherited flow opened %+v, want once, from established to established", opened)
		}
	})
}

// An idle connection that is already there is announced from the start, with a sample.
func TestIdleConnectionsAreKnownFromTheStart(t *testing.T) {
	n := newNetwork(t, 0)
	client, server := n.Connect(testnet.Dial{})
	send(t, client, server, 1000)
	quiet(t, client)
	obs := observeNetwork(t, n, Options{})
	both := func(r *recording) bool {
		_, a := r.find(client.LocalAddr(), client.RemoteAddr())
		_, b := r.find(server.LocalAddr(), server.RemoteAddr())
		return a && b
	}
	obs.await(time.Minute, "both ends", both)
	obs.check(func(t *testing.T, r *recording) {
		for _, c := range []net.Conn{client, server} {
			f := r.flow(t, c)
			s := r.samples[f.ID]
			if !f.Inherited || len(s) != 1 || s[0].Values[tcp.StateField] != int64(tcp.StateEstablished) {
				t.Errorf("%s: inherited %t, %d samples, want one", &f, f.Inherited, len(s))
			}
			if _, packet := s[0].Get(tcp.AckBytes); packet {
				t.Errorf("%s: no segment came, but the sample has one", &f)
			}
		}
	})
}

// In a PID namespace of its own, as in a container, the monitor names processes as its user there
// does: filters by process and owners work as they do outside.
func TestProcessesAreNamedAsInTheMonitorsPIDNamespace(t *testing.T) {
	for _, tests := range []string{
		"^TestFiltersLetThroughExactlyTheirFlows$/^all_lists_must_match$", "^(TestOwners|TestFiltersByOwner)$",
	} {
		c := exec.Command("unshare", "--pid", "--fork", "--mount-proc", os.Args[0], "-test.v", "-test.run", tests)
		said, err := c.CombinedOutput()
		if err != nil || !strings.Contains(string(said), "--- PASS") || strings.Contains(string(said), "--- SKIP") {
			t.Errorf("%s: %v\n%s", tests, err, said)
		}
	}
}

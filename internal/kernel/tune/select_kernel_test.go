//go:build kernel

package tune

import (
	"bufio"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/kernel/sockets/owner"
	"airtide/test/testnet"
)

// other is a running program.
type other struct {
	t   *testing.T
	cmd *exec.Cmd
	in  io.Writer
	out *bufio.Reader
}

// start starts the test binary in a role on a host.
func start(t *testing.T, h *testnet.Host, role string, attributes ...string) *other {
	t.Helper()
	return startIn(t, h, 0, role, attributes...)
}

// startIn is start in new namespaces.
func startIn(t *testing.T, h *testnet.Host, namespaces uintptr, role string, attributes ...string) *other {
	t.Helper()
	o := &other{t: t, cmd: exec.Command("/proc/self/exe")}
	o.cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: namespaces}
	o.cmd.Env = append(append(os.Environ(), plays+"="+role, "GODEBUG=multipathtcp=0"), attributes...)
	o.cmd.Stderr = os.Stderr
	in, err := o.cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := o.cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	o.out = bufio.NewReader(out)
	o.in = in
	if err := h.Start(o.cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = o.cmd.Process.Kill()
		_ = o.cmd.Wait()
	})
	return o
}

func (o *other) line() string {
	o.t.Helper()
	line, err := o.out.ReadString('\n')
	if err != nil {
		o.t.Fatal(err)
	}
	return strings.TrimSpace(line)
}

func (o *other) ask(what string) string {
	o.t.Helper()
	if _, err := fmt.Fprintln(o.in, what); err != nil {
		o.t.Fatal(err)
	}
	return o.line()
}

func (o *other) must(what string) {
	o.t.Helper()
	if answer := o.ask(what); answer != "ok" {
		o.t.Fatalf("%s: %s", what, answer)
	}
}

// lowatOf returns TCP_NOTSENT_LOWAT of a socket in bytes.
func lowatOf(t *testing.T, c *net.TCPConn) int {
	t.Helper()
	return testnet.Option(t, c, unix.IPPROTO_TCP, unix.TCP_NOTSENT_LOWAT)
}

const picked = 5555

func TestPickedByPort(t *testing.T) {
	mount := bpffs(t)
	n := network(t)
	one, _ := n.Connect(cubic)
	another, anotherEnd := n.Connect(cubic)
	s := Selection{Filter: filter.Filter{Ports: []uint16{port(one)}, NetNS: []uint32{n.Client.NetNS}}}
	a := mustApply(t, s, lowat(picked), Options{BPFFS: mount})
	if lowatOf(t, one) != picked || lowatOf(t, another) == picked {
		t.Errorf("TCP_NOTSENT_LOWAT: got %d and %d, want %d on the first socket only",
			lowatOf(t, one), lowatOf(t, another), picked)
	}
	if r := mustReport(t, a); r.Counts.Matched != 1 {
		t.Errorf("counted %+v, want 1 matched", r.Counts)
	}
	// A server's port selects both ends, also of new connections.
	listener, to := listen(t, n.Server)
	mustApply(t, Selection{Filter: filter.Filter{Ports: []uint16{to.Port()}}}, lowat(picked+1), Options{BPFFS: mount})
	fresh := dial(t, n.Client, to)
	accepted, err := listener.AcceptTCP()
	if err != nil {
		t.Fatal(err)
	}
	defer accepted.Close()
	if lowatOf(t, fresh) != picked+1 || lowatOf(t, accepted) != picked+1 || lowatOf(t, anotherEnd) == picked+1 {
		t.Errorf("TCP_NOTSENT_LOWAT: got %d, %d and %d, want %d on both ends of the new connection only",
			lowatOf(t, fresh), lowatOf(t, accepted), lowatOf(t, anotherEnd), picked+1)
	}
}

func TestPickedByPrefix(t *testing.T) {
	mount := bpffs(t)
	n := network(t)
	for _, c := range []struct {
		prefix string
		v4, v6 bool
	}{
		{"10.77.0.0/24", true, false},
		{"10.77.0.2/32", true, false},
		{"fd77::/64", false, true},
		{"192.0.2.0/24", false, false},
	} {
		live4, end4 := n.Connect(cubic)
		live6, end6 := n.Connect(testnet.Dial{V6: true})
		s := Selection{
			Filter: filter.Filter{
				Prefixes: []netip.Prefix{netip.MustParsePrefix(c.prefix)}, NetNS: []uint32{n.Client.NetNS},
			},
		}
		a := mustApply(t, s, lowat(picked), Options{BPFFS: mount})
		fresh4, freshEnd4 := n.Connect(testnet.Dial{Mapped: true})
		fresh6, freshEnd6 := n.Connect(testnet.Dial{V6: true})
		for _, got := range []struct {
			what string
			conn *net.TCPConn
			want bool
		}{
			{"live IPv4", live4, c.v4},
			{"live IPv6", live6, c.v6},
			{"new v4-mapped", fresh4, c.v4},
			{"new IPv6", fresh6, c.v6},
		} {
			if (lowatOf(t, got.conn) == picked) != got.want {
				t.Errorf("%s: %s has %d, changed: want %t", c.prefix, got.what, lowatOf(t, got.conn), got.want)
			}
		}
		mustClose(t, a)
		abort(t, live4, end4, live6, end6, fresh4, freshEnd4, fresh6, freshEnd6)
	}
}

func TestPickedByProcess(t *testing.T) {
	mount := bpffs(t)
	n := network(t)
	_, to := listen(t, n.Server)
	program := start(t, n.Client, "program")
	mine, _ := n.Connect(cubic)
	program.must("dial " + to.String())
	serves := program.ask("listen 10.77.0.1:0")
	comm, err := os.ReadFile(fmt.Sprintf("/proc/%d/comm", program.cmd.Process.Pid))
	if err != nil {
		t.Fatal(err)
	}
	for i, s := range []Selection{
		{Filter: filter.Filter{PIDs: []uint32{uint32(program.cmd.Process.Pid)}}},
		// The test process may have the same name; the namespace and the PID exclude it.
		{
			Filter: filter.Filter{
				Comms: []string{strings.TrimSpace(string(comm))}, PIDs: []uint32{uint32(program.cmd.Process.Pid)},
				NetNS: []uint32{n.Client.NetNS},
			},
		},
	} {
		a := mustApply(t, s, lowat(picked), Options{BPFFS: mount})
		program.must("dial " + to.String())
		dial(t, n.Server, netip.MustParseAddrPort(serves))
		want := 3 + 2*i // two opened, one accepted, and the sockets of the round before
		testnet.Eventually(t, patience, "the program to accept", func() bool {
			return strings.Count(program.ask("lowat"), strconv.Itoa(picked)) == want
		})
		own, _ := n.Connect(cubic)
		if lowatOf(t, mine) == picked || lowatOf(t, own) == picked {
			t.Error("another process's socket is changed")
		}
		r := mustReport(t, a)
		if r.Counts.Changed != want || r.Counts.New != 2 {
			t.Errorf("counted %+v, want %d changed, 2 of them new", r.Counts, want)
		}
		for _, s := range r.Sockets {
			if int(s.PID) != program.cmd.Process.Pid {
				t.Errorf("socket of process %d, want %d", s.PID, program.cmd.Process.Pid)
			}
		}
		mustClose(t, a)
		if all := program.ask("lowat"); strings.Contains(all, strconv.Itoa(picked)) {
			t.Errorf("TCP_NOTSENT_LOWAT after the tune: got %s, want no %d", all, picked)
		}
	}
}

func TestPickedByCgroup(t *testing.T) {
	mount := bpffs(t)
	n := network(t)
	_, to := listen(t, n.Server)
	group, err := newGroup()
	if err != nil {
		t.Fatal(err)
	}
	groups, err := owner.OpenCgroups()
	if err != nil {
		t.Fatal(err)
	}
	below, _ := groups.Path(group.ID)
	program := start(t, n.Client, "program")
	if err := os.WriteFile(
		filepath.Join(groups.Mount(), below, "cgroup.procs"), []byte(strconv.Itoa(program.cmd.Process.Pid)), 0,
	); err != nil {
		t.Fatal(err)
	}
	program.must("dial " + to.String())
	mine, _ := n.Connect(cubic)
	a := mustApply(t, Selection{Filter: filter.Filter{Cgroups: []uint64{group.ID}}}, lowat(picked),
		Options{BPFFS: mount})
	program.must("dial " + to.String())
	fresh, _ := n.Connect(cubic)
	if got := program.ask("lowat"); got != "5555 5555" {
		t.Errorf("TCP_NOTSENT_LOWAT of the program's sockets: got %s, want 5555 5555", got)
	}
	if lowatOf(t, mine) == picked || lowatOf(t, fresh) == picked {
		t.Error("a socket outside of the cgroup is changed")
	}
	if r := mustReport(t, a); r.Counts.Changed != 2 || r.Counts.New != 1 {
		t.Errorf("counted %+v, want 2 changed, 1 of them new", r.Counts)
	}
	mustClose(t, a)
	_ = program.cmd.Process.Kill()
	_ = program.cmd.Wait()
	if err := group.Close(); err != nil {
		t.Error(err)
	}
}

// The lab tunes a namespace before any program runs in it.
func TestNewSocketsOfANamespace(t *testing.T) {
	mount := bpffs(t)
	n := network(t)
	a := mustApply(t, client(n), Settings{CwndMaxPackets: 9, SendBufferBytes: 64 << 10}, Options{BPFFS: mount})
	for range 3 {
		conn, end := n.Connect(cubic)
		testnet.MustSend(t, conn, end, 1<<20)
		if i := testnet.Info(t, conn); i.Snd_cwnd > 9 {
			t.Errorf("cwnd: got %d, want at most 9", i.Snd_cwnd)
		}
		if got := testnet.Option(t, end, unix.SOL_SOCKET, unix.SO_SNDBUF); got == 128<<10 {
			t.Error("a socket of another namespace is changed")
		}
	}
	if r := mustReport(t, a); r.Counts.Changed != 3 || r.Counts.New != 3 {
		t.Errorf("counted %+v, want 3 changed, all of them new", r.Counts)
	}
}

func TestSelectionsThatAreRefused(t *testing.T) {
	for _, s := range []Selection{
		{},
		{All: true, Filter: filter.Filter{Ports: []uint16{80}}},
		{Filter: filter.Filter{Comms: []string{"a-name-that-is-too-long"}}},
	} {
		if err := s.Check(); err == nil {
			t.Errorf("selection %+v is accepted", s)
		}
	}
	if _, err := Apply(
		t.Context(), Selection{Filter: filter.Filter{NetNS: []uint32{1}}}, lowat(5000), Options{BPFFS: bpffs(t)},
	); err == nil {
		t.Error("a namespace that does not exist is accepted")
	}
}

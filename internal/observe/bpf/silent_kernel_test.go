//go:build kernel

package bpf

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"syscall"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/tcp"
	"airtide/test/testnet"
)

// startServer starts a helper that accepts from the listener, which the test closes.
func startServer(t *testing.T, host *testnet.Host, l *net.TCPListener, name, command string, wait bool) *helper {
	t.Helper()
	defer l.Close()
	file, err := l.File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	server := startHelper(t, host, name, command, func(cmd *exec.Cmd) {
		cmd.ExtraFiles = []*os.File{file}
		if wait {
			cmd.Env = append(cmd.Env, "AIRTIDE_BPF_TEST_WAIT=1")
		}
	})
	t.Cleanup(func() { _ = server.cmd.Process.Kill() }) // it may wait for more connections
	return server
}

// listenShared makes a listener that shares its port with others.
func listenShared(t *testing.T, host *testnet.Host, address string) *net.TCPListener {
	t.Helper()
	config := net.ListenConfig{Control: func(_, _ string, c syscall.RawConn) error {
		var err error
		return errorsOf(c.Control(func(fd uintptr) {
			err = unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1)
		}), &err)
	}}
	var l net.Listener
	err := host.Do(func() (err error) {
		l, err = config.Listen(context.Background(), "tcp", address)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return l.(*net.TCPListener)
}

// errorsOf returns the first of two errors.
func errorsOf(first error, second *error) error {
	if first != nil {
		return first
	}
	return *second
}

// takeBanners opens connections one after the other and reads what comes, or resets each after the
// first byte.
func takeBanners(t *testing.T, host *testnet.Host, to netip.AddrPort, count int, reset bool) {
	t.Helper()
	for range count {
		c, err := host.Dial(to)
		if errors.Is(err, unix.ECONNRESET) {
			continue // the server was faster
		}
		if err != nil {
			t.Fatal(err)
		}
		if reset {
			if _, err := io.ReadFull(c, make([]byte, bannerBytes)); err != nil {
				t.Fatal(err)
			}
			linger0(t, c)
			continue
		}
		_, _ = io.Copy(io.Discard, c) // the server may end it by a reset
		c.Close()
	}
}

// A server may never read, and its connections may be over in a millisecond: /proc comes too late,
// and so would the first read.
func TestServersThatNeverReadAreFoundByTheirProcess(t *testing.T) {
	const count = 20
	for _, c := range []struct {
		name, end, process string
		v6, early, reset   bool
	}{
		{name: "closes at once", end: "close", process: "banner"},
		{name: "IPv6", end: "close", process: "banner", v6: true},
		{name: "resets", end: "reset", process: "banner"},
		{name: "threads", end: "thread", process: "banner"},
		{name: "another program serves", end: "child", process: "child"},
		{name: "the peer resets", end: "late", process: "banner", reset: true},
		{name: "connections that wait for accept", end: "close", process: "banner", early: true},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			n := newNetwork(t, 0)
			l, to, err := n.Server.Listen()
			if err != nil {
				t.Fatal(err)
			}
			if c.v6 {
				l.Close()
				l = listenShared(t, n.Server, "[fd77::2]:0")
				to = l.Addr().(*net.TCPAddr).AddrPort()
			}
			server := startServer(t, n.Server, l, "banner", fmt.Sprintf("banner %d %s", count, c.end), true)
			var waiting []*net.TCPConn
			if c.early {
				for range count {
					conn, err := n.Client.Dial(to)
					if err != nil {
						t.Fatal(err)
					}
					defer conn.Close()
					waiting = append(waiting, conn)
				}
			}
			obs := observe(t, n, Options{Filter: filter.Filter{
				NetNS: []uint32{n.Server.NetNS}, Comms: []string{c.process},
			}})
			server.goOn()
			if c.early {
				for _, conn := range waiting {
					_, _ = io.Copy(io.Discard, conn)
				}
			} else {
				takeBanners(t, n.Client, to, count, c.reset)
			}
			server.inodes()
			obs.await(time.Minute, "every connection", func(r *recording) bool { return len(r.flows) == count })
			obs.check(func(t *testing.T, r *recording) {
				if len(r.flows) != count || r.loss.Unowned != 0 {
					t.Errorf("%d flows and %d without an owner, want %d and none", len(r.flows), r.loss.Unowned, count)
				}
				for id, f := range r.flows {
					if f.Comm != c.process {
						t.Errorf("%s, want a flow of %s", &f, c.process)
					}
					// The records from before the owner was known are there too.
					opened := r.of(id, tcp.EventOpen)
					if len(opened) != 1 || opened[0].FromSample != c.early {
						t.Errorf("%s: opened %+v", &f, opened)
					}
					if s := r.samples[id]; len(s) < 2 {
						t.Errorf("%s: %d samples", &f, len(s))
					}
				}
				if held := r.source.flows.heldBytes; held != 0 {
					t.Errorf("%d bytes are still held", held)
				}
			})
		})
	}
}

// Each of several processes listens at the same port.
func TestWorkersAreToldApart(t *testing.T) {
	const count = 20
	n := newNetwork(t, 0)
	first := listenShared(t, n.Server, "10.77.0.2:0")
	to := first.Addr().(*net.TCPAddr).AddrPort()
	second := listenShared(t, n.Server, to.String())
	workers := []*helper{
		startServer(t, n.Server, first, "worker", "banner 1000 close", false),
		startServer(t, n.Server, second, "worker", "banner 1000 close", false),
	}
	everyone := observe(t, n, Options{Filter: filter.Filter{
		NetNS: []uint32{n.Server.NetNS}, Comms: []string{"worker"},
	}})
	one := observe(t, n, Options{Filter: filter.Filter{
		NetNS: []uint32{n.Server.NetNS}, PIDs: []uint32{workers[0].pid()},
	}})
	takeBanners(t, n.Client, to, count, false)
	everyone.await(time.Minute, "every connection", func(r *recording) bool { return len(r.flows) == count })
	ofFirst := 0
	everyone.check(func(t *testing.T, r *recording) {
		ofFirst = 0
		for _, f := range r.flows {
			if f.PID == workers[0].pid() {
				ofFirst++
			} else if f.PID != workers[1].pid() {
				t.Errorf("%s: owner %d, want %d or %d", &f, f.PID, workers[0].pid(), workers[1].pid())
			}
		}
		if len(r.flows) != count {
			t.Errorf("%d flows, want %d", len(r.flows), count)
		}
	})
	one.check(func(t *testing.T, r *recording) {
		if len(r.flows) != ofFirst || r.loss.Unowned != 0 {
			t.Errorf("%d flows of one worker, want %d; %d without an owner", len(r.flows), ofFirst, r.loss.Unowned)
		}
	})
}

// A connection that no process has accepted has no owner. A filter by process leaves it out, and
// counts it.
func TestFlowsThatEndWithoutAnOwnerAreCounted(t *testing.T) {
	n := newNetwork(t, 0)
	l, to, err := n.Server.Listen()
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	obs := observe(t, n, Options{Filter: filter.Filter{NetNS: []uint32{n.Server.NetNS}, Comms: []string{"nobody"}}})
	const ended, open = 3, 2
	for k := range ended + open {
		c, err := n.Client.Dial(to)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
		if k < ended {
			linger0(t, c)
		}
	}
	obs.await(time.Minute, "the ends", func(r *recording) bool { return r.loss.Unowned >= ended })
	obs.check(func(t *testing.T, r *recording) {
		if len(r.flows) != 0 || r.loss.Unowned != ended+open {
			t.Errorf("%d flows, %d without an owner, want 0 and %d", len(r.flows), r.loss.Unowned, ended+open)
		}
	})
}

// Further subflows of an MPTCP connection are opened by a thread of the kernel. They belong to the
// process that has the connection, at both ends.
func TestSubflowsOfMPTCPBelongToTheProcess(t *testing.T) {
	n := newNetwork(t, 0)
	for _, c := range []struct {
		host *testnet.Host
		args []string
	}{
		{n.Client, []string{"mptcp", "limits", "set", "subflows", "2"}},
		{n.Server, []string{"mptcp", "limits", "set", "subflows", "2"}},
		{n.Client, []string{"addr", "add", "10.77.0.11/24", "dev", "eth0"}},
		{n.Client, []string{"mptcp", "endpoint", "add", "10.77.0.11", "dev", "eth0", "subflow"}},
	} {
		if out, err := c.host.Run("ip", c.args...); err != nil {
			t.Skipf("needs a kernel with MPTCP: ip %v: %v: %s", c.args, err, out)
		}
	}
	l := listenMPTCP(t, n.Server)
	to := l.Addr().(*net.TCPAddr).AddrPort()
	server := startServer(t, n.Server, l, "mpserver", "accept 1 3000000", false)
	client := startHelper(t, n.Client, "mpclient", fmt.Sprintf("mpdial %s 3000000", to), func(cmd *exec.Cmd) {
		cmd.Env = append(cmd.Env, "AIRTIDE_BPF_TEST_WAIT=1")
	})
	all := observe(t, n, Options{Filter: filter.Filter{NetNS: []uint32{n.Client.NetNS}}})
	byProcess := observe(t, n, Options{Filter: filter.Filter{
		NetNS: []uint32{n.Client.NetNS}, Comms: []string{"mpclient"},
	}})
	ofServer := observe(t, n, Options{Filter: filter.Filter{
		NetNS: []uint32{n.Server.NetNS}, Comms: []string{"mpserver"},
	}})
	client.goOn()
	client.inodes()
	sum := func(r *recording, field tcp.Field) (sum int64) {
		for id := range r.flows {
			if s := r.samples[id]; len(s) > 0 {
				sum += s[len(s)-1].Values[field]
			}
		}
		return sum
	}
	for _, c := range []struct {
		name, process string
		obs           *observation
		pid           uint32
		bytes         tcp.Field
	}{
		{"all of the client", "mpclient", all, client.pid(), tcp.AckedBytes},
		{"by the client's process", "mpclient", byProcess, client.pid(), tcp.AckedBytes},
		{"by the server's process", "mpserver", ofServer, server.pid(), tcp.ReceivedBytes},
	} {
		c.obs.await(time.Minute, "both subflows "+c.name, func(r *recording) bool {
			return len(r.flows) == 2 && sum(r, c.bytes) > 2_900_000
		})
		c.obs.check(func(t *testing.T, r *recording) {
			for _, f := range r.flows {
				if f.PID != c.pid || f.Comm != c.process {
					t.Errorf("%s: %s: owner %d %q, want %d", c.name, &f, f.PID, f.Comm, c.pid)
				}
			}
		})
	}
}

func listenMPTCP(t *testing.T, host *testnet.Host) *net.TCPListener {
	t.Helper()
	var config net.ListenConfig
	config.SetMultipathTCP(true)
	var l net.Listener
	err := host.Do(func() (err error) {
		l, err = config.Listen(context.Background(), "tcp", "10.77.0.2:0")
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return l.(*net.TCPListener)
}

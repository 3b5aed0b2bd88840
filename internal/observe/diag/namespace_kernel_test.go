//go:build kernel

package diag

import (
	"fmt"
	"net"
	"os"
	"os/exec"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/kernel/sockets/owner"
	"airtide/test/need"
)

// namespace makes a network namespace with a veth pair to another one; the returned functions dial
// from one to the other. Everything is deleted after the test.
type namespace struct {
	name    string
	inode   uint32
	address string
}

func makePair(t *testing.T) (near, far namespace) {
	t.Helper()
	need.Root(t)
	for i, ns := range []*namespace{&near, &far} {
		ns.name = fmt.Sprintf("diag-%d-%d", os.Getpid(), i)
		ns.address = fmt.Sprintf("10.99.0.%d", i+1)
		run(t, "ip", "netns", "add", ns.name)
		t.Cleanup(func() { _ = exec.Command("ip", "netns", "delete", ns.name).Run() })
		inode, err := owner.ParseNetNS(ns.name)
		if err != nil {
			t.Fatal(err)
		}
		ns.inode = inode
	}
	run(t, "ip", "-n", near.name, "link", "add", "v0", "type", "veth", "peer", "name", "v0", "netns", far.name)
	for _, ns := range []namespace{near, far} {
		run(t, "ip", "-n", ns.name, "address", "add", ns.address+"/24", "dev", "v0")
		run(t, "ip", "-n", ns.name, "link", "set", "v0", "up")
	}
	return near, far
}

// inside runs f on a thread that is in the namespace for so long.
func (n namespace) inside(t *testing.T, f func() error) {
	t.Helper()
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	own, err := unix.Open("/proc/thread-self/ns/net", unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(own)
	fd, err := unix.Open("/run/netns/"+n.name, unix.O_RDONLY|unix.O_CLOEXEC, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(fd)
	if err := unix.Setns(fd, unix.CLONE_NEWNET); err != nil {
		t.Fatal(err)
	}
	err = f()
	if back := unix.Setns(own, unix.CLONE_NEWNET); back != nil {
		panic(back)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// socketsIn counts this process's sockets that live in the namespace.
func (n namespace) socketsIn(t *testing.T) (count int) {
	t.Helper()
	fds, err := os.ReadDir("/proc/self/fd")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range fds {
		fd, _ := strconv.Atoi(e.Name())
		ns, err := unix.IoctlRetInt(fd, unix.SIOCGSKNS)
		if err != nil {
			continue // no socket
		}
		if inode, err := owner.NetNSOfFD(ns, e.Name()); err == nil && inode == n.inode {
			count++
		}
		unix.Close(ns)
	}
	return count
}

// connectPair connects near to far.
func connectPair(t *testing.T, near, far namespace) (client, server *net.TCPConn) {
	t.Helper()
	var l net.Listener
	far.inside(t, func() (err error) { l, err = net.Listen("tcp4", far.address+":0"); return err })
	defer l.Close()
	near.inside(t, func() error {
		// The dialer makes its socket on this thread.
		c, err := (&net.Dialer{Timeout: 5 * time.Second}).Dial("tcp4", l.Addr().String())
		if err == nil {
			client = c.(*net.TCPConn)
		}
		return err
	})
	s, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	server = s.(*net.TCPConn)
	t.Cleanup(func() { client.Close(); server.Close() })
	return client, server
}

func TestAllNamespacesArePolledAndNewOnesFound(t *testing.T) {
	need.Root(t)
	r, s, stop := start(
		t,
		Options{
			Interval: 20 * time.Millisecond, AllNamespaces: true,
			Filter: filter.Filter{PIDs: []uint32{uint32(os.Getpid())}},
		},
	)
	near, far := makePair(t) // after the start
	eventually(t, "both are opened", func() bool { return near.socketsIn(t) == 1 && far.socketsIn(t) == 1 })
	client, server := connectPair(t, near, far)
	local, localServer := connect(t, "tcp4", "127.0.0.1:0")
	transfer(t, client, server, 1<<20)
	transfer(t, local, localServer, 1<<20)
	eventually(t, "both ends and the own namespace are seen", func() bool {
		_, a := r.find(client.LocalAddr())
		_, b := r.find(server.LocalAddr())
		_, c := r.find(local.LocalAddr())
		return a && b && c
	})
	for _, c := range []struct {
		conn *net.TCPConn
		want uint32
	}{{client, near.inode}, {server, far.inode}} {
		if f, _ := r.find(c.conn.LocalAddr()); f.NetNS != c.want {
			t.Errorf("%v: namespace %d, want %d", &f, f.NetNS, c.want)
		}
	}
	if n, d := s.Stats().Namespaces, s.Description(); n < 3 || !strings.Contains(d, " network namespaces") {
		t.Errorf("%d namespaces polled, want 3 or more; %q", n, d)
	}
	// Deleted ones are let go, or they would live on through the source's own sockets.
	client.Close()
	server.Close()
	run(t, "ip", "netns", "delete", near.name)
	run(t, "ip", "netns", "delete", far.name)
	eventually(t, "the namespaces are given up", func() bool { return near.socketsIn(t)+far.socketsIn(t) == 0 })
	stop()
}

func TestFilterPicksNamespaces(t *testing.T) {
	near, far := makePair(t)
	client, server := connectPair(t, near, far)
	local, _ := connect(t, "tcp4", "127.0.0.1:0")
	r, s, stop := start(t, Options{Filter: filter.Filter{NetNS: []uint32{near.inode}}})
	eventually(t, "five polls", func() bool { return s.Stats().Polls >= 5 })
	stop()
	if _, ok := r.find(client.LocalAddr()); !ok {
		t.Error("the end in the namespace is not seen")
	}
	for _, other := range []net.Addr{server.LocalAddr(), local.LocalAddr()} {
		if f, ok := r.find(other); ok {
			t.Errorf("%v in namespace %d is seen", &f, f.NetNS)
		}
	}
}

func TestRunLeavesItsThreadsInTheirNamespace(t *testing.T) {
	near, _ := makePair(t)
	before, err := owner.SelfNetNS()
	if err != nil {
		t.Fatal(err)
	}
	for range 20 {
		s, err := New(Options{Filter: filter.Filter{NetNS: []uint32{near.inode}}})
		if err != nil {
			t.Fatal(err)
		}
		s.Close()
	}
	// A thread ends shortly after the goroutine that left it in the namespace.
	eventually(t, fmt.Sprintf("all threads are in namespace %d", before), func() bool {
		tasks, err := os.ReadDir("/proc/self/task")
		if err != nil {
			t.Fatal(err)
		}
		for _, task := range tasks {
			now, err := owner.NetNSOfFile("/proc/self/task/" + task.Name() + "/ns/net")
			if err == nil && now == near.inode {
				return false
			}
		}
		return true
	})
}

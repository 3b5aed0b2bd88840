//go:build kernel

package timewarp

import (
	"encoding/binary"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"
	"golang.org/x/sys/unix"

	"airtide/internal/sys/thread"
)

// A path between two hosts (network namespaces). Its delay in real time does not depend on N.
// This process carries the segments and records them.

// host is a network namespace with a TUN device. A thread in it calls functions.
type host struct {
	do  chan func()
	tun *os.File
	ip  string
}

// newHost makes one with an address of 10.77.0.0/24.
func newHost(t testing.TB, ip string) *host {
	t.Helper()
	h := &host{do: make(chan func()), ip: ip}
	ready := make(chan error)
	thread.Go(func() {
		err := unix.Unshare(unix.CLONE_NEWNET)
		if err == nil {
			err = h.configure()
		}
		ready <- err
		for f := range h.do {
			f()
		}
	})
	if err := <-ready; err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { close(h.do); _ = h.tun.Close() })
	return h
}

func (h *host) configure() error {
	// Not blocking, so closing it ends the reader.
	fd, err := unix.Open("/dev/net/tun", unix.O_RDWR|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return fmt.Errorf("opening a TUN device: %w", err)
	}
	request, err := unix.NewIfreq("path0")
	if err != nil {
		return err
	}
	request.SetUint16(unix.IFF_TUN | unix.IFF_NO_PI)
	if err := unix.IoctlIfreq(fd, unix.TUNSETIFF, request); err != nil {
		return fmt.Errorf("making a TUN device: %w", err)
	}
	h.tun = os.NewFile(uintptr(fd), "/dev/net/tun")
	link, err := netlink.LinkByName("path0")
	if err != nil {
		return err
	}
	address, err := netlink.ParseAddr(h.ip + "/24")
	if err != nil {
		return err
	}
	if err := netlink.AddrAdd(link, address); err != nil {
		return err
	}
	return netlink.LinkSetUp(link)
}

// in calls f in the namespace.
func (h *host) in(t testing.TB, f func() error) {
	t.Helper()
	result := make(chan error)
	h.do <- func() { result <- f() }
	if err := <-result; err != nil {
		t.Fatal(err)
	}
}

func (h *host) sysctl(t testing.TB, name, value string) {
	t.Helper()
	h.in(t, func() error {
		return os.WriteFile("/proc/sys/"+strings.ReplaceAll(name, ".", "/"), []byte(value), 0)
	})
}

func (h *host) errors(t testing.TB) (e Errors) {
	t.Helper()
	h.in(t, func() (err error) {
		e, err = (&Kernel{proc: "/proc/thread-self"}).ReadErrors()
		return err
	})
	return e
}

// segment is a segment that arrived at an end of the path.
type segment struct {
	at       time.Duration // time since the path began
	forward  bool          // true from the first host to the second
	flags    byte
	seq, ack uint32
	payload  int
	sent     time.Duration // TCP's timestamp: the sender's clock in ms, with an arbitrary zero
}

const (
	flagSYN = 2
	flagACK = 16
)

// path joins two hosts. Times are of the clock: N times real ones.
type path struct {
	delay      time.Duration // each way
	stallEvery time.Duration // period of the stalls; 0 for none
	stallFor   time.Duration
	rate       float64 // bytes per second forward, 0 for no limit
	queue      time.Duration
	began      time.Time

	mu       sync.Mutex
	lose     func(segment) bool // nil for none
	segments []segment
	late     time.Duration // the worst
	full     int           // packets that the queue had no room for
}

type packet struct {
	data []byte
	due  time.Duration
}

func (p *path) start(a, b *host) {
	p.began = time.Now()
	p.carry(a, b, true)
	p.carry(b, a, false)
}

func (p *path) now() time.Duration { return time.Since(p.began) }

func (p *path) carry(from, to *host, forward bool) {
	waiting := make(chan packet, 65536)
	go func() {
		defer close(waiting)
		var busy time.Duration // end of the wire's last transmission
		buffer := make([]byte, 65536)
		for {
			n, err := from.tun.Read(buffer)
			if err != nil || n <= 0 {
				return
			}
			now := p.now()
			s, ok := parseSegment(buffer[:n])
			if !ok || !p.note(s, now, forward) {
				continue
			}
			busy = max(busy, now)
			if forward && p.rate > 0 {
				if busy-now > p.queue {
					p.mu.Lock()
					p.full++
					p.mu.Unlock()
					continue
				}
				busy += time.Duration(float64(n) / p.rate * float64(time.Second))
			}
			waiting <- packet{append([]byte(nil), buffer[:n]...), p.afterStall(busy + p.delay)}
		}
	}()
	go func() {
		for q := range waiting {
			time.Sleep(q.due - p.now())
			late := p.now() - q.due
			p.mu.Lock()
			p.late = max(p.late, late)
			p.mu.Unlock()
			if _, err := to.tun.Write(q.data); err != nil {
				return
			}
		}
	}()
}

// afterStall returns the arrival time of a packet, which a stall may delay.
func (p *path) afterStall(at time.Duration) time.Duration {
	if p.stallEvery > 0 {
		if into := at % p.stallEvery; into > p.stallEvery-p.stallFor {
			return at - into + p.stallEvery
		}
	}
	return at
}

// note records a segment and returns whether it passes.
func (p *path) note(s segment, now time.Duration, forward bool) bool {
	s.at = now
	s.forward = forward
	p.mu.Lock()
	defer p.mu.Unlock()
	p.segments = append(p.segments, s)
	return p.lose == nil || !p.lose(s)
}

func (p *path) losing(lose func(segment) bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.lose = lose
}

// seen returns the recorded segments that match.
func (p *path) seen(like func(segment) bool) (all []segment) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, s := range p.segments {
		if like(s) {
			all = append(all, s)
		}
	}
	return all
}

// parseSegment reads TCP over IPv4. No other packet passes.
func parseSegment(b []byte) (s segment, ok bool) {
	if len(b) < 40 || b[0]>>4 != 4 || b[9] != unix.IPPROTO_TCP {
		return s, false
	}
	head := int(b[0]&15) * 4
	tcp := b[head:]
	return segment{
		seq: binary.BigEndian.Uint32(tcp[4:]), ack: binary.BigEndian.Uint32(tcp[8:]), flags: tcp[13],
		payload: len(tcp) - int(tcp[12]>>4)*4, sent: timestamp(tcp[20 : tcp[12]>>4*4]),
	}, true
}

// timestamp returns the timestamp among TCP's options (RFC 7323); 0 if there is none.
func timestamp(options []byte) time.Duration {
	const end, noOperation, stamp = 0, 1, 8
	for len(options) > 1 && options[0] != end {
		switch {
		case options[0] == noOperation:
			options = options[1:]
			continue
		case options[0] == stamp && len(options) >= 6:
			return time.Duration(binary.BigEndian.Uint32(options[2:])) * time.Millisecond
		}
		options = options[min(max(int(options[1]), 2), len(options)):]
	}
	return 0
}

// connect opens a connection from a to b.
func connect(t testing.TB, a, b *host) (client, server *net.TCPConn) {
	t.Helper()
	var l net.Listener
	b.in(t, func() (err error) {
		l, err = net.Listen("tcp4", b.ip+":0")
		return err
	})
	defer l.Close()
	a.in(t, func() error {
		c, err := net.DialTimeout("tcp4", l.Addr().String(), time.Hour)
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

func socketOf(t testing.TB, c *net.TCPConn, f func(fd int) error) {
	t.Helper()
	raw, err := c.SyscallConn()
	if err != nil {
		t.Fatal(err)
	}
	var inner error
	if err := raw.Control(func(fd uintptr) { inner = f(int(fd)) }); err != nil || inner != nil {
		t.Fatal(err, inner)
	}
}

func tcpInfo(t testing.TB, c *net.TCPConn) (info *unix.TCPInfo) {
	t.Helper()
	socketOf(t, c, func(fd int) (err error) {
		info, err = unix.GetsockoptTCPInfo(fd, unix.IPPROTO_TCP, unix.TCP_INFO)
		return err
	})
	return info
}

// insertModules loads what the kernel has as modules, from the files that the test's machine was
// given.
func insertModules(t testing.TB) {
	t.Helper()
	files, _ := filepath.Glob("/modules/*.ko")
	for _, file := range files {
		f, err := os.Open(file)
		if err != nil {
			t.Fatal(err)
		}
		if err := unix.FinitModule(int(f.Fd()), "", 0); err != nil && err != unix.EEXIST {
			t.Errorf("loading %s: %v", file, err)
		}
		f.Close()
	}
}

package metrics

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/netip"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// countingListener fails first with the given errors. It counts open connections.
type countingListener struct {
	net.Listener
	failures   atomic.Int32 // left to fail
	open, most atomic.Int32
}

type countedConn struct {
	net.Conn
	listener *countingListener
	closed   atomic.Bool
}

func (l *countingListener) Accept() (net.Conn, error) {
	if l.failures.Add(-1) >= 0 {
		return nil, &net.OpError{Op: "accept", Net: "tcp", Err: os.NewSyscallError("accept4", unix.EMFILE)}
	}
	conn, err := l.Listener.Accept()
	if err != nil {
		return nil, err
	}
	l.most.Store(max(l.most.Load(), l.open.Add(1)))
	return &countedConn{Conn: conn, listener: l}, nil
}

func (c *countedConn) Close() error {
	if !c.closed.Swap(true) {
		c.listener.open.Add(-1)
	}
	return c.Conn.Close()
}

func serveCounting(t *testing.T, failures int32, set *Set) (*Server, *countingListener) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	counting := &countingListener{Listener: l}
	counting.failures.Store(failures)
	s := serve(counting, set)
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, counting
}

// dial opens a connection from a local address.
func dial(t *testing.T, s *Server, from string) net.Conn {
	t.Helper()
	d := net.Dialer{LocalAddr: &net.TCPAddr{IP: net.ParseIP(from)}}
	conn, err := d.Dial("tcp", s.Address().String())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// large has a page that no socket can hold.
func large() *Set {
	return &Set{Metrics: running.Metrics, Gather: func(context.Context) ([]Point, []Label, error) {
		return []Point{{level, []string{strings.Repeat("x", 4<<20)}, 5}}, nil, nil
	}}
}

// 60 connections of 8 addresses are open that ask for nothing, send one byte, announce a body and
// do not send it, or do not read their page. A scrape is answered at once, from another address and
// from one of theirs, and goes on to be while more come.
func TestAScraperPassesIdleConnections(t *testing.T) {
	const request = "GET /metrics HTTP/1.1\r\nHost: x\r\n"
	for sent, set := range map[string]*Set{
		"": running, "G": running, request + "Content-Length: 9\r\n\r\n": running, request + "\r\n": large(),
	} {
		s, l := serveCounting(t, 0, set)
		for i := range 60 {
			conn := dial(t, s, fmt.Sprint("127.0.0.", 2+i/8))
			if _, err := conn.Write([]byte(sent)); err != nil {
				t.Fatal(err)
			}
			if i%20 != 19 {
				continue
			}
			began := time.Now()
			for _, from := range []string{"127.0.0.1", "127.0.0.2"} {
				conn := dial(t, s, from)
				if _, err := conn.Write([]byte(request + "\r\n")); err != nil {
					t.Fatal(err)
				}
				answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil || answer.StatusCode != http.StatusOK {
					t.Fatalf("%q: after %d connections a scrape from %s: %v, %v", sent, i+1, from, answer, err)
				}
				if _, err := io.Copy(io.Discard, answer.Body); err != nil {
					t.Errorf("%q: after %d connections a page from %s: %v", sent, i+1, from, err)
				}
			}
			if waited := time.Since(began); waited >= idleTimeout {
				t.Errorf("%q: scrapes waited %s, until idle connections ended", sent, waited)
			}
		}
		if most := l.most.Load(); most > maxConnections+2 { // a closed one counts until its end
			t.Errorf("%d connections at once, want at most %d", most, maxConnections)
		}
	}
}

// The host with the most connections loses one, not the scraper that is there longest.
func TestTheHostWithTheMostConnectionsLosesOne(t *testing.T) {
	s, _ := serveCounting(t, 0, running)
	first := dial(t, s, "127.0.0.1")
	for i := range 100 {
		dial(t, s, fmt.Sprint("127.0.0.", 2+i%2))
	}
	if _, err := first.Write([]byte("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
		t.Fatal(err)
	}
	if _, err := http.ReadResponse(bufio.NewReader(first), nil); err != nil {
		t.Error(err)
	}
	of := func(text string) netip.Prefix { return hostOf(net.TCPAddrFromAddrPort(netip.MustParseAddrPort(text))) }
	if of("[2001:db8::1]:1") != of("[2001:db8::ffff:0:2]:2") || of("192.0.2.1:1") == of("192.0.2.2:1") {
		t.Error("a host is an IPv4 address or an IPv6 network of 64 bits")
	}
}

// A server that ended would end the agent.
func TestScrapesContinueAfterDescriptorsAreFree(t *testing.T) {
	s, l := serveCounting(t, 3, running)
	if status, text := scrape(t, s); status != http.StatusOK {
		t.Errorf("status %d: %s", status, text)
	}
	if l.failures.Load() >= 0 {
		t.Error("no accept has failed")
	}
}

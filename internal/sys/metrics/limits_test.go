package metrics

import (
	"bufio"
	"net"
	"net/http"
	"os"
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

func serveCounting(t *testing.T, failures int32) (*Server, *countingListener) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	counting := &countingListener{Listener: l}
	counting.failures.Store(failures)
	s := serve(counting, running)
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

// 200 connections are open that ask for nothing, or send one byte. A scrape is answered at once,
// from another address and from theirs, and goes on to be while more come.
func TestAScraperPassesIdleConnections(t *testing.T) {
	for _, sent := range []string{"", "G"} {
		s, l := serveCounting(t, 0)
		for i := range 200 {
			conn := dial(t, s, "127.0.0.2")
			if _, err := conn.Write([]byte(sent)); err != nil {
				t.Fatal(err)
			}
			if i%50 > 0 {
				continue
			}
			began := time.Now()
			for _, from := range []string{"127.0.0.1", "127.0.0.2"} {
				conn := dial(t, s, from)
				if _, err := conn.Write([]byte("GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n")); err != nil {
					t.Fatal(err)
				}
				answer, err := http.ReadResponse(bufio.NewReader(conn), nil)
				if err != nil || answer.StatusCode != http.StatusOK {
					t.Fatalf("after %d idle connections a scrape from %s: %v, %v", i+1, from, answer, err)
				}
			}
			if waited := time.Since(began); waited >= idleTimeout {
				t.Errorf("scrapes waited %s, until idle connections ended", waited)
			}
		}
		if most := l.most.Load(); most > maxConnections+2 { // a closed one counts until its end
			t.Errorf("%d connections at once, want at most %d", most, maxConnections)
		}
	}
}

// A server that ended would end the agent.
func TestScrapesContinueAfterDescriptorsAreFree(t *testing.T) {
	s, l := serveCounting(t, 3)
	if status, text := scrape(t, s); status != http.StatusOK {
		t.Errorf("status %d: %s", status, text)
	}
	if l.failures.Load() >= 0 {
		t.Error("no accept has failed")
	}
}

package metrics

import (
	"net"
	"net/http"
	"os"
	"sync/atomic"
	"testing"

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

// TestIdleConnectionsAreFewAndEnd: with any number of them the agent would run out of descriptors.
func TestIdleConnectionsAreFewAndEnd(t *testing.T) {
	if testing.Short() {
		t.Skip("waits ten seconds")
	}
	s, l := serveCounting(t, 0)
	for range 2 * maxConnections {
		conn, err := net.Dial("tcp", s.Address().String())
		if err != nil {
			t.Fatal(err)
		}
		defer conn.Close()
	}
	// The scrape waits behind them until they are closed for being idle.
	if status, text := scrape(t, s); status != http.StatusOK {
		t.Errorf("status %d: %s", status, text)
	}
	if most := l.most.Load(); most > maxConnections {
		t.Errorf("%d connections at once, want at most %d", most, maxConnections)
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

package diag

import (
	"context"
	"fmt"
	"io"
	"maps"
	"net"
	"os"
	"os/exec"
	"slices"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/tcp"
	"airtide/test/testnet"
)

// crowd is a sink that counts: the samples of many flows are not kept.
type crowd struct {
	tcp.Discard
	mu      sync.Mutex
	flows   map[tcp.FlowID]bool // true if the flow's owner is known
	samples map[tcp.FlowID]int
	closed  int
}

func (c *crowd) Flow(f *tcp.Flow) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.flows[f.ID] = f.PID != 0
	return nil
}

func (c *crowd) Samples(b *tcp.Batch) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, id := range b.Flow {
		c.samples[id]++
	}
	return nil
}

func (c *crowd) Event(e *tcp.Event) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if e.Kind == tcp.EventClose && e.Reason != tcp.ReasonStillOpen {
		c.closed++
	}
	return nil
}

// holds waits until a condition on the counts holds.
func (c *crowd) holds(t *testing.T, what string, holds func() bool) {
	t.Helper()
	testnet.Eventually(t, 30*time.Second, what, func() bool {
		c.mu.Lock()
		defer c.mu.Unlock()
		return holds()
	})
}

func TestTenThousandConnectionsAtOnce(t *testing.T) {
	const connections = 10_000
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil {
		t.Fatal(err)
	}
	if limit.Max < connections+1000 {
		t.Fatalf("the limit of open files is %d: raise it (ulimit -Hn %d)", limit.Max, connections+1000)
	}
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	acceptElsewhere(t, l.(*net.TCPListener))
	conns := make([]net.Conn, 0, connections)
	reset := func() {
		for _, c := range conns {
			_ = c.(*net.TCPConn).SetLinger(0)
			c.Close()
		}
	}
	defer reset()
	for range connections {
		c, err := net.Dial("tcp4", l.Addr().String())
		if err != nil {
			t.Fatalf("after %d connections: %v", len(conns), err)
		}
		conns = append(conns, c)
	}
	s, err := New(Options{Filter: onlyPort(l.Addr())})
	if err != nil {
		t.Fatal(err)
	}
	seen := crowd{flows: map[tcp.FlowID]bool{}, samples: map[tcp.FlowID]int{}}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(ctx, &seen) }()
	seen.holds(t, "all to be seen with their owner", func() bool {
		for _, owned := range seen.flows {
			if !owned {
				return false
			}
		}
		return len(seen.flows) == 2*connections
	})
	polls := s.Stats().Polls
	testnet.Eventually(t, 30*time.Second, "two more polls", func() bool { return s.Stats().Polls >= polls+2 })
	reset()
	seen.holds(t, "all to be closed", func() bool { return seen.closed == 2*connections })
	cancel()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	for id, n := range seen.samples {
		if n < 2 {
			t.Errorf("flow %d has %d samples", id, n)
		}
	}
	if highest := slices.Max(slices.Collect(maps.Keys(seen.flows))); len(seen.flows) != 2*connections ||
		highest != 2*connections {
		t.Errorf("%d flows, highest number %d, want %d: some came twice", len(seen.flows), highest, 2*connections)
	}
}

// acceptElsewhere lets another process accept and hold the connections, for one may not have so
// many files open.
func acceptElsewhere(t *testing.T, l *net.TCPListener) {
	t.Helper()
	file, err := l.File()
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	cmd := exec.Command("/proc/self/exe")
	cmd.Env = append(os.Environ(), childEnv+"=accept")
	cmd.ExtraFiles = []*os.File{file}
	cmd.Stderr = os.Stderr
	input, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		input.Close()
		_ = cmd.Wait()
	})
}

// acceptAsChild accepts what comes to the listener at descriptor 3, and holds it until its input
// ends.
func acceptAsChild() {
	l, err := net.FileListener(os.NewFile(3, "listener"))
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	go func() {
		var held []net.Conn
		for {
			c, err := l.Accept()
			if err != nil {
				fmt.Fprintf(os.Stderr, "after %d connections: %v\n", len(held), err)
				os.Exit(1)
			}
			held = append(held, c)
		}
	}()
	_, _ = io.Copy(io.Discard, os.Stdin)
}

// dialMany makes connections and returns both ends of each.
func dialMany(t testing.TB, l net.Listener, pairs int) (conns []net.Conn) {
	t.Helper()
	for range pairs {
		c, err := net.Dial("tcp4", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		s, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { c.Close(); s.Close() })
		conns = append(conns, c, s)
	}
	return conns
}

// BenchmarkPoll10000Sockets measures one poll of 10 000 sockets that changes nothing.
func BenchmarkPoll10000Sockets(b *testing.B) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		b.Fatal(err)
	}
	defer l.Close()
	dialMany(b, l, 5000)
	s, err := New(Options{Filter: onlyPort(l.Addr())})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	s.sink = tcp.Discard{}
	if err := s.poll(); err != nil {
		b.Fatal(err)
	}
	var before, after unix.Rusage
	_ = unix.Getrusage(unix.RUSAGE_SELF, &before)
	b.ReportAllocs()
	for b.Loop() {
		if err := s.poll(); err != nil {
			b.Fatal(err)
		}
	}
	_ = unix.Getrusage(unix.RUSAGE_SELF, &after)
	per := float64(b.N) * 10_000
	b.ReportMetric(float64(after.Utime.Nano()-before.Utime.Nano())/per, "user-ns/socket")
	b.ReportMetric(float64(after.Stime.Nano()-before.Stime.Nano())/per, "kernel-ns/socket")
}

// BenchmarkPollOfNothing measures what a poll costs by itself: the kernel's walk over its table.
func BenchmarkPollOfNothing(b *testing.B) {
	s, err := New(Options{Filter: filter.Filter{Ports: []uint16{1}}})
	if err != nil {
		b.Fatal(err)
	}
	defer s.Close()
	s.sink = tcp.Discard{}
	for b.Loop() {
		if err := s.poll(); err != nil {
			b.Fatal(err)
		}
	}
}

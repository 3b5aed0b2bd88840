package diag

import (
	"net"
	"slices"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"airtide/monitor/filter"
	"airtide/tcp"
)

func TestThousandsOfConnections(t *testing.T) {
	const pairs = 1500
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	conns := dialMany(t, l, pairs)
	r, s, stop := start(t, Options{Interval: 50 * time.Millisecond, Filter: onlyPort(l.Addr())})
	eventually(t, "all are seen with their owner", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		for _, f := range r.flows {
			if f.PID == 0 {
				return false
			}
		}
		return len(r.flows) == 2*pairs
	})
	eventually(t, "five polls", func() bool { return s.Stats().Polls >= 5 })
	for _, c := range conns {
		_ = c.(*net.TCPConn).SetLinger(0)
		c.Close()
	}
	eventually(t, "all are closed", func() bool {
		r.mu.Lock()
		defer r.mu.Unlock()
		n := 0
		for _, e := range r.events {
			if e.Kind == tcp.EventClose {
				n++
			}
		}
		return n == 2*pairs
	})
	stop()
	for id, samples := range r.samples {
		if len(samples) < 2 {
			t.Errorf("flow %d has %d samples", id, len(samples))
		}
	}
	if len(r.flows) != 2*pairs || slices.Max(keys(r.flows)) != 2*pairs {
		t.Errorf("%d flows, highest number %d, want %d: some came twice", len(r.flows), slices.Max(keys(r.flows)), 2*pairs)
	}
}

func keys(m map[tcp.FlowID]tcp.Flow) (ids []tcp.FlowID) {
	for id := range m {
		ids = append(ids, id)
	}
	return ids
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

package diag

import (
	"context"
	"fmt"
	"io"
	"net"
	"os"
	"sync"
	"testing"
	"time"

	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/tcp"
	"airtide/test/testnet"
)

// recorder is a sink that keeps everything.
type recorder struct {
	mu      sync.Mutex
	flows   map[tcp.FlowID]tcp.Flow
	samples map[tcp.FlowID][]tcp.Sample
	events  []tcp.Event
	batches int
	err     error // returned from Samples
}

func newRecorder() *recorder {
	return &recorder{flows: map[tcp.FlowID]tcp.Flow{}, samples: map[tcp.FlowID][]tcp.Sample{}}
}

func (r *recorder) Flow(f *tcp.Flow) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.flows[f.ID] = *f
	return nil
}

func (r *recorder) Samples(b *tcp.Batch) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.batches++
	for i := range b.Len() {
		var s tcp.Sample
		b.Row(i, &s)
		if _, known := r.flows[s.Flow]; !known {
			return fmt.Errorf("sample of flow %d, which was not announced", s.Flow)
		}
		r.samples[s.Flow] = append(r.samples[s.Flow], s)
	}
	return r.err
}

func (r *recorder) Event(e *tcp.Event) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	if _, known := r.flows[e.Flow]; !known {
		return fmt.Errorf("event of flow %d, which was not announced", e.Flow)
	}
	r.events = append(r.events, *e)
	return nil
}

func (r *recorder) Lost(*tcp.Loss) error { return nil }

func (r *recorder) Radio(*tcp.Radio) error { return nil }

// find gives the flow with this local address.
func (r *recorder) find(local net.Addr) (tcp.Flow, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	want := local.(*net.TCPAddr).AddrPort()
	for _, f := range r.flows {
		if f.Local.Port() == want.Port() && f.Local.Addr().Unmap() == want.Addr().Unmap() {
			return f, true
		}
	}
	return tcp.Flow{}, false
}

func (r *recorder) last(id tcp.FlowID) (tcp.Sample, bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	s := r.samples[id]
	if len(s) == 0 {
		return tcp.Sample{}, false
	}
	return s[len(s)-1], true
}

func (r *recorder) eventsOf(id tcp.FlowID, kind tcp.EventKind) (list []tcp.Event) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, e := range r.events {
		if e.Flow == id && e.Kind == kind {
			list = append(list, e)
		}
	}
	return list
}

// start runs a source into a recorder until the test or stop ends it.
func start(t *testing.T, o Options) (r *recorder, s *Source, stop func()) {
	t.Helper()
	if o.Interval == 0 {
		o.Interval = 10 * time.Millisecond
	}
	s, err := New(o)
	if err != nil {
		t.Fatal(err)
	}
	r = newRecorder()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- s.Run(ctx, r) }()
	stop = sync.OnceFunc(func() {
		cancel()
		if err := <-done; err != nil {
			t.Errorf("Run: %v", err)
		}
	})
	t.Cleanup(stop)
	return r, s, stop
}

// eventually waits until something holds.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	testnet.Eventually(t, time.Minute, what, holds)
}

// connect makes a connection over loopback and returns both ends.
func connect(t testing.TB, network, address string) (client, server *net.TCPConn) {
	t.Helper()
	l, err := net.Listen(network, address)
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	if address == ":0" { // listens on ::
		address = fmt.Sprintf("127.0.0.1:%d", portOf(l.Addr()))
	} else {
		address = l.Addr().String()
	}
	c, err := net.Dial("tcp", address)
	if err != nil {
		t.Fatal(err)
	}
	s, err := l.Accept()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close(); s.Close() })
	return c.(*net.TCPConn), s.(*net.TCPConn)
}

// transfer sends n bytes and waits until they are read.
func transfer(t testing.TB, from, to net.Conn, n int64) {
	t.Helper()
	done := make(chan error, 1)
	go func() {
		_, err := io.CopyN(io.Discard, to, n)
		done <- err
	}()
	if _, err := io.CopyN(from, zeros{}, n); err != nil {
		t.Fatal(err)
	}
	if err := <-done; err != nil {
		t.Fatal(err)
	}
}

type zeros struct{}

func (zeros) Read(b []byte) (int, error) { clear(b); return len(b), nil }

func portOf(a net.Addr) uint16 { return a.(*net.TCPAddr).AddrPort().Port() }

func onlyPort(a net.Addr) filter.Filter { return filter.Filter{Ports: []uint16{portOf(a)}} }

// childEnv tells this test binary that it was started by one of its own tests.
const childEnv = "DIAG_TEST_CHILD"

func TestMain(m *testing.M) {
	switch os.Getenv(childEnv) {
	case "":
		os.Exit(m.Run())
	case "connect":
		connectAsChild()
	case "unprivileged":
		observeUnprivileged()
	case "accept":
		acceptAsChild()
	}
}

package diag

import (
	"context"
	"errors"
	"os"
	"strings"
	"testing"
	"time"

	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/tcp"
	"airtide/test/testnet"
)

func TestErrorOfTheSinkEndsRun(t *testing.T) {
	client, server := connect(t, "tcp4", "127.0.0.1:0")
	_ = client
	s, err := New(Options{Filter: onlyPort(server.LocalAddr())})
	if err != nil {
		t.Fatal(err)
	}
	r := newRecorder()
	r.err = errors.New("disk full")
	if err := s.Run(context.Background(), r); !errors.Is(err, r.err) {
		t.Errorf("got %v", err)
	}
}

func TestBatchIsFlushedWhenFullAndAfterEachPoll(t *testing.T) {
	for range 5 {
		connect(t, "tcp4", "127.0.0.1:0")
	}
	_, server := connect(t, "tcp4", "127.0.0.1:0")
	all := filter.Filter{PIDs: []uint32{uint32(os.Getpid())}}
	_ = server
	s, err := New(Options{Filter: all, BatchRows: 4})
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.Background())
	r := newRecorder()
	sizes := tcp.Tee{r, &sizeSink{most: 4, t: t}, &onceSink{f: cancel}}
	if err := s.Run(ctx, sizes); err != nil {
		t.Fatal(err)
	}
	if len(r.flows) != 12 || r.batches < 2*3 {
		t.Errorf("%d flows in %d batches, want 12 flows and three batches in each of two polls", len(r.flows),
			r.batches)
	}
}

type sizeSink struct {
	tcp.Discard
	most int
	t    *testing.T
}

func (s *sizeSink) Samples(b *tcp.Batch) error {
	if b.Len() > s.most || b.Len() == 0 {
		s.t.Errorf("batch of %d rows, want 1 to %d", b.Len(), s.most)
	}
	return nil
}

type onceSink struct {
	tcp.Discard
	f func()
}

func (s *onceSink) Samples(*tcp.Batch) error { s.f(); return nil }

func TestSlowPollsAreCountedAndDescribed(t *testing.T) {
	_, server := connect(t, "tcp4", "127.0.0.1:0")
	s, err := New(Options{Interval: 5 * time.Millisecond, Filter: onlyPort(server.LocalAddr())})
	if err != nil {
		t.Fatal(err)
	}
	if d := s.Description(); d != "inet_diag polled every 5ms in 1 network namespace" {
		t.Errorf("before: %q", d)
	}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	sink := &onceSink{f: func() {
		testnet.Idle(t, 30*time.Millisecond, "the sink is slow")
		if s.Stats().Polls >= 3 {
			cancel()
		}
	}}
	if err := s.Run(ctx, sink); err != nil {
		t.Fatal(err)
	}
	// The five polls that are due while the sink works would be late, and as many after them leave
	// half of the time to others.
	if st := s.Stats(); st.Skipped < 5*st.Polls || st.Longest < 30*time.Millisecond {
		t.Errorf("%+v: want polls at most half of the time and the others counted", st)
	}
	if d := s.Description(); !strings.Contains(d, "polls left out") {
		t.Errorf("after: %q", d)
	}
}

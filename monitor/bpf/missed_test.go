package bpf

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"airtide/internal/testnet"
	"airtide/monitor/filter"
	"airtide/tcp"
)

// tally counts the samples that segments caused, by flow: of some 100 000 a second none is kept.
type tally struct {
	tcp.Discard
	mu      sync.Mutex
	flows   map[tcp.FlowID]tcp.Flow
	packets map[tcp.FlowID]int
	loss    tcp.Loss
}

func (s *tally) Flow(f *tcp.Flow) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.flows[f.ID] = *f
	return nil
}

func (s *tally) Samples(b *tcp.Batch) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for i, id := range b.Flow {
		if b.Cols[tcp.AckBytes][i] != tcp.Absent {
			s.packets[id]++
		}
	}
	return nil
}

func (s *tally) Lost(l *tcp.Loss) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.loss = *l
	return nil
}

// busy lets the connections send both ways as fast as they can, until end, which waits until all has arrived.
func busy(t *testing.T, conns []*net.TCPConn) (end func()) {
	t.Helper()
	stop := make(chan struct{})
	var writing sync.WaitGroup
	for _, c := range conns {
		if err := c.SetWriteBuffer(64 << 10); err != nil { // which has soon arrived
			t.Fatal(err)
		}
		go func() { _, _ = io.Copy(io.Discard, c) }()
		writing.Go(func() {
			b := make([]byte, 20_000)
			for {
				select {
				case <-stop:
					return
				default:
				}
				if _, err := c.Write(b); err != nil {
					return // the test has failed and closes it
				}
			}
		})
	}
	return func() {
		close(stop)
		writing.Wait()
		quiet(t, conns...)
	}
}

// With many flows a soft interrupt now and then delivers a segment while the program runs already, for a process that works
// through its socket's backlog. The kernel leaves the program out then: what there is no sample of is counted.
func TestRunsThatTheKernelLeavesOutAreCounted(t *testing.T) {
	if !hasMember(ownTypes(t), "bpf_prog_stats", "misses") {
		t.Skip("needs kernel 5.12, which counts them")
	}
	n := newNetwork(t, 0)
	s := open(t, Options{Attach: forms[0], Filter: filter.Filter{NetNS: []uint32{n.Client.NetNS, n.Server.NetNS}}})
	defer s.Close()
	seen := tally{flows: map[tcp.FlowID]tcp.Flow{}, packets: map[tcp.FlowID]int{}}
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.Run(ctx, &seen); err != nil {
			t.Error(err)
		}
	})
	before := counters(t, n.Client)
	var clients, all []*net.TCPConn
	for range 32 {
		client, server := n.Connect(testnet.Dial{})
		clients, all = append(clients, client), append(all, client, server)
	}
	end := busy(t, all)
	testnet.Eventually(t, 30*time.Second, "the kernel to leave out a run", func() bool {
		seen.mu.Lock()
		defer seen.mu.Unlock()
		return seen.loss.Missed > 0
	})
	end()
	segments := -int(counters(t, n.Client)["TCPBacklogCoalesce"] - before["TCPBacklogCoalesce"])
	for _, c := range clients {
		segments += int(testnet.Info(t, c).Segs_in) - 1 // the SYN-ACK comes before the hook
	}
	time.Sleep(20 * time.Millisecond)
	cancel()
	running.Wait()
	samples := 0
	for id, f := range seen.flows {
		if f.NetNS == n.Client.NetNS {
			samples += seen.packets[id]
		}
	}
	// Runs for the servers' ends, other hooks and other connections of the machine are left out as well.
	if missing := segments - samples; missing < 0 || missing > int(seen.loss.Total()) {
		t.Errorf("%d segments and %d samples, of which %+v are lost", segments, samples, seen.loss)
	}
}

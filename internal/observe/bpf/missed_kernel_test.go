//go:build kernel

package bpf

import (
	"context"
	"io"
	"net"
	"sync"
	"testing"
	"time"

	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/tcp"
	"airtide/test/testnet"
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

func (s *tally) missed() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.loss.Missed
}

// busy lets the connections send both ways as fast as they can, until end, which waits until all
// has arrived.
func busy(t *testing.T, conns []*net.TCPConn) (end func()) {
	t.Helper()
	stop := make(chan struct{})
	var writing sync.WaitGroup
	for _, c := range conns {
		if err := c.SetWriteBuffer(64 << 10); err != nil { // so little arrives soon
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

// With many flows a soft interrupt now and then delivers segments while the program runs already,
// for a process that works through its socket's backlog. The kernel then leaves the program
// out. Segments without a sample are counted.
func TestRunsThatTheKernelLeavesOutAreCounted(t *testing.T) {
	if !hasMember(ownTypes(t), "bpf_prog_stats", "misses") {
		t.Skip("needs kernel 5.12, which counts them")
	}
	const attempts = 6
	for range attempts {
		if runsAreLeftOut(t) {
			return
		}
	}
	t.Fatalf("in none of %d attempts did the kernel leave out runs and count all of them", attempts)
}

// runsAreLeftOut lets many flows send until runs are left out, and judges. False when none were;
// and when more are missing on a kernel that leaves out programs, without counting, wherever
// process 1 is interrupted (bpf_prog_aux.init_owned).
func runsAreLeftOut(t *testing.T) bool {
	n := newNetwork(t, 0)
	s := open(t, Options{Attach: forms[0], Filter: filter.Filter{NetNS: []uint32{n.Client.NetNS, n.Server.NetNS}}})
	seen := tally{flows: map[tcp.FlowID]tcp.Flow{}, packets: map[tcp.FlowID]int{}}
	ctx, cancel := context.WithCancel(context.Background())
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.Run(ctx, &seen); err != nil {
			t.Error(err)
		}
	})
	defer func() {
		cancel()
		running.Wait()
		s.Close()
	}()
	before := counters(t, n.Client)
	var clients, all []*net.TCPConn
	for range 32 {
		client, server := n.Connect(testnet.Dial{})
		clients = append(clients, client)
		all = append(all, client, server)
	}
	end := busy(t, all)
	testnet.Await(15*time.Second, func() bool { return seen.missed() > 0 })
	end()
	segments := -int(counters(t, n.Client)["TCPBacklogCoalesce"] - before["TCPBacklogCoalesce"])
	for _, c := range clients {
		segments += int(testnet.Info(t, c).Segs_in) - 1 // the SYN-ACK comes before the hook
	}
	n.Settle(settled)
	cancel()
	running.Wait()
	samples := 0
	for id, f := range seen.flows {
		if f.NetNS == n.Client.NetNS {
			samples += seen.packets[id]
		}
	}
	// Runs for the servers' ends, other hooks and other connections of the machine are left out as
	// well.
	missing := segments - samples
	switch {
	case seen.loss.Missed == 0:
		t.Logf("played again: of %d segments every run was made", segments)
		return false
	case missing > int(seen.loss.Total()) && hasMember(ownTypes(t), "bpf_prog_aux", "init_owned"):
		t.Logf("played again: of %d segments %d have no sample, lost are %+v", segments, missing, seen.loss)
		return false
	case missing < 0 || missing > int(seen.loss.Total()):
		t.Errorf("of %d segments %d have no sample, lost are %+v", segments, missing, seen.loss)
	}
	return true
}

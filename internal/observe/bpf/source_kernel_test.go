//go:build kernel

package bpf

import (
	"context"
	"slices"
	"sync"
	"testing"
	"time"

	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/tcp"
	"airtide/test/testnet"
)

// lossTimes keeps when the lost counts came, and how many samples had come by then.
type lossTimes struct {
	tcp.Discard
	mu      sync.Mutex
	samples int
	times   []time.Time
	before  []int
}

func (l *lossTimes) Samples(b *tcp.Batch) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.samples += b.Len()
	return nil
}

func (l *lossTimes) Lost(*tcp.Loss) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.times = append(l.times, time.Now())
	l.before = append(l.before, l.samples)
	return nil
}

// A recording is written down at the lost counts: they come more often than once a second, and
// after all that came before.
func TestNothingWaitsForItsBatchWhenTheLostCountsCome(t *testing.T) {
	n := newNetwork(t, 0)
	s := open(t, Options{
		Attach: forms[0], BatchTime: time.Hour, Filter: filter.Filter{NetNS: []uint32{n.Client.NetNS, n.Server.NetNS}},
	})
	defer s.Close()
	client, server := n.Connect(testnet.Dial{})
	send(t, client, server, 100*mss)
	quiet(t, client)
	ctx, cancel := context.WithCancel(context.Background())
	var seen lossTimes
	var running sync.WaitGroup
	running.Go(func() {
		if err := s.Run(ctx, &seen); err != nil {
			t.Error(err)
		}
	})
	testnet.Eventually(t, 20*time.Second, "the lost counts four times", func() bool {
		seen.mu.Lock()
		defer seen.mu.Unlock()
		return len(seen.times) >= 4
	})
	cancel()
	running.Wait()
	if seen.samples < 4 || seen.before[0] != seen.samples {
		t.Errorf("%d samples at the first lost counts, %d at the end", seen.before[0], seen.samples)
	}
	var gaps []time.Duration
	for i := range 3 {
		gaps = append(gaps, seen.times[i+1].Sub(seen.times[i]))
	}
	// A machine that stands still may make some of them late.
	if least := slices.Min(gaps); least > 950*time.Millisecond {
		t.Errorf("the lost counts come after %v", gaps)
	}
}

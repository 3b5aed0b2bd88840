//go:build kernel

package congestion

import (
	"context"
	"net"
	"sync"
	"testing"

	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/observe/bpf"
	"airtide/internal/tcp"
)

// windows records the samples of one end of one connection.
type windows struct {
	tcp.Discard
	local uint16

	mu      sync.Mutex
	flow    map[tcp.FlowID]bool
	samples []tcp.Sample
}

func (w *windows) Flow(f *tcp.Flow) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.flow[f.ID] = f.Local.Port() == w.local
	return nil
}

func (w *windows) Samples(b *tcp.Batch) error {
	w.mu.Lock()
	defer w.mu.Unlock()
	for i := range b.Len() {
		if w.flow[b.Flow[i]] {
			var s tcp.Sample
			b.Row(i, &s)
			w.samples = append(w.samples, s)
		}
	}
	return nil
}

// aliases tells the monitor the kinds of the congestion controls, so that it can read their state.
func aliases() (map[string]string, error) {
	all, err := Registered()
	names := map[string]string{}
	for _, e := range all {
		names[e.Name] = string(e.Kind)
	}
	return names, err
}

// recorded returns the samples of the client's end, one for each ACK, while f ran.
func recorded(t *testing.T, client *net.TCPConn, f func()) []tcp.Sample {
	t.Helper()
	local := uint16(client.LocalAddr().(*net.TCPAddr).Port)
	source, err := bpf.Open(bpf.Options{Filter: filter.Filter{Ports: []uint16{local}}, Aliases: aliases})
	if err != nil {
		t.Fatal(err)
	}
	defer source.Close()
	w := &windows{local: local, flow: map[tcp.FlowID]bool{}}
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- source.Run(ctx, w) }()
	f()
	stop()
	if err := <-ended; err != nil {
		t.Fatal(err)
	}
	if len(w.samples) < 10 {
		t.Fatalf("%d ACKs were recorded, want at least 10", len(w.samples))
	}
	return w.samples
}

// extremes returns the least and the largest window of the samples in state Open.
func extremes(samples []tcp.Sample) (low, high int64, counted int) {
	low = 1 << 40
	for _, s := range samples {
		state, ok := s.Get(tcp.CAStateField)
		if cwnd, there := s.Get(tcp.CwndPackets); ok && there && tcp.CAState(state) == tcp.CAOpen {
			low = min(low, cwnd)
			high = max(high, cwnd)
			counted++
		}
	}
	return low, high, counted
}

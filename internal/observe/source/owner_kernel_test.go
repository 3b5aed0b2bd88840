//go:build kernel

package source

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/tcp"
	"airtide/test/testnet"
)

// owned is a sink that keeps the process of each flow, as it was told last.
type owned struct {
	tcp.Discard
	mu   sync.Mutex
	pids map[tcp.FlowID]uint32
}

func (o *owned) Flow(f *tcp.Flow) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.pids[f.ID] = f.PID
	return nil
}

// of counts the flows, and those that this process owns.
func (o *owned) of(pid uint32) (flows, have int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for _, p := range o.pids {
		if p == pid {
			have++
		}
	}
	return len(o.pids), have
}

// Of a connection that was there before, only a look into /proc can tell whose it is; of one that
// is opened and read from meanwhile, the programs as well.
func TestWithoutOwnersNobodyAsksWhoseSocketsAre(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	n.Connect(testnet.Dial{})
	both := filter.Filter{NetNS: []uint32{n.Client.NetNS, n.Server.NetNS}}
	want := 2
	for _, kind := range []Kind{BPF, Diag} {
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		var sinks [2]*owned // one with owners, one without
		for i := range sinks {
			source, err := Open(Options{Source: kind, Filter: both, NoOwners: i == 1})
			if err != nil {
				t.Fatal(err)
			}
			sinks[i] = &owned{pids: map[tcp.FlowID]uint32{}}
			running.Go(func() {
				if err := source.Run(ctx, sinks[i]); err != nil {
					t.Errorf("%s: %v", kind, err)
				}
				if err := source.Close(); err != nil {
					t.Errorf("%s: %v", kind, err)
				}
			})
		}
		client, server := n.Connect(testnet.Dial{})
		want += 2
		testnet.Eventually(t, 10*time.Second, "the owners of all ends", func() bool {
			if _, err := client.Write([]byte{1}); err != nil {
				t.Fatal(err)
			}
			if _, err := server.Read(make([]byte, 1)); err != nil {
				t.Fatal(err)
			}
			_, have := sinks[0].of(uint32(os.Getpid()))
			flows, _ := sinks[1].of(0)
			return have == want && flows == want
		})
		stop()
		running.Wait()
		if _, unknown := sinks[1].of(0); unknown != want {
			t.Errorf("%s: of %d flows whose owners nobody asked for, %d have none", kind, want, unknown)
		}
	}
}

package monitor

import (
	"context"
	"os"
	"sync"
	"testing"
	"time"

	"airtide/internal/testnet"
	"airtide/monitor/filter"
	"airtide/tcp"
)

// owned is a sink that keeps the process of each flow, as it was told last.
type owned struct {
	tcp.Discard
	mutex sync.Mutex
	pids  map[tcp.FlowID]uint32
}

func (o *owned) Flow(f *tcp.Flow) error {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	o.pids[f.ID] = f.PID
	return nil
}

// of says how many flows there are, and how many have this process as their owner.
func (o *owned) of(pid uint32) (flows, have int) {
	o.mutex.Lock()
	defer o.mutex.Unlock()
	for _, p := range o.pids {
		if p == pid {
			have++
		}
	}
	return len(o.pids), have
}

// Of a connection that was there before, only a look into /proc can tell whose it is.
func TestWithoutOwnersNobodyLooksIntoProc(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	n.Connect(testnet.Dial{})
	both := filter.Filter{NetNS: []uint32{n.Client.NetNS, n.Server.NetNS}}
	for _, kind := range []Kind{BPF, Diag} {
		ctx, stop := context.WithCancel(t.Context())
		var running sync.WaitGroup
		var sinks [2]*owned // with owners, and without
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
		testnet.Eventually(t, 10*time.Second, "the owners of both ends", func() bool {
			_, have := sinks[0].of(uint32(os.Getpid()))
			flows, _ := sinks[1].of(0)
			return have == 2 && flows == 2
		})
		stop()
		running.Wait()
		if _, unknown := sinks[1].of(0); unknown != 2 {
			t.Errorf("%s: of two flows whose owners nobody asked for, %d have none", kind, unknown)
		}
	}
}

func TestAFilterByProcessNeedsOwners(t *testing.T) {
	for _, f := range []filter.Filter{{PIDs: []uint32{1}}, {Comms: []string{"iperf3"}}} {
		if s, err := Open(Options{Source: Diag, Filter: f, NoOwners: true}); err == nil {
			t.Errorf("opened with %+v", f)
			_ = s.Close()
		}
	}
}

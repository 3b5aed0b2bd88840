//go:build kernel

package tune

import (
	"net"
	"sync"
	"testing"

	"airtide/test/testnet"
)

func TestSocketsThatVanishAreCounted(t *testing.T) {
	mount := bpffs(t)
	n := network(t)
	staying, _ := n.Connect(cubic)
	going, goingEnd := n.Connect(cubic)
	a := mustApply(t, client(n), lowat(picked), Options{BPFFS: mount})
	fresh, freshEnd := n.Connect(cubic)
	abort(t, going, goingEnd, fresh, freshEnd)
	testnet.Eventually(t, patience, "the sockets to go", func() bool { return mustReport(t, a).Counts.Gone == 2 })
	r := mustReport(t, a)
	if c := r.Counts; c.Matched != 3 || c.New != 1 || c.Changed != 1 || c.Failed != 0 || r.Failed() {
		t.Errorf("counted %+v, want 3 matched, 1 of them new, and 1 changed", c)
	}
	of(t, r, staying)
	if u, err := a.Undo(t.Context()); err != nil || u.Sockets != 1 {
		t.Errorf("undone: got %+v, %v, want one socket", u, err)
	}
}

// A thousand sockets are changed and restored while others open and close.
func TestAThousandSockets(t *testing.T) {
	mount := bpffs(t)
	n := network(t)
	listener, to := listen(t, n.Server)
	var accepted sync.WaitGroup
	accepted.Go(func() {
		for {
			c, err := listener.AcceptTCP()
			if err != nil {
				return
			}
			accepted.Go(func() {
				// Until the other end goes.
				_, _ = c.Read(make([]byte, 1))
				c.Close()
			})
		}
	})
	const many = 1000
	conns := make([]*net.TCPConn, many)
	for i := range conns {
		conns[i] = dial(t, n.Client, to)
	}
	stop := make(chan struct{})
	churned := make(chan int)
	go func() {
		count := 0
		for {
			select {
			case <-stop:
				churned <- count
				return
			default:
			}
			if c, err := n.Client.Dial(to); err == nil {
				_ = c.SetLinger(0)
				c.Close()
				count++
			}
		}
	}()
	before := lowatOf(t, conns[0])
	a := mustApply(t, client(n), Settings{NotSentLowatBytes: picked, SendBufferBytes: 64 << 10}, Options{BPFFS: mount})
	close(stop)
	<-churned
	r := mustReport(t, a)
	if r.Counts.Changed < many || r.Counts.Failed != 0 || r.Counts.NoRoom != 0 {
		t.Errorf("counted %+v, want at least %d changed and none failed", r.Counts, many)
	}
	for _, c := range conns {
		if got := lowatOf(t, c); got != picked {
			t.Fatalf("TCP_NOTSENT_LOWAT of a socket: got %d, want %d", got, picked)
		}
	}
	if u, err := a.Undo(t.Context()); err != nil || u.Sockets < many || u.FixedBuffers != 0 {
		t.Errorf("undone: got %+v, %v, want at least %d sockets and no fixed buffers", u, err, many)
	}
	for _, c := range conns {
		if got := lowatOf(t, c); got != before {
			t.Fatalf("TCP_NOTSENT_LOWAT of a restored socket: got %d, want %d", got, before)
		}
		abort(t, c)
	}
	listener.Close()
	accepted.Wait()
}

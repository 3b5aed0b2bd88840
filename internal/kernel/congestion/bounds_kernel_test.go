//go:build kernel

package congestion

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/kernel/congestion/kind"
	"airtide/internal/sys/clock"
	"airtide/internal/tcp"
	"airtide/test/testnet"
)

func mustBounder(t *testing.T, name string) *Bounder {
	t.Helper()
	b, err := OpenBounds(name)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = b.Close() })
	return b
}

// A bound holds, keeps ssthresh, and lets the flow grow again once it is lifted. The monitor
// records the flow.
func TestBoundsHoldAndLiftingThemRestoresTheFlow(t *testing.T) {
	l := mustLoad(t, CubicBound, CubicBound.Defaults())
	b := mustBounder(t, l.Name)
	n := testnet.New(t, testnet.Options{Segments: true})
	n.Client.Out.Delay(8 * time.Millisecond)
	client, server := n.Connect(testnet.Dial{CongestionControl: l.Name})
	this := Socket(testnet.Cookie(t, client))
	const some = 512 << 10

	// A loss ends slow start and sets ssthresh. On a busy machine the kernel may undo the
	// reduction.
	var free *unix.TCPInfo
	for try := 0; try < 3 && (free == nil || free.Snd_ssthresh >= unset); try++ {
		n.Client.Out.DropData(100, 1)
		testnet.MustSend(t, client, server, some)
		free = testnet.Info(t, client)
	}
	if free.Snd_ssthresh >= unset || free.Snd_ssthresh < 20 {
		t.Fatalf("ssthresh after a loss: got %d, want at least 20", free.Snd_ssthresh)
	}

	const upper = 8
	b.must(t, this, 0, upper)
	samples := recorded(t, client, func() { testnet.MustSend(t, client, server, some) })
	// A sample shows the state before its ACK: the first may show the window before the bound.
	if _, high, counted := extremes(samples[1:]); high > upper || counted < 20 {
		t.Errorf("bounded: largest cwnd %d in %d ACKs, want at most %d in at least 20", high, counted, upper)
	}
	if now := testnet.Info(t, client); now.Snd_ssthresh < free.Snd_ssthresh {
		t.Errorf("bounded: ssthresh %d, want at least %d", now.Snd_ssthresh, free.Snd_ssthresh)
	}

	b.must(t, this, 0, 0)
	samples = recorded(t, client, func() { testnet.MustSend(t, client, server, some) })
	if _, high, _ := extremes(samples); high < int64(free.Snd_ssthresh) {
		t.Errorf("lifted: largest cwnd %d, want at least ssthresh, %d", high, free.Snd_ssthresh)
	}
	// In slow start the window doubles each round trip. Congestion avoidance would take several
	// times the limit. The limit leaves room for a busy machine.
	rounds := roundsUntil(samples, int64(free.Snd_ssthresh))
	if rounds > int(free.Snd_ssthresh)/4 {
		t.Errorf("lifted: cwnd grew from %d to %d in %d round trips, want slow start", upper, free.Snd_ssthresh, rounds)
	}

	const lower = 30
	b.must(t, this, lower, 2*lower)
	n.Client.Out.DropEvery(60)
	samples = recorded(t, client, func() { testnet.MustSend(t, client, server, some) })
	n.Client.Out.DropEvery(0)
	// The flow was idle, so the kernel has reduced its window (tcp_slow_start_after_idle). The
	// first ACK raises it.
	samples = samples[2:]
	if low, high, counted := extremes(samples); low < lower || high > 2*lower || counted < 5 {
		t.Errorf("cwnd from %d to %d in %d ACKs, want %d to %d in at least 5", low, high, counted, lower, 2*lower)
	}
}

// At the bound, the ACKs of a slow path come late and in trains. HyStart must not end slow start
// for that, because ssthresh would stay at the bound.
func TestHyStartDoesNotTakeTheBoundForThePath(t *testing.T) {
	l := mustLoad(t, CubicBound, CubicBound.Defaults())
	b := mustBounder(t, l.Name)
	const upper = 60 // HyStart needs more than 8 ACKs in a round trip
	b.must(t, All, 0, upper)
	for range 10 {
		n := testnet.New(t, testnet.Options{Segments: true})
		n.Client.Out.Delay(8 * time.Millisecond)
		client, server := n.Connect(testnet.Dial{CongestionControl: l.Name})
		testnet.MustSend(t, client, server, 512<<10)
		if i := testnet.Info(t, client); i.Snd_cwnd != upper || i.Snd_ssthresh < unset {
			continue // HyStart ended slow start below the bound, as it may
		}
		if err := n.Client.Rate(20_000_000, 256<<10); err != nil {
			t.Fatal(err)
		}
		testnet.MustSend(t, client, server, 512<<10)
		if i := testnet.Info(t, client); i.Snd_cwnd != upper || i.Snd_ssthresh < unset {
			t.Errorf("cwnd %d, ssthresh %d, want %d and unset", i.Snd_cwnd, i.Snd_ssthresh, upper)
		}
		return
	}
	t.Fatal("none of 10 flows reached the bound in slow start")
}

// roundsUntil counts round trips until the window reaches a size. A round trip ends when all bytes
// that were sent before its beginning are acknowledged.
func roundsUntil(samples []tcp.Sample, window int64) (rounds int) {
	var end int64
	for _, s := range samples {
		if cwnd, ok := s.Get(tcp.CwndPackets); ok && cwnd >= window {
			return rounds
		}
		acked, _ := s.Get(tcp.AckedBytes)
		if sent, ok := s.Get(tcp.SentBytes); ok && acked >= end {
			end = sent
			rounds++
		}
	}
	return rounds
}

// A timeout reduces the window to one packet, below the lower bound. The first ACK raises it to the
// lower bound.
func TestTimeoutWhileBounded(t *testing.T) {
	l := mustLoad(t, CubicBound, CubicBound.Defaults())
	b := mustBounder(t, l.Name)
	n := testnet.New(t, testnet.Options{Segments: true})
	n.Client.Out.Delay(4 * time.Millisecond)
	client, server := n.Connect(testnet.Dial{CongestionControl: l.Name})
	const lower, upper = 4, 8
	b.must(t, All, lower, upper)
	testnet.MustSend(t, client, server, 128<<10)
	samples := recorded(t, client, func() { timeOut(t, n, client, server) })
	if i := testnet.Info(t, client); i.Total_retrans == 0 || i.Snd_cwnd < lower || i.Snd_cwnd > upper {
		t.Errorf("after %d retransmissions cwnd is %d, want %d to %d after at least one",
			i.Total_retrans, i.Snd_cwnd, lower, upper)
	}
	least := int64(upper)
	for _, s := range samples {
		if cwnd, ok := s.Get(tcp.CwndPackets); ok {
			least = min(least, cwnd)
			if cwnd > upper {
				t.Fatalf("cwnd: got %d, want at most %d", cwnd, upper)
			}
		}
	}
	if least != 1 {
		t.Errorf("least cwnd after a timeout: got %d, want 1", least)
	}
	b.must(t, All, 0, 0)
	testnet.MustSend(t, client, server, 512<<10)
	if i := testnet.Info(t, client); i.Snd_cwnd <= upper {
		t.Errorf("lifted after a timeout: cwnd %d, want more than %d", i.Snd_cwnd, upper)
	}
}

func TestBoundsOfASocketComeFirst(t *testing.T) {
	l := mustLoad(t, CubicBound, CubicBound.Defaults())
	b := mustBounder(t, l.Name)
	n := testnet.New(t, testnet.Options{Segments: true})
	n.Client.Out.Delay(2 * time.Millisecond)
	client, server := n.Connect(testnet.Dial{CongestionControl: l.Name})
	this := Socket(testnet.Cookie(t, client))
	window := func() uint32 {
		testnet.MustSend(t, client, server, 256<<10)
		return testnet.Info(t, client).Snd_cwnd
	}
	steps := []struct {
		what  string
		scope Scope
		upper uint32
		want  uint32
	}{
		{"all", All, 16, 16},
		{"the socket", this, 5, 5},
		{"not the socket", this, 0, 16},
	}
	for _, s := range steps {
		b.must(t, s.scope, 0, s.upper)
		if got := window(); got != s.want {
			t.Errorf("bound of %s: cwnd %d, want %d", s.what, got, s.want)
		}
		if got, err := b.Get(s.scope); err != nil || got.Upper != s.upper {
			t.Errorf("bound of %s: got %+v, %v, want %d", s.what, got, err, s.upper)
		}
	}
	// The bounds of a socket end with the socket.
	b.must(t, this, 3, 5)
	_ = client.SetLinger(0)
	client.Close()
	testnet.Eventually(t, 10*time.Second, "the socket's bounds to go", func() bool {
		got, err := b.Get(this)
		return err == nil && got == Bounds{}
	})
}

func TestBoundsThatAreRefused(t *testing.T) {
	for _, b := range []Bounds{{Lower: 1}, {Upper: 1}, {Lower: 9, Upper: 8}, {}, {Upper: kind.MaxBound + 1}} {
		if err := b.Check(); err == nil {
			t.Errorf("bounds %+v are accepted", b)
		}
	}
	for _, b := range []Bounds{{Lower: 2}, {Upper: 2}, {Lower: 8, Upper: 8}, {Lower: 2, Upper: kind.MaxBound}} {
		if err := b.Check(); err != nil {
			t.Errorf("bounds %+v are refused: %v", b, err)
		}
	}
	if _, err := OpenBounds(mustLoad(t, CubicPlain, CubicPlain.Defaults()).Name); err == nil {
		t.Error("OpenBounds accepts a congestion control without bounds")
	}
}

// A bound ends when its holder does not renew the lease.
func TestBoundsEndWithTheirLease(t *testing.T) {
	l := mustLoad(t, CubicBound, CubicBound.Defaults())
	b := mustBounder(t, l.Name)
	n := testnet.New(t, testnet.Options{Segments: true})
	n.Client.Out.Delay(5 * time.Millisecond)
	client, server := n.Connect(testnet.Dial{CongestionControl: l.Name})
	this := Socket(testnet.Cookie(t, client))
	const upper, some = 8, 256 << 10
	b.must(t, this, 0, upper)
	for _, c := range []struct {
		what    string
		untilNs int64
		bounded bool
	}{
		{"a lease of an hour", clock.Now() + int64(time.Hour), true},
		{"a lease that has run out", clock.Now() - 1, false},
		{"a lease that is renewed", clock.Now() + int64(time.Hour), true},
		{"no lease", 0, true},
	} {
		if err := b.Lease(c.untilNs); err != nil {
			t.Fatal(err)
		}
		testnet.MustSend(t, client, server, some)
		if cwnd := testnet.Info(t, client).Snd_cwnd; (cwnd <= upper) != c.bounded {
			t.Errorf("%s: cwnd %d at a bound of %d, bounded: want %t", c.what, cwnd, upper, c.bounded)
		}
	}
}

//go:build kernel

package hub

import (
	"context"
	"math/rand/v2"
	"net/netip"
	"sync"
	"testing"
	"time"

	"github.com/vishvananda/netlink"

	"airtide/internal/share/cellkey"
	"airtide/internal/share/link"
	"airtide/internal/share/message"
	"airtide/internal/sys/clock"
	"airtide/test/testnet"
)

func start(t *testing.T, host *testnet.Host, c Config) *Hub {
	t.Helper()
	var h *Hub
	err := host.Do(func() (err error) {
		h, err = Open(c)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Run(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Error(err)
		}
		if err := h.Close(); err != nil {
			t.Error(err)
		}
	})
	return h
}

// terminal sends its report whenever it is due, by the sockets of an agent.
type terminal struct {
	mu       sync.Mutex
	receiver *message.Receiver
	link     *link.Link
}

func (r *terminal) peers() []message.Peer {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.receiver.Peers(nil, clock.Now())
}

// join starts a terminal that reaches the others only by a hub.
func join(t *testing.T, host *testnet.Host, k cellkey.Key, port uint16, hub netip.AddrPort) *terminal {
	t.Helper()
	c := link.Config{Port: port, Peers: []netip.AddrPort{hub}}
	r := &terminal{receiver: message.NewReceiver(message.Config{
		Key: k, Link: message.Link{Copies: 1, NoMulticast: true}, Hubs: c.Addresses(),
	}, clock.Now())}
	sender := message.NewSender(r.receiver, clock.Now())
	err := host.Do(func() (err error) {
		r.link, err = link.Open(c)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithCancel(t.Context())
	var parts sync.WaitGroup
	parts.Go(func() {
		err := r.link.Receive(ctx, func(from netip.AddrPort, datagram []byte) {
			r.mu.Lock()
			defer r.mu.Unlock()
			r.receiver.Take(netip.AddrPortFrom(from.Addr(), 0), datagram, clock.Now())
		})
		if err != nil {
			t.Error(err)
		}
	})
	parts.Go(func() {
		for ctx.Err() == nil {
			r.mu.Lock()
			now := clock.Now()
			wait := time.Duration(sender.DueNs(now) - now)
			var datagram []byte
			if wait <= 0 {
				datagram, _ = sender.Seal(nil, message.Report{State: message.Controlling, Weight: 1000, FlowsUp: port},
					now)
			}
			r.mu.Unlock()
			if datagram != nil {
				_ = r.link.Send(datagram, link.Families{})
				continue
			}
			select {
			case <-ctx.Done():
			case <-time.After(wait):
			}
		}
	})
	t.Cleanup(func() {
		stop()
		parts.Wait()
		if err := r.link.Close(); err != nil {
			t.Error(err)
		}
	})
	return r
}

// Two terminals of each of two cells are behind one address and differ in their ports. The hub has
// a second address, from which its route would not answer.
func TestTerminalsFindEachOtherOverBothFamilies(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	if err := n.Server.Do(func() error {
		device, err := netlink.LinkByName("eth0")
		if err != nil {
			return err
		}
		second, err := netlink.ParseAddr("10.77.0.200/24")
		if err != nil {
			return err
		}
		return netlink.AddrAdd(device, second)
	}); err != nil {
		t.Fatal(err)
	}
	one := cellkey.New()
	other := cellkey.New()
	h := start(t, n.Server, Config{Keys: []cellkey.Pair{{New: one}, {New: other}}})
	at4 := netip.AddrPortFrom(netip.MustParseAddr("10.77.0.200"), h.Port())
	at6 := netip.AddrPortFrom(n.Server.V6, h.Port())
	a := join(t, n.Client, one, 4801, at4)
	b := join(t, n.Client, one, 4802, at6)
	c := join(t, n.Client, one, 4803, at4)
	d := join(t, n.Client, other, 4804, at4)
	e := join(t, n.Server, other, h.Port()+1, at4)
	testnet.Eventually(t, 60*time.Second, "all to know the others of their cell", func() bool {
		for _, member := range []*terminal{a, b, c} {
			if len(member.peers()) != 2 {
				return false
			}
		}
		return len(d.peers()) == 1 && len(e.peers()) == 1
	})
	for _, p := range a.peers() {
		want := netip.AddrPortFrom(n.Client.V4, 4803)
		if p.Report.FlowsUp == 4802 {
			want = netip.AddrPortFrom(n.Client.V6, 4802)
		}
		if p.Source != want {
			t.Errorf("source of terminal %d: got %v, want %v", p.Report.FlowsUp, p.Source, want)
		}
	}
	s := h.Status()
	if s.Cells[0].Terminals != 3 || s.Cells[1].Terminals != 2 || s.Cells[0].Bundles == 0 ||
		s.Cells[0].Datagrams["accepted"] == 0 {
		t.Errorf("status of the hub: got %+v", s)
	}
}

func TestASilentTerminalIsForgotten(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	k := cellkey.New()
	h := start(t, n.Server, Config{Keys: []cellkey.Pair{{New: k}}})
	at := netip.AddrPortFrom(n.Server.V4, h.Port())
	t.Run("while both are there", func(t *testing.T) {
		a := join(t, n.Client, k, 4801, at)
		b := join(t, n.Client, k, 4802, at)
		testnet.Eventually(
			t, 60*time.Second, "both to know each other",
			func() bool { return len(a.peers()) == 1 && len(b.peers()) == 1 },
		)
	})
	testnet.Eventually(
		t, 60*time.Second, "the hub to forget them", func() bool { return h.Status().Cells[0].Terminals == 0 },
	)
	sent := h.Status().Cells[0].Bundles
	stranger := join(t, n.Client, cellkey.New(), 4803, at)
	testnet.Eventually(t, 60*time.Second, "datagrams of another cell",
		func() bool { return h.Status().Datagrams["other_cell"] > 3 })
	if now := h.Status().Cells[0].Bundles; now != sent || len(stranger.peers()) > 0 {
		t.Errorf("bundles without a terminal: got %d, want 0", now-sent)
	}
}

// A hub gets invalid datagrams and changed reports.
func TestInvalidDatagramsAreCountedAndChangeNothing(t *testing.T) {
	n := testnet.New(t, testnet.Options{})
	k := cellkey.New()
	h := start(t, n.Server, Config{Keys: []cellkey.Pair{{New: k}}})
	at := netip.AddrPortFrom(n.Server.V4, h.Port())
	a := join(t, n.Client, k, 4801, at)
	b := join(t, n.Client, k, 4802, at)
	testnet.Eventually(t, 60*time.Second, "both to know each other",
		func() bool { return len(a.peers()) == 1 && len(b.peers()) == 1 })

	random := rand.New(rand.NewPCG(1, 2))
	var rubbish *link.Link
	if err := n.Client.Do(func() (err error) {
		rubbish, err = link.Open(link.Config{Port: 4803, Peers: []netip.AddrPort{at}})
		return err
	}); err != nil {
		t.Fatal(err)
	}
	defer rubbish.Close()
	sealer := message.NewReceiver(message.Config{Key: k}, 0)
	sealed, err := message.NewSender(sealer, 0).Seal(nil, message.Report{Weight: 1000}, 0)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 4000 {
		d := append([]byte(nil), sealed...)
		switch i % 4 {
		case 0:
			d = make([]byte, random.IntN(1400))
			for j := range d {
				d[j] = byte(random.Uint32())
			}
		case 1:
			d = d[:random.IntN(len(d))]
		case 2:
			d[random.IntN(len(d))] ^= byte(1 + random.IntN(255))
		}
		_ = rubbish.Send(d, link.Families{})
	}
	reported := h.Status().Cells[0].Datagrams["accepted"]
	testnet.Eventually(
		t, 60*time.Second, "reports to go on",
		func() bool { return h.Status().Cells[0].Datagrams["accepted"] > reported+5 },
	)
	s := h.Status()
	if s.Cells[0].Terminals != 2 || len(a.peers()) != 1 || len(b.peers()) != 1 {
		t.Errorf("status of the hub after invalid datagrams: got %+v", s)
	}
	if s.Datagrams["malformed"] == 0 || s.Cells[0].Datagrams["wrong_key"]+s.Cells[0].Datagrams["rate_limited"] == 0 {
		t.Errorf("counts of invalid datagrams: got %+v", s)
	}
}

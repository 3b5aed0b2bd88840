package diag

import (
	"errors"
	"io"
	"net"
	"net/netip"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/tcp"
)

func TestTransferIsSampledInEveryAddressFamily(t *testing.T) {
	for _, c := range []struct{ name, network, listen string }{
		{"IPv4", "tcp4", "127.0.0.1:0"},
		{"IPv6", "tcp6", "[::1]:0"},
		{"IPv6 socket with an IPv4 peer", "tcp", ":0"},
	} {
		t.Run(c.name, func(t *testing.T) {
			client, server := connect(t, c.network, c.listen)
			r, _, stop := start(t, Options{Filter: onlyPort(server.LocalAddr())})
			const n = 5 << 20
			transfer(t, client, server, n)
			var flow tcp.Flow
			eventually(t, "client's samples show the whole transfer", func() bool {
				var ok bool
				flow, ok = r.find(client.LocalAddr())
				s, there := r.last(flow.ID)
				return ok && there && s.Values[tcp.AckedBytes] >= n
			})
			stop()
			if flow.PID != uint32(os.Getpid()) || flow.Comm == "" || flow.Inode == 0 || flow.NetNS == 0 ||
				flow.CongestionControl == "" {
				t.Errorf("flow %+v", flow)
			}
			if want := client.RemoteAddr().(*net.TCPAddr).AddrPort(); flow.Remote.Port() != want.Port() ||
				flow.Remote.Addr().Unmap() != want.Addr().Unmap() {
				t.Errorf("remote %v, want %v", flow.Remote, want)
			}
			s, _ := r.last(flow.ID)
			for f, want := range map[tcp.Field][2]int64{
				// a SYN counts as one
				tcp.AckedBytes: {n, n + 1}, tcp.SentBytes: {n, n + 1}, tcp.WrittenBytes: {n, n + 1},
				tcp.UnackedBytes: {0, 0}, tcp.UnsentBytes: {0, 0}, tcp.InFlightPackets: {0, 0},
				tcp.CwndPackets: {1, 1 << 20}, tcp.SrttUs: {1, 1e6}, tcp.MinRttUs: {1, 1e6}, tcp.RTOUs: {1000, 1e7},
				tcp.MSSBytes: {500, 65535}, tcp.StateField: {1, 1}, tcp.BusyUs: {0, 1e8},
				tcp.SendBufferBytes: {4096, 1 << 30},
				tcp.DeliveryRateBps: {1e6, 1e13}, tcp.SendWindowBytes: {1, 1 << 30}, tcp.DeliveredPackets: {1, n},
			} {
				if v, ok := s.Get(f); !ok || v < want[0] || v > want[1] {
					t.Errorf("%v: %d, %v, want %d to %d", f, v, ok, want[0], want[1])
				}
			}
			for _, f := range []tcp.Field{
				tcp.AckBytes, tcp.TCPFlags, tcp.RttUs, tcp.CwndLimited, tcp.LostPackets, tcp.CubicKMs,
				tcp.Direction,
			} {
				if v, ok := s.Get(f); ok {
					t.Errorf("%v: %d, want it absent: inet_diag does not tell it", f, v)
				}
			}
			other, _ := r.find(server.LocalAddr())
			got, _ := r.last(other.ID)
			if got.Values[tcp.ReceivedBytes] != n || got.Values[tcp.ReadBytes] != n {
				t.Errorf("server received %d, read %d, want %d", got.Values[tcp.ReceivedBytes],
					got.Values[tcp.ReadBytes], n)
			}
		})
	}
}

func TestV4MappedAddressesKeepTheirFamily(t *testing.T) {
	c, s := connect(t, "tcp", ":0")
	r, _, _ := start(
		t,
		Options{
			Filter: filter.Filter{
				Prefixes: []netip.Prefix{netip.MustParsePrefix("127.0.0.0/8")},
				Ports:    []uint16{portOf(s.LocalAddr())},
			},
		},
	)
	eventually(t, "both ends are seen", func() bool {
		_, client := r.find(c.LocalAddr())
		_, server := r.find(s.LocalAddr())
		return client && server
	})
	if f, _ := r.find(c.LocalAddr()); !f.Local.Addr().Is4() {
		t.Errorf("IPv4 socket has local address %v", f.Local)
	}
	if f, _ := r.find(s.LocalAddr()); !f.Local.Addr().Is4In6() || !f.Remote.Addr().Is4In6() {
		t.Errorf("IPv6 socket with an IPv4 peer: %v, %v, want ::ffff: addresses", f.Local, f.Remote)
	}
}

func TestStreamOffsetsOnlyGrowAndKeepTheirOrderUnderLoad(t *testing.T) {
	client, server := connect(t, "tcp4", "127.0.0.1:0")
	r, _, stop := start(t, Options{Interval: time.Millisecond, Filter: onlyPort(server.LocalAddr())})
	transfer(t, client, server, 300<<20)
	f, _ := r.find(client.LocalAddr())
	eventually(t, "the whole transfer is seen", func() bool {
		s, ok := r.last(f.ID)
		return ok && s.Values[tcp.AckedBytes] >= 300<<20
	})
	stop()
	var before tcp.Sample
	for i, s := range r.samples[f.ID] {
		acked := s.Values[tcp.AckedBytes]
		sent := s.Values[tcp.SentBytes]
		written := s.Values[tcp.WrittenBytes]
		if acked > sent || sent > written {
			t.Fatalf("sample %d: acked %d, sent %d, written %d", i, acked, sent, written)
		}
		if i > 0 {
			for _, f := range []tcp.Field{
				tcp.AckedBytes, tcp.SentBytes, tcp.WrittenBytes, tcp.ReadBytes, tcp.ReceivedBytes,
			} {
				if s.Values[f] < before.Values[f] {
					t.Fatalf("sample %d: %v fell from %d to %d", i, f, before.Values[f], s.Values[f])
				}
			}
			if s.TimeNs <= before.TimeNs {
				t.Fatalf("sample %d: time went from %d to %d", i, before.TimeNs, s.TimeNs)
			}
		}
		before = s
	}
	if n := len(r.samples[f.ID]); n < 5 {
		t.Errorf("%d samples only", n)
	}
}

func TestOpenAndCloseAreSeenWithTheirReason(t *testing.T) {
	inherited, inheritedServer := connect(t, "tcp4", "127.0.0.1:0")
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r, _, stop := start(t,
		Options{Filter: filter.Filter{Ports: []uint16{portOf(l.Addr()), portOf(inheritedServer.LocalAddr())}}})
	eventually(t, "the inherited connection is seen", func() bool { _, ok := r.find(inherited.LocalAddr()); return ok })

	dial := func() (client, server *net.TCPConn) {
		c, err := net.Dial("tcp4", l.Addr().String())
		if err != nil {
			t.Fatal(err)
		}
		s, err := l.Accept()
		if err != nil {
			t.Fatal(err)
		}
		return c.(*net.TCPConn), s.(*net.TCPConn)
	}
	client, server := dial()
	eventually(t, "the new connection is seen", func() bool { _, ok := r.find(client.LocalAddr()); return ok })
	reset, resetServer := dial()
	defer resetServer.Close()
	eventually(t, "the connection to be reset is seen", func() bool { _, ok := r.find(reset.LocalAddr()); return ok })
	_ = client.CloseWrite()
	fl, _ := r.find(client.LocalAddr())
	// A look may have met it before it was open.
	leaving := func(e tcp.Event) bool {
		return e.From == uint8(tcp.StateEstablished) && e.To >= uint8(tcp.StateFinWait1)
	}
	eventually(t, "its FIN is seen",
		func() bool { return slices.ContainsFunc(r.eventsOf(fl.ID, tcp.EventState), leaving) })
	server.Close()
	client.Close()
	_ = reset.SetLinger(0) // closing sends a RST
	reset.Close()
	resetFlow, _ := r.find(reset.LocalAddr())
	eventually(t, "both are closed", func() bool {
		return len(r.eventsOf(fl.ID, tcp.EventClose)) > 0 && len(r.eventsOf(resetFlow.ID, tcp.EventClose)) > 0
	})
	stop()

	old, _ := r.find(inherited.LocalAddr())
	if !old.Inherited || fl.Inherited {
		t.Errorf("inherited: old %v, new %v, want true, false", old.Inherited, fl.Inherited)
	}
	for _, c := range []struct {
		name string
		id   tcp.FlowID
		want tcp.Reason
	}{
		{"closed here first", fl.ID, tcp.ReasonLocalFIN},
		{"reset", resetFlow.ID, tcp.ReasonUnknownLeaving},
		{"never closed", old.ID, tcp.ReasonStillOpen},
	} {
		if n := len(r.eventsOf(c.id, tcp.EventOpen)); n != 1 {
			t.Errorf("%s: %d open events", c.name, n)
		}
		closed := r.eventsOf(c.id, tcp.EventClose)
		if len(closed) != 1 || closed[0].Reason != c.want || !closed[0].FromSample {
			t.Errorf("%s: close events %+v, want one with %v", c.name, closed, c.want)
		}
	}
}

func TestFastCloseIsLocalWhenTimeWaitIsLeft(t *testing.T) {
	client, server := connect(t, "tcp4", "127.0.0.1:0")
	r, _, _ := start(t, Options{Interval: 200 * time.Millisecond, Filter: onlyPort(server.LocalAddr())})
	eventually(t, "it is seen", func() bool { _, ok := r.find(client.LocalAddr()); return ok })
	client.Close() // both within one interval
	server.Close()
	f, _ := r.find(client.LocalAddr())
	eventually(t, "it is closed", func() bool { return len(r.eventsOf(f.ID, tcp.EventClose)) > 0 })
	if e := r.eventsOf(f.ID, tcp.EventClose)[0]; e.Reason != tcp.ReasonLocalFIN {
		t.Errorf("reason %v, want local_fin: only that end comes to TIME_WAIT", e.Reason)
	}
}

func TestListenersAreNoFlows(t *testing.T) {
	l, err := net.Listen("tcp4", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer l.Close()
	r, s, stop := start(t, Options{Filter: onlyPort(l.Addr())})
	eventually(t, "five polls", func() bool { return s.Stats().Polls >= 5 })
	stop()
	if len(r.flows) != 0 {
		t.Errorf("flows %v", r.flows)
	}
}

func TestZeroWindowOnBothEnds(t *testing.T) {
	client, server := connect(t, "tcp4", "127.0.0.1:0")
	_ = server.SetReadBuffer(4096)
	r, _, _ := start(t, Options{Filter: onlyPort(server.LocalAddr())})
	eventually(t, "it is seen", func() bool { _, ok := r.find(client.LocalAddr()); return ok })
	_ = client.SetWriteDeadline(time.Now().Add(500 * time.Millisecond))
	_, err := io.Copy(client, zeros{}) // nobody reads
	if !errors.Is(err, os.ErrDeadlineExceeded) {
		t.Fatal(err)
	}
	sender, _ := r.find(client.LocalAddr())
	receiver, _ := r.find(server.LocalAddr())
	eventually(
		t, "the sender sees the peer's window close",
		func() bool { return len(r.eventsOf(sender.ID, tcp.EventZeroWindow)) > 0 },
	)
	eventually(
		t, "the receiver sees its own window close",
		func() bool { return len(r.eventsOf(receiver.ID, tcp.EventLocalZeroWindow)) > 0 },
	)
	if s, _ := r.last(receiver.ID); s.Values[tcp.ReceiveQueuedBytes] <= 0 {
		t.Errorf("receive_queued_bytes %d with data unread", s.Values[tcp.ReceiveQueuedBytes])
	}
	if s, _ := r.last(sender.ID); s.Values[tcp.UnsentBytes] <= 0 {
		t.Errorf("unsent_bytes %d with the window closed", s.Values[tcp.UnsentBytes])
	}
	go func() { _, _ = io.Copy(io.Discard, server) }()
	eventually(t, "the window opens again", func() bool { return len(r.eventsOf(sender.ID, tcp.EventWindowOpen)) > 0 })
}

func TestOwnerFilterWaitsForTheOwner(t *testing.T) {
	r, s, stop := start(t, Options{Filter: filter.Filter{PIDs: []uint32{uint32(os.Getpid())}}})
	eventually(t, "the first poll is over", func() bool { return s.Stats().Polls > 0 })
	client, _ := connect(t, "tcp4", "127.0.0.1:0")
	eventually(t, "the owner is found", func() bool { _, ok := r.find(client.LocalAddr()); return ok })
	stop()
	for _, f := range r.flows {
		if f.PID != uint32(os.Getpid()) {
			t.Errorf("flow of process %d passed", f.PID)
		}
	}
}

func TestWrongOptionsAreRefused(t *testing.T) {
	for want, o := range map[string]Options{
		"too often":       {Interval: time.Microsecond},
		"ports given":     {Filter: filter.Filter{Ports: make([]uint16, 65)}},
		"mounted nowhere": {Filter: filter.Filter{NetNS: []uint32{7}}},
	} {
		s, err := New(o)
		if err == nil {
			s.Close()
		}
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%+v: error %v, want %q in it", o, err, want)
		}
	}
}

package conn_test

import (
	"cmp"
	"net/netip"
	"slices"
	"testing"

	"airtide/internal/packets/conn"
	"airtide/internal/packets/decode"
	"airtide/internal/packets/read"
	"airtide/test/capture"
)

// uploadWithGap is an upload as seen at a place: 0 is the client, 1 the server. The third of four
// packets holds three segments that an offload has put together. The client sends it again 5 ms
// after the last one, well within the RTT of 40 ms.
func uploadWithGap(place float64) *capture.Source {
	const (
		wayNs  = int64(20e6)
		turnNs = int64(100e3)
		mss    = 1000
	)
	client := netip.MustParseAddrPort("192.0.2.1:40000")
	server := netip.MustParseAddrPort("192.0.2.9:80")
	all := &capture.Source{}
	start := int64(1_700_000_000e9)
	up := func(atNs int64, t capture.TCP) {
		t.From = client
		t.To = server
		all.Add(start+atNs+int64(place*float64(wayNs)), t.IP())
	}
	down := func(atNs int64, t capture.TCP) {
		t.From = server
		t.To = client
		all.Add(start+atNs+int64((1-place)*float64(wayNs)), t.IP())
	}
	// Options of a SYN: an MSS of 1000.
	options := []byte{2, 4, mss >> 8, mss & 0xff}
	up(0, capture.TCP{Flags: decode.SYN, Seq: 100, Window: 500, Options: options})
	down(wayNs+turnNs, capture.TCP{
		Flags: decode.SYN | decode.ACK, Seq: 900, Ack: 101, Window: 500, Options: options,
	})
	begun := 2*wayNs + 2*turnNs
	up(begun, capture.TCP{Flags: decode.ACK, Seq: 101, Ack: 901, Window: 500})
	data := func(ms, offset, payload int) {
		up(begun+int64(ms)*1e6, capture.TCP{
			Flags: decode.ACK, Seq: uint32(101 + offset), Ack: 901, Window: 500, Payload: payload,
		})
	}
	data(1, 0, mss)
	data(2, mss, mss)
	data(3, 2*mss, 3*mss)
	data(4, 5*mss, mss)
	data(9, 2*mss, 3*mss)
	slices.SortStableFunc(all.Packets, func(a, b read.Packet) int { return cmp.Compare(a.TimeNs, b.TimeNs) })
	return all
}

// At the sender a lower sequence number is a retransmission, though tshark calls it out of order
// within an RTT. Elsewhere it may be either. Segments count, not packets of offloads.
func TestLateSegmentsAtTheSenderWereSentAgain(t *testing.T) {
	three := uint64(3)
	for _, c := range []struct {
		place  float64
		near   string
		resent *uint64
	}{{0, "client", &three}, {0.02, "", nil}, {0.5, "between", nil}, {1, "server", nil}} {
		var all []*conn.Connection
		_, err := conn.Run(t.Context(), uploadWithGap(c.place), conn.Options{
			Done: func(x *conn.Connection) error { all = append(all, x); return nil },
		})
		if err != nil || len(all) != 1 {
			t.Fatalf("%d connections, %v", len(all), err)
		}
		d := &all[0].FromClient
		if all[0].Near != c.near || d.OutOfOrder != 1 || d.AllRetransmissions() != 0 {
			t.Errorf("at the %s: near %q, %+v", c.near, all[0].Near, d)
		}
		if d.DataSegments != 9 || d.LateSegments != 3 || d.LateBytes != 3000 {
			t.Errorf("at the %s: %d of %d segments are late", c.near, d.LateSegments, d.DataSegments)
		}
		if (d.ResentSegments == nil) != (c.resent == nil) || c.resent != nil && *d.ResentSegments != *c.resent {
			t.Errorf("at the %s: sent again %v", c.near, d.ResentSegments)
		}
		client := all[0].ClientSideUs
		server := all[0].ServerSideUs
		if sum := client + server; c.near == "between" && (client < sum/4 || server < sum/4) ||
			c.near == "client" && client > sum/10 || c.near == "server" && server > sum/10 {
			t.Errorf("at the %s: RTT to the client %v µs, to the server %v µs", c.near, client, server)
		}
		us, handshake := all[0].RTTUs(d)
		if c.near == "server" && (!handshake || us < 40_000) {
			t.Errorf("the RTT at the server is %v µs", us)
		}
	}
}

// A connection of a host with itself says so, also without its handshake.
func TestConnectionsOfOneHostAreKnownByTheirAddresses(t *testing.T) {
	for _, c := range []struct{ client, server, near string }{
		{"127.0.0.1:40000", "127.0.0.2:80", "both"},
		{"192.0.2.1:40000", "192.0.2.1:80", "both"},
		{"192.0.2.1:40000", "192.0.2.9:80", ""},
	} {
		packets := &capture.Source{}
		packets.Add(1e18, capture.TCP{
			From: netip.MustParseAddrPort(c.client), To: netip.MustParseAddrPort(c.server), Flags: decode.ACK,
			Seq: 100, Ack: 900, Window: 500, Payload: 10,
		}.IP())
		near := "none"
		_, err := conn.Run(t.Context(), packets, conn.Options{
			Done: func(x *conn.Connection) error { near = x.Near; return nil },
		})
		if err != nil || near != c.near {
			t.Errorf("%s > %s: near %q, %v, want %q", c.client, c.server, near, err, c.near)
		}
	}
}

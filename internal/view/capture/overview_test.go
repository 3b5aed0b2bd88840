package capture

import (
	"strings"
	"testing"

	"airtide/internal/packets/conn"
	"airtide/internal/packets/decode"
	"airtide/internal/packets/read"
)

// Packets that were not read are named, with the number of their kind.
func TestNotesNameTheUnread(t *testing.T) {
	var d decode.Decoder
	var s decode.Segment
	lldp := make([]byte, 60)
	lldp[12] = 0x88
	lldp[13] = 0xcc
	for link, data := range map[read.LinkType][]byte{1: lldp, 195: make([]byte, 20), 9999: nil} {
		d.Decode(&read.Packet{Data: data, Length: len(data), Link: link}, &s)
	}
	v := Viewer{}
	notes := strings.Join(v.notes(conn.Totals{
		Counts: d.Counts, Unread: d.Unread(), Tunnels: []decode.Tunnel{{Name: "IPv4 in IPv6", TCP: 1}},
	}), "\n")
	for _, want := range []string{
		"1 packet of TCP in IPv4 in IPv6", "1 packet of other protocols: 1 of LLDP (EtherType 0x88cc)",
		"2 packets of links that are not read: 1 of 802.15.4 (link type 195), 1 of link type 9999",
	} {
		if !strings.Contains(notes, want) {
			t.Errorf("lacks %q:\n%s", want, notes)
		}
	}
}

// The sentence about a capture says what failed. Repeated SYNs are no share of the data.
func TestSentence(t *testing.T) {
	const begin = "1 connection in 1.00 s, 0 B of data; captured at the client; 1 got no answer; "
	for _, c := range []struct {
		late, bare, data uint64
		want             string
	}{
		{3, 3, 0, "3 segments without data sent again"},
		{4, 1, 60, "3 of 60 segments sent again (5.00 %)"},
		{0, 0, 60, "no segment sent again"},
	} {
		var s sum
		conns := conn.Connection{Near: "client", End: "no_answer"}
		conns.FromClient.LateSegments = c.late
		conns.FromClient.LateBare = c.bare
		conns.FromClient.DataSegments = c.data
		conns.FromClient.ResentSegments = &conns.FromClient.LateSegments
		s.add(&conns)
		if got := s.sentence(conn.Totals{Connections: 1, LastNs: 1e9}); got != begin+c.want {
			t.Errorf("%q, want %q", got, begin+c.want)
		}
	}
}

package conn_test

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airtide/internal/packets/conn"
	"airtide/internal/packets/decode"
	"airtide/internal/packets/read"
	"airtide/test/capture"
)

// rule is a small capture with the right values: those of tshark 4.0 and tcptrace 6.6.7, or those
// that RFCs and docs/guide/packets.md demand.
type rule struct {
	file   string
	values func(*conn.Connection) []any
	want   string
	v4     bool // has no twin in IPv6
}

var rules = []rule{
	{
		file: "syn-after-rst",
		values: func(c *conn.Connection) []any {
			return []any{
				c.Handshake, c.HandshakeUs, c.End, c.Packets(), c.FromClient.DataBytes, c.FromClient.Retransmissions,
			}
		},
		want: "[full 20000 fin 10 100 1]",
	},
	{
		file: "syn-after-challenge-ack",
		values: func(c *conn.Connection) []any {
			return []any{
				c.Handshake, c.HandshakeUs, c.End, c.Packets(), c.FromServer.AckedBytes, c.FromClient.AckedBytes,
				c.FromServer.DataBytes, c.FromServer.AllRetransmissions(), c.FromServer.Gaps,
			}
		},
		want: "[full 30100 open 10 517 1206 1206 0 0]",
	},
	{
		file:   "window-full-unscaled",
		values: func(c *conn.Connection) []any { return []any{c.FromClient.WindowFull, c.FromServer.WindowFull} },
		want:   "[1 0]",
	},
	{
		file:   "window-full-one-side",
		values: func(c *conn.Connection) []any { return []any{c.FromClient.WindowFull, c.FromServer.WindowFull} },
		want:   "[2 0]",
	},
	{
		file: "clock-steps-back",
		values: func(c *conn.Connection) []any {
			return []any{c.FromClient.AllRetransmissions(), c.FromClient.OutOfOrder}
		},
		want: "[1 0]",
	},
	{
		file: "late-fins",
		values: func(c *conn.Connection) []any {
			return []any{c.FromClient.Packets, c.FromClient.Fins, c.FromClient.AllRetransmissions(), c.Packets()}
		},
		want: "[11 9 8 13]",
	},
	{
		file:   "fin-after-130s",
		values: func(c *conn.Connection) []any { return []any{c.Packets()} },
		want:   "[6]",
	},
	{
		file:   "syn-and-fin-twice",
		values: func(c *conn.Connection) []any { return []any{c.FromClient.RTT, c.FromClient.Fins, c.HandshakeUs} },
		want:   "[<nil> 2 20000]",
	},
	{
		file: "syn-in-fragments",
		values: func(c *conn.Connection) []any {
			o := c.FromClient.Offer
			return []any{o.MSS, text(o.Scale), text(o.SACK), text(o.Timestamps), o.MissingBytes}
		},
		want: "[1460 7 true true 0]",
		v4:   true,
	},
	{
		file: "syn-cut",
		values: func(c *conn.Connection) []any {
			o := c.FromClient.Offer
			return []any{
				text(o.Scale), text(o.Timestamps), o.MissingBytes,
				*c.FromClient.LeastWindow, *c.FromClient.GreatestWindow,
			}
		},
		want: "[unknown unknown 6 64240 64240]",
	},
	{
		file: "third-packet-missing",
		values: func(c *conn.Connection) []any {
			up := &c.FromClient
			return []any{c.Handshake, c.HandshakeUs, c.Near, up.AllRetransmissions(), up.OutOfOrder}
		},
		want: "[partial 0  1 0]",
	},
	{
		file: "begins-in-recovery",
		values: func(c *conn.Connection) []any {
			return []any{c.FromClient.UniqueBytes, c.FromClient.AllRetransmissions()}
		},
		want: "[12000 10]",
	},
	{
		file:   "acked-4gib",
		values: func(c *conn.Connection) []any { return []any{c.FromServer.AckedBytes, c.FromServer.Acks} },
		want:   "[4294968296 5]",
	},
	{
		file: "fast-open",
		values: func(c *conn.Connection) []any {
			return []any{c.Handshake, c.FromServer.AckedBytes, c.FromServer.Acks}
		},
		want: "[full 800 2]",
	},
	{
		file:   "answer-before-third-packet",
		values: func(c *conn.Connection) []any { return []any{c.FromClient.AckedBytes, c.FromServer.AckedBytes} },
		want:   "[700 100]",
	},
	{
		file:   "mptcp-signals",
		values: func(c *conn.Connection) []any { return []any{c.FromClient.DupAcks, c.FromServer.DupAcks} },
		want:   "[0 0]",
	},
	{
		file: "handshake-in-a-tick-client",
		values: func(c *conn.Connection) []any {
			up := &c.FromClient
			return []any{c.Handshake, c.HandshakeUs, c.Near, up.AllRetransmissions(), up.OutOfOrder}
		},
		want: "[full 0  0 1]",
	},
	{
		file: "handshake-in-a-tick-server",
		values: func(c *conn.Connection) []any {
			down := &c.FromServer
			return []any{c.Handshake, c.HandshakeUs, c.Near, down.AllRetransmissions(), down.OutOfOrder}
		},
		want: "[full 0  0 1]",
	},
	{
		file: "first-segment-spurious",
		values: func(c *conn.Connection) []any {
			return []any{c.FromClient.Spurious, c.FromServer.Spurious}
		},
		want: "[0 1]",
	},
}

// Each capture holds the same connection inside another protocol.
func TestTunnelledConnections(t *testing.T) {
	for file, tunnel := range map[string]string{
		"gre": "GRE", "ipip": "IPv4 in IPv4", "pppoe": "PPPoE", "vxlan": "VXLAN", "radiotap": "", "snap": "",
	} {
		r, err := read.Open("../decode/testdata/" + file + ".pcap")
		if err != nil {
			t.Fatal(err)
		}
		all, totals, err := run(t, r, conn.Options{})
		r.Close()
		if err != nil || len(all) != 1 || totals.TCP != 9 || totals.Other != 0 {
			t.Errorf("%s: %d connections, %+v, %v", file, len(all), totals, err)
			continue
		}
		c := all[0]
		if c.Handshake != "full" || c.End != "fin" || c.FromClient.DataBytes != 300 || c.FromServer.DataBytes != 700 {
			t.Errorf("%s: %+v", file, c)
		}
		if known := len(totals.Tunnels) == 1 && totals.Tunnels[0].Name == tunnel; known != (tunnel != "") {
			t.Errorf("%s: tunnels %v", file, totals.Tunnels)
		}
	}
}

// A connection of which one direction has a label is one connection.
func TestOneDirectionInATunnel(t *testing.T) {
	var s script
	s.open()
	for i := range s.Packets {
		p := &s.Packets[i]
		p.Data = capture.Ethernet(p.Data)
		if i != 1 {
			label := []byte{0x88, 0x47, 0, 0, 0x11, 64}
			p.Data = append(append(bytes.Clone(p.Data[:12]), label...), p.Data[14:]...)
		}
		p.Length = len(p.Data)
		p.Link = 1
	}
	if c := one(t, &s); c.Handshake != "full" || c.Packets() != 3 {
		t.Errorf("%+v", c)
	}
}

// A host may show a packet twice, inside and outside of a tunnel, in one piece or in several.
func TestCopiesInATunnelCountOnce(t *testing.T) {
	var plain, both script
	plain.open()
	for i := range uint32(5) {
		plain.up(21+float64(i)*10, decode.ACK, 101+i*2000, 901, 2000)
		plain.down(22+float64(i)*10, decode.ACK, 901, 2101+i*2000, 0)
	}
	plain.down(80, decode.ACK, 901, 8101, 0) // a duplicate
	plain.up(90, decode.ACK, 8101, 901, 2000)
	plain.up(95, decode.ACK|decode.FIN, 10101, 901, 0)
	for _, p := range plain.Packets {
		both.Packets = append(both.Packets, p)
		tunnelled := capture.Ethernet(p.Data)
		tunnelled = append(append(tunnelled[:12:12], 0x88, 0x64, 0x11, 0, 0, 1, 0, byte(0), 0, 0x21), p.Data...)
		binary.BigEndian.PutUint16(tunnelled[18:], uint16(len(p.Data)+2))
		p.Data = tunnelled
		p.Length = len(tunnelled)
		p.Link = 1
		p.TimeNs += 10_000
		both.Packets = append(both.Packets, p)
	}
	want := one(t, &plain)
	got := one(t, &both)
	if got.Copies != uint64(len(plain.Packets)) || got.FromClient.Packets != want.FromClient.Packets ||
		got.FromClient.AllRetransmissions() != want.FromClient.AllRetransmissions() ||
		got.FromServer.DupAcks != want.FromServer.DupAcks || got.FromServer.Packets != want.FromServer.Packets {
		t.Errorf("%+v\nwithout copies %+v", got, want)
	}
}

func text[T any](p *T) string {
	if p == nil {
		return "unknown"
	}
	return fmt.Sprint(*p)
}

// Each capture of a rule has one connection with the right values, also as IPv6, with
// addresses exchanged, in a pcapng and with workers. Its packets are those of the connection.
func TestRules(t *testing.T) {
	for _, r := range rules {
		content, err := os.ReadFile(filepath.Join("testdata", r.file+".pcap"))
		if err != nil {
			t.Fatal(err)
		}
		for name, twin := range twins(t, content, r.v4) {
			for _, workers := range []int{0, 2} {
				reader, err := read.New(bytes.NewReader(twin), r.file)
				if err != nil {
					t.Fatal(err)
				}
				all, totals, err := run(t, reader, conn.Options{Workers: workers})
				reader.Close()
				if err != nil || len(all) != 1 {
					t.Errorf("%s, %s: %d connections, %v", r.file, name, len(all), err)
					continue
				}
				c := all[0]
				if got := fmt.Sprint(r.values(c)); got != r.want {
					t.Errorf("%s, %s: %s, want %s", r.file, name, got, r.want)
				}
				if c.Packets() != totals.TCP {
					t.Errorf("%s, %s: %d packets of %d", r.file, name, c.Packets(), totals.TCP)
				}
			}
		}
	}
}

// twins are captures of the same connection.
func twins(t *testing.T, content []byte, v4 bool) map[string][]byte {
	t.Helper()
	little := binary.LittleEndian
	var as4, exchanged, as6 []capture.Packet
	reader, err := read.New(bytes.NewReader(content), "twin")
	if err != nil {
		t.Fatal(err)
	}
	defer reader.Close()
	for p := (read.Packet{}); reader.Next(&p) == nil; {
		data := bytes.Clone(p.Data)
		as4 = append(as4, capture.Packet{TimeNs: p.TimeNs, Data: data, Length: p.Length})
		exchanged = append(exchanged, capture.Packet{TimeNs: p.TimeNs, Data: exchange(data), Length: p.Length})
		as6 = append(as6, capture.Packet{TimeNs: p.TimeNs, Data: toIPv6(data, p.Length), Length: p.Length + 20})
	}
	all := map[string][]byte{
		"itself": content, "pcapng": capture.PCAPNG(little, 1, 9, as4...),
		"exchanged": capture.PCAP(little, true, 1, exchanged...),
	}
	if !v4 {
		all["IPv6"] = capture.PCAP(binary.BigEndian, true, 1, as6...)
	}
	return all
}

const ethernetBytes = 14

// exchange gives each end of a frame of IPv4 the address of the other one, so that the other end
// comes first in the order of addresses.
func exchange(frame []byte) []byte {
	b := bytes.Clone(frame)
	ip := b[ethernetBytes:]
	for _, at := range []int{15, 19} {
		ip[at] ^= 3 // 192.0.2.1 and 192.0.2.2
	}
	return b
}

// toIPv6 gives a frame of IPv4 addresses of IPv6.
func toIPv6(frame []byte, length int) []byte {
	ip := frame[ethernetBytes:]
	b := append(bytes.Clone(frame[:12]), 0x86, 0xdd, 0x60, 0, 0, 0)
	b = binary.BigEndian.AppendUint16(b, uint16(length-ethernetBytes-20))
	b = append(b, decode.ProtocolTCP, 64)
	prefix := append([]byte{0x20, 0x01, 0x0d, 0xb8}, make([]byte, 8)...)
	b = append(append(b, prefix...), ip[12:16]...)
	b = append(append(b, prefix...), ip[16:20]...)
	return append(b, ip[20:]...)
}

// A closed connection with the same ports as a later one ends by the next SYN. If that one was not
// captured, it ends by a silence and a foreign sequence number.
func TestLaterConnectionsWithTheSamePorts(t *testing.T) {
	closed := func(s *script) {
		s.open()
		s.up(30, decode.ACK|decode.FIN, 101, 901, 0)
		s.down(50, decode.ACK|decode.FIN, 901, 102, 0)
	}
	for name, c := range map[string]struct {
		story func(*script)
		want  string
	}{
		"FIN again after an hour":    {func(s *script) { s.down(3600_000, decode.ACK|decode.FIN, 901, 102, 0) }, "6"},
		"foreign data after an hour": {func(s *script) { s.up(3600_000, decode.ACK, 1<<30, 5, 10) }, "5 1"},
		"foreign data at once":       {func(s *script) { s.up(60, decode.ACK, 1<<30, 5, 10) }, "6"},
		"a new SYN at once":          {func(s *script) { s.up(60, decode.SYN, 5000, 0, 0) }, "5 1"},
		"a new SYN-ACK":              {func(s *script) { s.down(60, decode.SYN|decode.ACK, 5000, 6001, 0) }, "5 1"},
		"the same SYN after an hour": {func(s *script) { s.up(3600_000, decode.SYN, 100, 0, 0) }, "5 1"},
		"the same SYN-ACK at once":   {func(s *script) { s.down(60, decode.SYN|decode.ACK, 900, 101, 0) }, "6"},
		"data behind an ignored RST": {func(s *script) {
			s.down(60, decode.RST, 901, 0, 0)
			s.up(3600_000, decode.ACK, 102, 902, 10)
		}, "7"},
	} {
		var s script
		closed(&s)
		c.story(&s)
		all, _, err := run(t, &s, conn.Options{})
		var packets []string
		for _, c := range all {
			packets = append(packets, fmt.Sprint(c.Packets()))
		}
		if got := strings.Join(packets, " "); got != c.want || err != nil {
			t.Errorf("%s: connections of %s packets, want %s; %v", name, got, c.want, err)
		}
	}
}

// A packet is the third of the handshake if it is the first of the client behind the SYN, and comes
// before the server goes on.
func TestThirdPacket(t *testing.T) {
	for name, c := range map[string]struct {
		story func(*script)
		want  string
	}{
		"an ACK":          {func(s *script) { s.up(40, decode.ACK, 101, 901, 0) }, "full 40000"},
		"data":            {func(s *script) { s.up(40, decode.ACK, 101, 901, 10) }, "full 40000"},
		"data much later": {func(s *script) { s.up(1900, decode.ACK, 101, 901, 10) }, "partial 0"},
		"later data":      {func(s *script) { s.up(40, decode.ACK, 111, 901, 10) }, "partial 0"},
		"a later ACK":     {func(s *script) { s.up(40, decode.ACK, 101, 911, 0) }, "partial 0"},
		"a RST":           {func(s *script) { s.up(40, decode.ACK|decode.RST, 101, 901, 0) }, "partial 0"},
		"behind the server": {func(s *script) {
			s.down(30, decode.ACK, 901, 111, 5)
			s.up(40, decode.ACK, 101, 901, 0)
		}, "partial 0"},
	} {
		var s script
		s.up(0, decode.SYN, 100, 0, 0)
		s.down(20, decode.SYN|decode.ACK, 900, 101, 0)
		c.story(&s)
		got := one(t, &s)
		if text := fmt.Sprint(got.Handshake, " ", got.HandshakeUs); text != c.want {
			t.Errorf("%s: %s, want %s", name, text, c.want)
		}
	}
}

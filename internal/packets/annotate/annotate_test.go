package annotate_test

import (
	"bytes"
	"encoding/binary"
	"errors"
	"io"
	"net/netip"
	"strings"
	"testing"

	"airtide/internal/packets/annotate"
	"airtide/internal/packets/conn"
	"airtide/internal/packets/read"
	"airtide/internal/tcp"
	"airtide/test/capture"
)

const second = int64(1_700_000_000_000_000_000)

// Packets come out unchanged, with the newest earlier state of their sender and the cause of
// retransmissions.
func TestComments(t *testing.T) {
	client := netip.MustParseAddrPort("10.0.0.1:4000")
	server := netip.MustParseAddrPort("10.0.0.2:80")
	data := capture.TCP{From: client, To: server, Seq: 1000, Ack: 1, Flags: 16, Window: 500, Payload: 100}
	ack := capture.TCP{From: server, To: client, Seq: 1, Ack: 1000, Flags: 16, Window: 500}
	var packets []capture.Packet
	for i, segment := range []capture.TCP{data, ack, data} {
		packets = append(packets, capture.Packet{TimeNs: second + int64(i)*300e6, Data: segment.IP()})
	}
	other := capture.TCP{From: server, To: netip.MustParseAddrPort("10.0.0.3:9"), Flags: 2}
	packets = append(packets, capture.Packet{TimeNs: second + 900e6, Data: other.IP()})
	content := capture.PCAP(binary.LittleEndian, true, 101, packets...)

	h := &annotate.History{WallNs: func(ns int64) int64 { return second + ns }}
	mapped := netip.AddrPortFrom(netip.AddrFrom16(client.Addr().As16()), client.Port())
	_ = h.Flow(&tcp.Flow{ID: 7, Local: mapped, Remote: server, FirstNs: -1})
	b := tcp.NewBatch(2)
	for _, s := range []struct{ at, cwnd, ca int64 }{{-1, 10, 0}, {400e6, 5, 4}} {
		row := tcp.Sample{TimeNs: s.at, Flow: 7}
		for f := range row.Values {
			row.Values[f] = tcp.Absent
		}
		row.Values[tcp.CwndPackets] = s.cwnd
		row.Values[tcp.CAStateField] = s.ca
		b.Append(&row)
	}
	_ = h.Samples(b)
	_ = h.Event(&tcp.Event{Flow: 7, TimeNs: 600e6 + 5000, Kind: tcp.EventRetransmit, Cause: tcp.CauseRTO})

	r, err := read.New(bytes.NewReader(content), "in")
	if err != nil {
		t.Fatal(err)
	}
	var out bytes.Buffer
	c := &annotate.Copier{Source: r, History: h, Out: &out}
	if _, err := conn.Run(t.Context(), c, conn.Options{Observer: c}); err != nil {
		t.Fatal(err)
	}
	if err := c.Flush(); err != nil {
		t.Fatal(err)
	}
	for text, n := range map[string]int{
		"flow 7, cwnd 10 packets, state " + tcp.CAOpen.String():                              2,
		"flow 7, cwnd 5 packets, state " + tcp.CALoss.String() + ", retransmission: timeout": 1,
	} {
		if got := strings.Count(out.String(), text); got != n {
			t.Errorf("%d comments %q, want %d", got, text, n)
		}
	}
	if c.Commented != 3 {
		t.Errorf("%d packets have comments", c.Commented)
	}
	again, err := read.New(&out, "out")
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range packets {
		var p read.Packet
		if err := again.Next(&p); err != nil || p.TimeNs != want.TimeNs || !bytes.Equal(p.Data, want.Data) ||
			p.Link != 101 {
			t.Errorf("packet %d: %+v, %v", i, p, err)
		}
	}
	if err := again.Next(&read.Packet{}); !errors.Is(err, io.EOF) {
		t.Error(err)
	}
}

package conn

import (
	"cmp"
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"

	"airtide/internal/packets/decode"
	"airtide/internal/packets/read"
	"airtide/test/capture"
)

// An echo gives an RTT once, and none behind a pause, in which the sender may have had no data.
func TestEchoes(t *testing.T) {
	const ms = int64(1e6)
	e := &echoes{}
	e.pass(7, 10*ms)
	e.pass(7, 11*ms)
	e.pass(9, 12*ms)
	for _, c := range []struct {
		value        uint32
		timeNs, want int64
	}{{6, 21 * ms, 0}, {7, 30 * ms, 20 * ms}, {7, 31 * ms, 0}, {8, 32 * ms, 0}, {9, 40 * ms, 28 * ms}} {
		if got := e.echo(c.value, c.timeNs); got != c.want {
			t.Errorf("echo of %d: %d ns, want %d", c.value, got, c.want)
		}
	}
	e.pass(10, 50*ms)
	if got := e.echo(10, 90*ms); got != 0 {
		t.Errorf("%d ns behind a pause", got)
	}
	for i := range uint32(1000) {
		e.pass(100+i, 100*ms)
	}
	if len(e.stamps) != maxStamps || e.echo(1<<31+50, 110*ms) != 0 || e.rtt.count != 2 {
		t.Errorf("%d timestamps, %d RTTs", len(e.stamps), e.rtt.count)
	}
	wrapped := &echoes{dataNs: 10}
	wrapped.pass(1<<32-1, 1)
	wrapped.pass(2, 2)
	if a, b := wrapped.echo(1<<32-1, 11), wrapped.echo(2, 15); a != 10 || b != 13 {
		t.Errorf("over the end of the numbers: %d and %d ns", a, b)
	}
}

// withoutHandshake is an upload with a steady window as seen at a place: 0 is the client, 1 the
// server. It has no handshake.
func withoutHandshake(place float64, timestamps bool) *capture.Source {
	const (
		ms     = int64(1e6)
		wayNs  = 20 * ms
		window = 10 // segments, one each 4 ms
	)
	client := netip.MustParseAddrPort("192.0.2.1:40000")
	server := netip.MustParseAddrPort("192.0.2.9:80")
	stamp := func(i int64) uint32 { return uint32(1000 + 4*i) }
	options := func(value, echo uint32) []byte {
		if !timestamps {
			return nil
		}
		return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32([]byte{1, 1, 8, 10}, value), echo)
	}
	all := &capture.Source{}
	for i := range int64(200) {
		sentNs := int64(1e18) + 4*i*ms
		seq := uint32(1000 + 1000*i)
		all.Add(sentNs+int64(place*float64(wayNs)), capture.TCP{
			From: client, To: server, Flags: decode.ACK, Seq: seq, Ack: 1, Payload: 1000,
			Options: options(stamp(i), stamp(i-window)),
		}.IP())
		all.Add(sentNs+wayNs+10_000+int64((1-place)*float64(wayNs-20_000)), capture.TCP{
			From: server, To: client, Flags: decode.ACK, Seq: 1, Ack: seq + 1000, Options: options(stamp(i), stamp(i)),
		}.IP())
	}
	slices.SortStableFunc(all.Packets, func(a, b read.Packet) int { return cmp.Compare(a.TimeNs, b.TimeNs) })
	return all
}

// Without a handshake, the end that answers at once is the one at which the capture was taken.
func TestEchoesTellThePlaceOfACaptureThatBeginsLate(t *testing.T) {
	for _, c := range []struct {
		place      float64
		timestamps bool
		near       string
	}{{0, true, nearClient}, {0.01, true, nearNone}, {0.5, true, nearNone}, {1, true, nearServer}, {0, false, ""}} {
		var all []*Connection
		_, err := Run(t.Context(), withoutHandshake(c.place, c.timestamps), Options{
			Done: func(x *Connection) error { all = append(all, x); return nil },
		})
		if err != nil || len(all) != 1 || all[0].Near != c.near {
			t.Errorf("at %g, timestamps %t: near %q, want %q; %v", c.place, c.timestamps, all[0].Near, c.near, err)
		}
	}
}

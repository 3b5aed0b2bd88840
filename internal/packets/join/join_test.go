package join_test

import (
	"cmp"
	"net/netip"
	"slices"
	"testing"

	"airtide/internal/packets/conn"
	"airtide/internal/packets/decode"
	"airtide/internal/packets/join"
	"airtide/internal/packets/read"
	"airtide/internal/packets/series"
	"airtide/internal/tcp"
	"airtide/test/capture"
)

const lossy = "../conn/testdata/lossy.pcap.gz"

// analyse runs an observer over the capture.
func analyse(t *testing.T, o conn.Options) {
	t.Helper()
	r, err := read.Open(lossy)
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	if _, err := conn.Run(t.Context(), r, o); err != nil {
		t.Fatal(err)
	}
}

// withCwnd adds a window of 10 packets to samples, and a SYN to the acknowledged bytes.
type withCwnd struct{ tcp.Sink }

func (w withCwnd) Samples(b *tcp.Batch) error {
	for i := range b.Len() {
		b.Cols[tcp.CwndPackets][i] = 10
		b.Cols[tcp.MSSBytes][i] = 1000
		b.Cols[tcp.SrttUs][i] = 4000
		b.Cols[tcp.AckedBytes][i]++
	}
	return w.Sink.Samples(b)
}

// recorded is a recording of the capture's transfer whose clock is ahead.
func recorded(t *testing.T, aheadNs int64, only uint64) *join.Recording {
	t.Helper()
	r := &join.Recording{WallNs: func(ns int64) int64 { return ns + aheadNs }}
	s := &series.Series{Sink: withCwnd{r}, Only: only}
	analyse(t, conn.Options{Observer: s})
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	return r
}

func joinWith(t *testing.T, r *join.Recording, only uint64) (joined []*join.Connection) {
	t.Helper()
	j := &join.Joiner{Recording: r, Only: only, Joined: func(x *join.Connection) error {
		joined = append(joined, x)
		return nil
	}}
	analyse(t, conn.Options{Observer: j, Done: j.Done})
	return joined
}

func TestClocksAreAlignedByAcks(t *testing.T) {
	for _, ahead := range []int64{0, 123_456_789, -7_000_000_000} {
		joined := joinWith(t, recorded(t, ahead, 2), 0)
		if len(joined) != 2 {
			t.Fatalf("%d ends in both", len(joined))
		}
		x := joined[0]
		cwnd := joined[0].Cwnd()
		if x.Connection != 2 || x.Flow != 3 || x.AlignedBy != "acks" || x.Matches < 100 || x.OffsetNs != ahead ||
			x.OffsetP50Ns != ahead || x.OffsetP95Ns != ahead || x.RecordedCwnd != 10_000 || x.RecordedSrttUs != 4000 ||
			x.CapturedRetransmissions != 235 || x.RecordedRetransmissions != 95 || x.CapturedRTTUs == 0 {
			t.Errorf("%d ns ahead: %+v", ahead, *x)
		}
		if len(x.InFlight) != 344 || len(cwnd) < 300 || cwnd[0].TimeNs < x.FirstNs ||
			cwnd[len(cwnd)-1].TimeNs > x.LastNs {
			t.Errorf("%d and %d points", len(x.InFlight), len(cwnd))
		}
	}
}

// Flows of another time are other flows, even with the same addresses.
func TestOtherTimesAreNotJoined(t *testing.T) {
	if joined := joinWith(t, recorded(t, 3_600_000_000_000, 0), 0); len(joined) != 0 {
		t.Errorf("%d ends are joined", len(joined))
	}
}

func TestOneConnectionIsJoined(t *testing.T) {
	r := recorded(t, 0, 0)
	for only, want := range map[uint64]int{0: 4, 1: 2, 2: 2, 3: 0} {
		if joined := joinWith(t, r, only); len(joined) != want {
			t.Errorf("connection %d: %d ends are joined", only, len(joined))
		}
	}
}

const (
	wayNs  = int64(20e6)  // one way between the ends
	turnNs = int64(100e3) // each end answers after this time
)

// upload is the packets of an upload, as seen at a place: 0 is the client, 1 the server.
func upload(place float64) *capture.Source {
	client := netip.MustParseAddrPort("192.0.2.1:40000")
	server := netip.MustParseAddrPort("192.0.2.9:80")
	fromClient := int64(place * float64(wayNs))
	all := &capture.Source{}
	now := int64(1_700_000_000e9) // time at the client, ns since 1970
	// exchange is a segment of the client and its answer.
	exchange := func(up, down capture.TCP) {
		up.From = client
		up.To = server
		up.Window = 500
		down.From = server
		down.To = client
		down.Window = 500
		all.Add(now+fromClient, up.IP())
		all.Add(now+wayNs+turnNs+wayNs-fromClient, down.IP())
	}
	exchange(capture.TCP{Flags: decode.SYN, Seq: 100},
		capture.TCP{Flags: decode.SYN | decode.ACK, Seq: 900, Ack: 101})
	now += 2*wayNs + 2*turnNs
	for i := range uint32(40) {
		exchange(capture.TCP{Flags: decode.ACK, Seq: 101 + i*1000, Ack: 901, Payload: 1000},
			capture.TCP{Flags: decode.ACK, Seq: 901, Ack: 1101 + i*1000})
		now += int64(1e6)
	}
	slices.SortStableFunc(all.Packets, func(a, b read.Packet) int { return cmp.Compare(a.TimeNs, b.TimeNs) })
	return all
}

// The offset of a capture at the other end is found without the way of the ACKs.
func TestOffsetOfTheOtherEnd(t *testing.T) {
	const aheadNs = int64(3e9)
	r := &join.Recording{WallNs: func(ns int64) int64 { return ns + aheadNs }}
	s := &series.Series{Sink: r}
	if _, err := conn.Run(t.Context(), upload(0), conn.Options{Observer: s}); err != nil {
		t.Fatal(err)
	}
	if err := s.Flush(); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		near              string
		place             float64
		offsetNs, ofAcks  int64 // ns, without and with the way of the ACKs
		leastRTT, mostRTT float64
	}{
		// Half of the handshake's RTT has half of both answers.
		{"client", 0, 0, 0, 40_000, 40_200},
		{"between", 0.5, wayNs / 2, wayNs / 2, 20_000, 20_200},
		// The receiver answers at once, so the time of the handshake counts.
		{"server", 1, -turnNs, wayNs, 40_000, 40_200},
	} {
		var near string
		var x *join.Connection
		j := &join.Joiner{Recording: r, Joined: func(joined *join.Connection) error {
			if joined.Flow == series.FlowID(1, true) {
				x = joined
			}
			return nil
		}}
		done := func(c *conn.Connection) error {
			near = c.Near
			return j.Done(c)
		}
		if _, err := conn.Run(t.Context(), upload(c.place), conn.Options{Observer: j, Done: done}); err != nil {
			t.Fatal(err)
		}
		if x == nil || x.AlignedBy != "acks" || x.Matches < 30 || near != c.near || x.OffsetNs != aheadNs+c.ofAcks ||
			x.SenderOffsetNs() != aheadNs+c.offsetNs || x.CapturedRTTUs < c.leastRTT || x.CapturedRTTUs > c.mostRTT {
			t.Errorf("at the %s: near %q, %+v", c.near, near, x)
		}
	}
}

// receiver.pcap is an upload of 2 s, captured at the server, which sends no byte and ends last. The
// kernel counts no SYN for the accepting end, so its only byte is the FIN.
const (
	receiverCapture = "testdata/receiver.pcap"
	receiverFirstNs = int64(1_795_809_525_808_937_000)
	receiverEndNs   = int64(1_795_809_527_921_180_000)
)

// oneFlow is a recording of an end that counts acknowledged bytes at some times of the capture.
func oneFlow(local, remote string, inherited bool, acked ...join.Point) *join.Recording {
	const clockNs = int64(1e18)
	r := &join.Recording{WallNs: func(ns int64) int64 { return ns + clockNs }}
	_ = r.Flow(&tcp.Flow{
		ID: 1, Local: netip.MustParseAddrPort(local), Remote: netip.MustParseAddrPort(remote),
		FirstNs: receiverFirstNs - clockNs, Inherited: inherited,
	})
	b := tcp.NewBatch(len(acked))
	for _, p := range acked {
		row := tcp.Sample{TimeNs: p.TimeNs - clockNs, Flow: 1}
		for f := range row.Values {
			row.Values[f] = tcp.Absent
		}
		row.Values[tcp.AckedBytes] = p.Value
		b.Append(&row)
	}
	_ = r.Samples(b)
	return r
}

// An end that only receives has few times of ACKs: that of the SYN, if it connects, and that of the
// FIN. Its offset is that of the clocks, not the length of the connection.
func TestOffsetOfAReceivingEnd(t *testing.T) {
	const client, server = "192.0.2.1:53606", "192.0.2.2:5000"
	start := receiverFirstNs
	end := receiverEndNs
	for name, c := range map[string]struct {
		recording *join.Recording
		by        string
	}{
		"server":        {oneFlow(server, client, false, join.Point{start, 0}, join.Point{end, 1}), "acks"},
		"server, open":  {oneFlow(server, client, false, join.Point{start, 0}), "clock"},
		"inherited":     {oneFlow(server, client, true, join.Point{end - 1e9, 1}, join.Point{end, 1}), "clock"},
		"client, ended": {oneFlow(client, server, false, join.Point{start, 1}, join.Point{end, 200_002}), "acks"},
	} {
		r, err := read.Open(receiverCapture)
		if err != nil {
			t.Fatal(err)
		}
		var x *join.Connection
		j := &join.Joiner{Recording: c.recording, Joined: func(joined *join.Connection) error {
			x = joined
			return nil
		}}
		_, err = conn.Run(t.Context(), r, conn.Options{Observer: j, Done: j.Done})
		r.Close()
		const most = int64(1e6) // the time between the last packets
		if err != nil || x == nil || x.AlignedBy != c.by || max(x.OffsetNs, -x.OffsetNs) > most {
			t.Errorf("%s: %+v, %v", name, x, err)
		}
	}
}

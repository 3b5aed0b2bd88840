package conn_test

import (
	"context"
	"encoding/binary"
	"encoding/json"
	"errors"
	"io"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"runtime"
	"slices"
	"testing"

	"airtide/internal/packets/conn"
	"airtide/internal/packets/decode"
	"airtide/internal/packets/read"
	"airtide/test/capture"
)

var (
	client = netip.MustParseAddrPort("192.0.2.1:40000")
	server = netip.MustParseAddrPort("192.0.2.9:80")
)

const (
	start = 1_700_000_000_000_000_000
	ms    = 1_000_000
)

// script is a source of packets. Times are in ms from the start.
type script struct{ capture.Source }

func (s *script) add(atMs float64, t capture.TCP) { s.Add(start+int64(atMs*ms), t.IP()) }

// up and down add segments of the client and of the server.
func (s *script) up(atMs float64, flags uint8, seq, ack uint32, payload int, options ...byte) {
	s.add(atMs, capture.TCP{
		From: client, To: server, Seq: seq, Ack: ack, Flags: flags, Window: 500, Payload: payload, Options: options,
	})
}

func (s *script) down(atMs float64, flags uint8, seq, ack uint32, payload int, options ...byte) {
	s.add(atMs, capture.TCP{
		From: server, To: client, Seq: seq, Ack: ack, Flags: flags, Window: 1000, Payload: payload, Options: options,
	})
}

func (s *script) open() {
	s.up(0, decode.SYN, 100, 0, 0, 2, 4, 5, 180, 3, 3, 7, 4, 2)
	s.down(20, decode.SYN|decode.ACK, 900, 101, 0, 2, 4, 5, 180, 3, 3, 2)
	s.up(20.1, decode.ACK, 101, 901, 0)
}

func run(t *testing.T, source conn.Source, o conn.Options) ([]*conn.Connection, conn.Totals, error) {
	t.Helper()
	var all []*conn.Connection
	o.Done = func(c *conn.Connection) error {
		all = append(all, c)
		return nil
	}
	totals, err := conn.Run(t.Context(), source, o)
	return all, totals, err
}

func one(t *testing.T, s *script) *conn.Connection {
	t.Helper()
	all, _, err := run(t, s, conn.Options{})
	if err != nil || len(all) != 1 {
		t.Fatalf("%d connections, %v", len(all), err)
	}
	return all[0]
}

func TestAWholeConnection(t *testing.T) {
	var s script
	s.open()
	s.up(21, decode.ACK, 101, 901, 1000)
	s.up(21.1, decode.ACK, 1101, 901, 1000)
	s.down(41, decode.ACK, 901, 2101, 0) // one ACK for two segments
	s.up(42, decode.ACK|decode.FIN, 2101, 901, 0)
	s.down(62, decode.ACK|decode.FIN, 901, 2102, 0)
	s.up(62.1, decode.ACK, 2102, 902, 0)
	c := one(t, &s)
	up := c.FromClient
	down := c.FromServer
	if c.Client != client || c.Server != server || c.Handshake != "full" || c.Near != "client" || c.End != "fin" ||
		c.EndBy != "client" || c.HandshakeUs != 20100 || c.FirstPacket != 1 || c.LastPacket != 9 {
		t.Errorf("%+v", c)
	}
	if up.DataBytes != 2000 || up.UniqueBytes != 2000 || up.AllRetransmissions() != 0 || up.GreatestInFlight != 2000 ||
		down.Acks != 1 || down.AckedBytes != 2000 || down.SegmentsPerAck < 1.3 || down.SegmentsPerAck > 1.4 ||
		up.RTT.P50 != 20000 || up.RTT.Max != 20000 ||
		*up.Offer.Scale != 7 || up.Offer.MSS != 1460 || !*up.Offer.SACK || *down.Offer.SACK ||
		*down.GreatestWindow != 4000 || *up.GreatestWindow != 500<<7 {
		t.Errorf("client %+v %+v\nserver %+v", up, up.RTT, down)
	}
}

func TestLosses(t *testing.T) {
	var s script
	s.open()
	for i := range uint32(5) {
		s.up(21, decode.ACK, 101+i*1000, 901, 1000)
	}
	s.down(41, decode.ACK, 901, 101, 0)
	for range 3 { // the first segment is lost
		s.down(41, decode.ACK, 901, 101, 0, 1, 1, 5, 10, 0, 0, 4, 77, 0, 0, 8, 53)
	}
	s.up(42, decode.ACK, 101, 901, 1000)
	s.down(62, decode.ACK, 901, 5101, 0)
	s.up(363, decode.ACK, 4101, 901, 1000) // it has arrived already
	s.down(383, decode.ACK, 901, 5101, 0, 1, 1, 5, 10, 0, 0, 16, 5, 0, 0, 19, 237)
	c := one(t, &s)
	up := c.FromClient
	down := c.FromServer
	if up.Fast != 1 || up.Spurious != 1 || up.Retransmissions != 0 || up.RepeatedBytes != 2000 ||
		up.UniqueBytes != 5000 || down.DupAcks != 5 || down.SackAcks != 4 || down.DsackAcks != 1 {
		t.Errorf("client %+v\nserver %+v", up, down)
	}
	// The segment that was sent twice has no RTT.
	if up.RTT.Count != 2 {
		t.Errorf("%+v", up.RTT)
	}
}

// Bytes count once, also if the capture lies behind the loss and sees them late.
func TestUniqueBytes(t *testing.T) {
	var s script
	s.open()
	seen := make([]bool, 40_000)
	random := rand.New(rand.NewPCG(1, 2))
	unique := uint64(0)
	for i := range 300 {
		first := i*100 - random.IntN(min(1+i*100, 4000))
		length := 1 + random.IntN(300)
		s.up(21+float64(i), decode.ACK, 101+uint32(first), 901, length)
		for at := first; at < first+length; at++ {
			if !seen[at] {
				unique++
			}
			seen[at] = true
		}
	}
	if up := one(t, &s).FromClient; up.UniqueBytes != unique || up.OutOfOrder+up.Retransmissions == 0 {
		t.Errorf("want %d unique bytes: %+v", unique, up)
	}
}

// A range that was never seen is none of a later one with the same sequence numbers.
func TestUniqueBytesOfALongStream(t *testing.T) {
	var s script
	s.open()
	seq := uint32(101)
	for i, apart := range []uint32{0, 5000, 1<<31 - 1, 1<<31 - 1, 4000, 4000, 0} { // the last one again
		seq += apart
		s.up(21+float64(i), decode.ACK, seq, 901, 4000)
	}
	if up := one(t, &s).FromClient; up.UniqueBytes != 24_000 || up.DataBytes != 28_000 {
		t.Errorf("%+v", up)
	}
}

// Tcptrace 6.6.7 counts as many bytes in the same capture, which lies behind the loss.
func TestUniqueBytesEqualThoseOfTcptrace(t *testing.T) {
	all, _, err := run(t, open(t), conn.Options{})
	if err != nil || len(all) != 2 || all[1].FromClient.UniqueBytes != 795_433 {
		t.Fatalf("%+v, %v", all[1].FromClient, err)
	}
}

// Tshark 4.0.17 counts these packets in the same way.
func TestRepeatedHandshakesAndEnds(t *testing.T) {
	var s script
	s.up(-1000, decode.SYN, 100, 0, 0) // lost
	s.open()
	s.up(30, decode.ACK, 101, 901, 1) // the first byte alone
	s.up(31, decode.ACK, 101, 901, 1000)
	s.down(51, decode.ACK, 901, 1101, 0)
	s.up(52, decode.ACK, 1101, 901, 1000)
	s.up(53, decode.ACK, 101, 901, 1000) // again, sooner than an RTT
	s.up(60, decode.ACK|decode.FIN, 2101, 901, 0)
	s.up(61, decode.ACK|decode.FIN, 2101, 901, 0)
	s.down(81, decode.ACK|decode.FIN, 901, 2102, 0)
	s.up(82, decode.ACK, 2102, 902, 0)
	c := one(t, &s)
	up := c.FromClient
	if up.Retransmissions != 2 || up.Spurious != 1 || up.Fast != 0 || up.OutOfOrder != 0 || up.UniqueBytes != 2000 {
		t.Errorf("%+v", up)
	}
	if c.HandshakeUs != 20100 || c.Near != "client" || c.Handshake != "full" || c.End != "fin" {
		t.Errorf("%+v", c)
	}
}

// An ACK that comes late acknowledges nothing again.
func TestReorderedAcks(t *testing.T) {
	var s script
	s.open()
	for i := range uint32(4) {
		s.up(21, decode.ACK, 101+i*1000, 901, 1000)
	}
	for _, ack := range []uint32{1101, 3101, 2101, 4101, 3101} {
		s.down(41, decode.ACK, 901, ack, 0)
	}
	if down := one(t, &s).FromServer; down.AckedBytes != 4000 || down.Acks != 3 {
		t.Errorf("%d bytes by %d ACKs", down.AckedBytes, down.Acks)
	}
}

func TestReorderingAndGaps(t *testing.T) {
	var s script
	s.open()
	s.up(21, decode.ACK, 101, 901, 1000)
	s.up(21.1, decode.ACK, 2101, 901, 1000)
	s.up(21.2, decode.ACK, 1101, 901, 900)
	if up := one(t, &s).FromClient; up.OutOfOrder != 1 || up.Gaps != 1 || up.AllRetransmissions() != 0 {
		t.Errorf("%+v", up)
	}
}

func TestWindows(t *testing.T) {
	var s script
	s.open()
	s.up(21, decode.ACK, 101, 901, 1000) // all that the unscaled window of the SYN-ACK allows
	closed := capture.TCP{From: server, To: client, Seq: 901, Ack: 1101, Flags: decode.ACK}
	s.add(41, closed)
	s.up(300, decode.ACK, 1101, 901, 1)
	s.add(301, closed)
	s.down(400, decode.ACK, 901, 1101, 0)
	s.up(900, decode.ACK, 1100, 901, 0)
	s.down(920, decode.ACK, 901, 1101, 0)
	c := one(t, &s)
	up := c.FromClient
	down := c.FromServer
	if up.WindowFull != 1 || up.ZeroWindowProbes != 1 || up.KeepAlives != 1 || down.ZeroWindows != 2 ||
		down.WindowUpdates != 1 || down.KeepAliveAcks != 1 || *down.LeastWindow != 0 || down.DupAcks != 0 {
		t.Errorf("client %+v\nserver %+v", up, down)
	}
}

func TestEnds(t *testing.T) {
	for want, story := range map[string]func(*script){
		"refused by server": func(s *script) {
			s.up(0, decode.SYN, 100, 0, 0)
			s.down(1, decode.RST|decode.ACK, 0, 101, 0)
		},
		"no_answer by ": func(s *script) {
			s.up(0, decode.SYN, 100, 0, 0)
			s.up(1000, decode.SYN, 100, 0, 0)
		},
		"reset by client":       func(s *script) { s.open(); s.up(30, decode.RST, 101, 0, 0) },
		"half_closed by server": func(s *script) { s.open(); s.down(30, decode.FIN|decode.ACK, 901, 101, 0) },
		"open by ":              func(s *script) { s.open() },
	} {
		var s script
		story(&s)
		if c := one(t, &s); c.End+" by "+c.EndBy != want {
			t.Errorf("%s by %s, want %s", c.End, c.EndBy, want)
		}
	}
}

// A capture may begin in the middle of a connection, or hold one direction only.
func TestPartsOfConnections(t *testing.T) {
	var s script
	s.down(0, decode.ACK, 5000, 700, 1000)
	s.up(10, decode.ACK, 700, 6000, 0)
	s.down(20, decode.ACK, 6000, 700, 1000)
	s.up(30, decode.ACK, 700, 7000, 0)
	c := one(t, &s)
	if c.Handshake != "none" || c.Client != server || c.FromClient.DataBytes != 2000 || c.FromClient.RTT.Count != 2 ||
		c.FromClient.GreatestWindow != nil || c.FromServer.AckedBytes != 2000 || c.FromServer.UnseenAcked != 0 {
		t.Errorf("from the middle: %+v", c)
	}
	var data, acks script
	data.up(0, decode.SYN, 100, 0, 0)
	for i := range uint32(100_000) {
		data.up(1+float64(i), decode.ACK, 101+i*1000, 901, 1000)
		acks.down(1+float64(i), decode.ACK, 901, 1101+i*1000, 0)
	}
	c = one(t, &data)
	if c.FromClient.UniqueBytes != 100_000_000 || c.FromClient.RTT != nil || c.Handshake != "partial" ||
		c.FromClient.GreatestInFlight != 0 {
		t.Errorf("data only: %+v", c.FromClient)
	}
	c = one(t, &acks)
	if c.FromClient.AckedBytes != 99_999_000 || c.FromClient.DupAcks != 0 || c.FromClient.UnseenAcked != 0 {
		t.Errorf("ACKs only: %+v", c.FromClient)
	}
}

// A clock that steps back makes no negative times; the steps are counted.
func TestClockSteps(t *testing.T) {
	var s script
	s.open()
	s.up(5000, decode.ACK, 101, 901, 1000)
	s.down(-3000, decode.ACK, 901, 1101, 0)
	s.up(-2000, decode.ACK, 1101, 901, 1000)
	s.down(-1980, decode.ACK, 901, 2101, 0)
	all, totals, err := run(t, &s, conn.Options{})
	if err != nil || totals.ClockStepsBack != 1 || all[0].ClockStepsBack != 1 {
		t.Fatalf("%v, %+v", err, totals)
	}
	if r := all[0].FromClient.RTT; r.Min != 20_000 || r.Count != 2 || all[0].DurationNs() != 5000*ms {
		t.Errorf("%+v", r)
	}
}

func TestPortsUsedAgain(t *testing.T) {
	var s script
	s.open()
	s.up(30, decode.SYN, 100, 0, 0) // the same SYN again
	s.up(40, decode.SYN, 7777, 0, 0)
	all, totals, _ := run(t, &s, conn.Options{})
	if totals.Connections != 2 || all[0].ID != 1 || all[0].Packets() != 4 || all[1].Packets() != 1 {
		t.Errorf("%d connections", totals.Connections)
	}
}

// crowd makes connections of three packets each. Some end.
type crowd struct {
	n, of int
}

func (c *crowd) Next(p *read.Packet) error {
	if c.n == 3*c.of {
		return io.EOF
	}
	id := c.n % c.of
	part := c.n / c.of
	t := capture.TCP{To: server, Window: 100, Seq: uint32(100 + part), Flags: decode.ACK}
	var address [4]byte
	binary.BigEndian.PutUint32(address[:], 0x0a000000+uint32(id))
	t.From = netip.AddrPortFrom(netip.AddrFrom4(address), 1000)
	switch {
	case part == 0:
		t.Flags = decode.SYN
	case part == 2 && id%2 == 0:
		t.Flags = decode.RST
	}
	c.n++
	*p = read.Packet{Number: uint64(c.n), TimeNs: start + int64(c.n)*1000, Data: t.IP(), Length: 40, Link: 101}
	return nil
}

// Memory follows the connections that are open at a time, up to a limit.
func TestManyConnections(t *testing.T) {
	const of = 100_000
	for _, limit := range []int{of, 1000} {
		var ended, packets uint64
		var most uint64
		done := func(c *conn.Connection) error {
			ended++
			if ended%20_000 == 1 {
				var m runtime.MemStats
				runtime.GC()
				runtime.ReadMemStats(&m)
				most = max(most, m.HeapAlloc)
			}
			packets += c.Packets()
			return nil
		}
		totals, err := conn.Run(t.Context(), &crowd{of: of}, conn.Options{MaxOpen: limit, Done: done})
		if err != nil || packets != 3*of || ended != totals.Connections {
			t.Errorf("limit %d: %d packets in %d connections, %+v, %v", limit, packets, ended, totals, err)
		}
		if limit == of && (ended != of || totals.Forgotten != 0 || most > 400<<20) {
			t.Errorf("%d connections, %d forgotten, %d MB", ended, totals.Forgotten, most>>20)
		}
		// The last part of every second connection is a RST: it goes before the open ones.
		if limit < of && (totals.Forgotten != ended-uint64(limit)-of/2 || most > 60<<20) {
			t.Errorf("limit %d: %d of %d forgotten, %d MB", limit, totals.Forgotten, ended, most>>20)
		}
	}
}

// load is 40 connections that send 30,000 segments each, all at once or one behind the other.
type load struct {
	n      int
	serial bool
}

func (l *load) Next(p *read.Packet) error {
	const of, segments = 40, 30_000
	if l.n == of*(segments+2) {
		return io.EOF
	}
	id := l.n % of
	part := l.n / of
	if l.serial {
		id = l.n / (segments + 2)
		part = l.n % (segments + 2)
	}
	from := netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(id)}), 1000)
	t := capture.TCP{From: from, To: server, Window: 100, Ack: 1, Flags: decode.ACK, Payload: 1}
	switch part {
	case 0:
	case 1: // segments wait for an end that was seen
		t = capture.TCP{From: server, To: from, Window: 100, Seq: 1, Flags: decode.ACK}
	case segments + 1:
		t = capture.TCP{From: server, To: from, Window: 100, Seq: 1, Ack: segments, Flags: decode.ACK}
	default:
		t.Seq = uint32(part - 1)
	}
	l.n++
	data := t.IP()
	*p = read.Packet{Number: uint64(l.n), TimeNs: start + int64(l.n), Data: data, Length: len(data), Link: 101}
	return nil
}

// Memory of segments that wait for ACKs is bounded over all connections. ACKs free it.
func TestWaitingSegmentsAreBounded(t *testing.T) {
	for _, serial := range []bool{false, true} {
		for _, workers := range []int{0, 2} {
			all, totals, err := run(t, &load{serial: serial}, conn.Options{Workers: workers})
			if err != nil || len(all) != 40 || (totals.Unmeasured == 0) != serial {
				t.Errorf("serial %t, %d workers: %d connections, %+v, %v", serial, workers, len(all), totals, err)
			}
			for _, c := range all {
				if c.FromClient.DataPackets != 30_000 || c.FromServer.AckedBytes != 30_000 {
					t.Errorf("%+v", c)
				}
			}
		}
	}
}

// lossy is an upload of iperf3 through a queue of 50 kB at 40 Mbit/s, captured by tcpdump -s 160 on
// the loopback device, up to packet 700.
const lossy = "testdata/lossy.pcap.gz"

func open(t *testing.T) *read.Reader {
	t.Helper()
	r, err := read.Open(lossy)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(r.Close)
	return r
}

// The counts of tshark 4.0.17 for the same capture.
func TestCountsEqualThoseOfTshark(t *testing.T) {
	all, totals, err := run(t, open(t), conn.Options{})
	if err != nil || totals.TCP != 700 || totals.Connections != 2 {
		t.Fatalf("%+v, %v", totals, err)
	}
	var got [8]uint64
	for _, c := range all {
		for _, d := range []*conn.Direction{&c.FromClient, &c.FromServer} {
			for i, n := range []uint64{
				d.AllRetransmissions(), d.Fast, d.Spurious, d.OutOfOrder, d.Gaps, d.DupAcks,
				d.WindowUpdates, d.WindowFull,
			} {
				got[i] += n
			}
		}
	}
	if want := [8]uint64{95, 5, 0, 0, 27, 184, 40, 0}; got != want {
		t.Errorf("%v, want %v", got, want)
	}
}

// Workers change nothing, not even the order.
func TestWorkersFindTheSame(t *testing.T) {
	text := func(source conn.Source, workers int) string {
		all, totals, err := run(t, source, conn.Options{Workers: workers})
		if err != nil {
			t.Fatal(err)
		}
		b, err := json.Marshal(append([]any{totals}, slices.Collect(func(yield func(any) bool) {
			for _, c := range all {
				yield(c)
			}
		})...))
		if err != nil {
			t.Fatal(err)
		}
		return string(b)
	}
	for workers := 1; workers < 4; workers++ {
		if text(open(t), workers) != text(open(t), 0) {
			t.Errorf("%d workers find something else in %s", workers, lossy)
		}
		if text(&crowd{of: 5000}, workers) != text(&crowd{of: 5000}, 0) {
			t.Errorf("%d workers find something else in a crowd", workers)
		}
	}
}

// recorder checks the order of steps and sums them up.
type recorder struct {
	t      *testing.T
	last   uint64
	acked  map[uint64]int64
	delays int
}

func (r *recorder) Step(c *conn.Connection, s *conn.Step) error {
	if s.Segment.Number <= r.last || s.InFlight < 0 {
		r.t.Errorf("packet %d behind %d, %d bytes in flight", s.Segment.Number, r.last, s.InFlight)
	}
	r.last = s.Segment.Number
	if !s.Client {
		r.acked[c.ID] += s.Acked
	}
	r.delays += len(s.Delays)
	return nil
}

func TestObserverSeesEverySegment(t *testing.T) {
	r := &recorder{t: t, acked: map[uint64]int64{}}
	all, totals, err := run(t, open(t), conn.Options{Observer: r, Workers: 2})
	if err != nil || r.last != totals.TCP || r.delays == 0 {
		t.Errorf("%d of %d segments, %d times, %v", r.last, totals.TCP, r.delays, err)
	}
	for _, c := range all {
		if r.acked[c.ID] != int64(c.FromServer.AckedBytes) {
			t.Errorf("connection %d: %d bytes acknowledged, not %d", c.ID, r.acked[c.ID], c.FromServer.AckedBytes)
		}
	}
}

func TestInterruption(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := conn.Run(ctx, open(t), conn.Options{Workers: 1}); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	failure := errors.New("no space")
	for workers := range 2 {
		_, err := conn.Run(t.Context(), open(t), conn.Options{
			Workers: workers, Done: func(*conn.Connection) error { return failure },
		})
		if !errors.Is(err, failure) {
			t.Errorf("%d workers: %v", workers, err)
		}
	}
}

// The analysis takes any order of segments.
func FuzzSegments(f *testing.F) {
	f.Add([]byte("\x02\x00\x00\x00\x12\x40\x00\x00\x10\x00\x10\x05\x10\x50\x10\x10\x11\x00\x20\x00"))
	f.Fuzz(func(t *testing.T, bytes []byte) {
		story := func() *script {
			var s script
			for i := 0; i+4 < len(bytes); i += 5 {
				b := bytes[i:]
				send := s.up
				if b[0]&0x80 != 0 {
					send = s.down
				}
				seq := uint32(b[2])<<24 | uint32(b[3])
				ack := uint32(b[3])<<24 | uint32(b[2])
				send(float64(int8(b[1])), b[0]&0x1f, seq, ack, int(b[4]))
			}
			return &s
		}
		inline, totals, _ := run(t, story(), conn.Options{})
		parallel, _, _ := run(t, story(), conn.Options{Workers: 2})
		if uint64(len(inline)) != totals.Connections || !reflect.DeepEqual(names(inline), names(parallel)) {
			t.Errorf("%d and %d connections", len(inline), len(parallel))
		}
		for _, c := range inline {
			for _, d := range []conn.Direction{c.FromClient, c.FromServer} {
				if d.UniqueBytes > d.DataBytes || d.DataPackets > d.Packets {
					t.Errorf("%+v", d)
				}
			}
		}
	})
}

func names(all []*conn.Connection) (ids []uint64) {
	for _, c := range all {
		ids = append(ids, c.ID, c.Packets(), c.Bytes())
	}
	return ids
}

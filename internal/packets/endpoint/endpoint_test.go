package endpoint

import (
	"encoding/binary"
	"net/netip"
	"slices"
	"testing"

	"airtide/internal/diagnose"
	"airtide/internal/packets/conn"
	"airtide/internal/packets/decode"
	"airtide/internal/packets/read"
	"airtide/internal/tcp"
	"airtide/test/capture"
)

// checked is a sink that checks the state of each end.
type checked struct {
	tcp.Discard
	t       *testing.T
	flows   map[tcp.FlowID]*tcp.Flow
	last    map[tcp.FlowID]tcp.Sample
	samples int
	events  map[tcp.EventKind]int
}

func (c *checked) Flow(f *tcp.Flow) error {
	c.flows[f.ID] = f
	return nil
}

func (c *checked) Samples(b *tcp.Batch) error {
	for i := range b.Len() {
		var row tcp.Sample
		b.Row(i, &row)
		v := &row.Values
		before, known := c.last[row.Flow]
		if c.flows[row.Flow] == nil || v[tcp.AckedBytes] > v[tcp.SentBytes] || v[tcp.WrittenBytes] < v[tcp.SentBytes] ||
			known && (row.TimeNs < before.TimeNs || v[tcp.BusyUs] < before.Values[tcp.BusyUs] ||
				v[tcp.AckedBytes] < before.Values[tcp.AckedBytes] ||
				v[tcp.ReceivedBytes] < before.Values[tcp.ReceivedBytes]) {
			c.t.Errorf("sample %+v behind %+v", row, before)
		}
		c.last[row.Flow] = row
		c.samples++
	}
	return nil
}

func (c *checked) Event(e *tcp.Event) error {
	c.events[e.Kind]++
	return nil
}

// lossy opens a lossy capture, with a sink for it.
func lossy(t *testing.T) (*read.Reader, *checked) {
	t.Helper()
	r, err := read.Open("../conn/testdata/lossy.pcap.gz")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { r.Close() })
	return r, newChecked(t)
}

func newChecked(t *testing.T) *checked {
	return &checked{
		t: t, flows: map[tcp.FlowID]*tcp.Flow{}, last: map[tcp.FlowID]tcp.Sample{}, events: map[tcp.EventKind]int{},
	}
}

// turn makes the segments of 20 ms: data of the client, and ACKs of the server, with its window and
// for all but the bytes that are left.
type turn func(data func(us int64, bytes int), ack func(us int64, window uint16, left uint32))

// fastPath is a capture between 192.0.2.1 and a host that both answer within 30 µs.
func fastPath(host string, each turn) *capture.Source {
	const mss = 1000
	client := netip.MustParseAddrPort("192.0.2.1:40000")
	server := netip.MustParseAddrPort(host + ":80")
	all := &capture.Source{}
	now := int64(1e18)
	seq := uint32(101)
	send := func(us int64, up bool, s capture.TCP) {
		s.From = client
		s.To = server
		if !up {
			s.From = server
			s.To = client
		}
		all.Add(now+us*1000, s.IP())
	}
	options := []byte{2, 4, mss >> 8, mss & 0xff}
	syn := capture.TCP{Flags: decode.SYN, Seq: 100, Window: 20_000, Options: options}
	send(0, true, syn)
	syn.Flags = decode.SYN | decode.ACK
	syn.Seq = 900
	syn.Ack = 101
	send(30, false, syn)
	send(50, true, capture.TCP{Flags: decode.ACK, Seq: 101, Ack: 901, Window: 20_000})
	for range 200 {
		now += 20e6
		each(func(us int64, bytes int) {
			send(us, true, capture.TCP{Flags: decode.ACK, Seq: seq, Ack: 901, Window: 20_000, Payload: bytes})
			seq += uint32(bytes)
		}, func(us int64, window uint16, left uint32) {
			send(us, false, capture.TCP{Flags: decode.ACK, Seq: 901, Ack: seq - left, Window: window})
		})
	}
	return all
}

// observe passes the segments of a capture on.
func observe(t *testing.T, source conn.Source, s *Series) {
	t.Helper()
	if _, err := conn.Run(t.Context(), source, conn.Options{Observer: s, Done: s.Done}); err != nil {
		t.Fatal(err)
	}
}

// diagnosed diagnoses a capture at both ends of its connections.
func diagnosed(t *testing.T, source conn.Source) (*diagnose.Report, *Series) {
	t.Helper()
	engine := diagnose.New(diagnose.Options{Source: diagnose.Captured})
	s := &Series{Sink: engine}
	observe(t, source, s)
	report := engine.Report()
	return &report, s
}

// atBestEnd diagnoses a capture at the ends that it shows best.
func atBestEnd(t *testing.T, source conn.Source) *diagnose.Report {
	t.Helper()
	report, s := diagnosed(t, source)
	report.Without(func(c *diagnose.Connection) bool { return s.Other[c.ID] })
	return report
}

// limitsOf diagnoses a capture, and returns the limits at the ends that it shows best.
func limitsOf(t *testing.T, source conn.Source) (limits []diagnose.Limit) {
	t.Helper()
	for _, c := range atBestEnd(t, source).Connections {
		limits = append(limits, c.Limit)
	}
	return limits
}

// In a fast network, and on one host, a capture shows what releases data.
func TestReleasesShowInAFastNetwork(t *testing.T) {
	for want, each := range map[diagnose.Limit]turn{
		diagnose.ReceivingApplication: func(data func(int64, int), ack func(int64, uint16, uint32)) {
			data(0, 10_000)
			data(10, 9_500)
			ack(100, 500, 0) // full for most of the time
			ack(19_980, 20_000, 0)
		},
		diagnose.SenderHost: func(data func(int64, int), ack func(int64, uint16, uint32)) { // paced
			data(0, 10_000)
			ack(100, 20_000, 0)
		},
		diagnose.Application: func(data func(int64, int), ack func(int64, uint16, uint32)) {
			data(0, 9_700)
			ack(100, 20_000, 0)
		},
	} {
		for _, host := range []string{"192.0.2.9", "192.0.2.1"} {
			if got := limitsOf(t, fastPath(host, each)); !slices.Equal(got, []diagnose.Limit{want}) {
				t.Errorf("with %s %q, want %q", host, got, want)
			}
		}
	}
}

// Small segments behind unacknowledged ones were not held back, however close to an acknowledgement
// they leave; those that leave with the acknowledgement of all data were.
func TestSmallSegmentsThatNagleDoesNotHold(t *testing.T) {
	for want, each := range map[diagnose.Limit]turn{
		diagnose.Application: func(data func(int64, int), ack func(int64, uint16, uint32)) {
			for i := range int64(20) {
				data(1000*i, 100)
				ack(1000*i+900, 20_000, 100)
			}
		},
		diagnose.Nagle: func(data func(int64, int), ack func(int64, uint16, uint32)) {
			data(0, 100)
			ack(19_000, 20_000, 0)
			data(19_010, 100)
			ack(19_980, 20_000, 0)
		},
	} {
		if got := limitsOf(t, fastPath("192.0.2.9", each)); !slices.Equal(got, []diagnose.Limit{want}) {
			t.Errorf("%q, want %q", got, want)
		}
	}
}

// A program that waits for room in its send buffer ends silences when acknowledgements come. One
// that has no data ends them at times of its own.
func TestAcknowledgementsEndSilences(t *testing.T) {
	for wait, want := range map[int64]diagnose.Limit{60: diagnose.SendBuffer, 9000: diagnose.Application} {
		each := func(data func(int64, int), ack func(int64, uint16, uint32)) {
			ack(5000, 20_000, 4000)
			ack(8000, 20_000, 3000)
			for i := range int64(4) { // with TCP_NODELAY
				data(8000+wait+10*i, 900)
			}
		}
		if got := limitsOf(t, fastPath("192.0.2.9", each)); !slices.Equal(got, []diagnose.Limit{want}) {
			t.Errorf("%d us behind an acknowledgement: %q, want %q", wait, got, want)
		}
	}
}

// A window that closes and stays closed shows a program that does not read: at the sender, whose
// last segment fills the window, and at the receiver, which answers probes.
func TestAWindowThatStaysClosed(t *testing.T) {
	for _, host := range []string{"192.0.2.9", "192.0.2.1"} {
		turns := 0
		source := fastPath(host, func(data func(int64, int), ack func(int64, uint16, uint32)) {
			switch turns++; {
			case turns < 40:
				data(0, 10_000)
				ack(100, 20_000, 0)
			case turns == 40:
				data(0, 10_000)
				data(10, 9_500)
				ack(100, 500, 0)
				data(200, 500)
				ack(300, 0, 0)
			case turns%20 == 0:
				data(0, 0) // a probe
				ack(100, 0, 0)
			}
		})
		report, _ := diagnosed(t, source)
		for _, c := range report.Connections {
			if c.Limit != diagnose.ReceivingApplication {
				t.Errorf("with %s: %s at the end that %s: %+v", host, c.Limit, c.Direction, c.Evidence)
			}
		}
	}
}

// A capture that begins in the middle of a connection does not take its sequence numbers for bytes.
func TestBytesOfACaptureThatBeginsLate(t *testing.T) {
	client := netip.MustParseAddrPort("192.0.2.1:40000")
	server := netip.MustParseAddrPort("192.0.2.9:80")
	source := &capture.Source{}
	for i := range uint32(20) {
		now := int64(1e18) + int64(i)*20e6
		seq := 3_000_000_000 + 1000*i
		data := capture.TCP{From: client, To: server, Flags: decode.ACK, Seq: seq, Ack: 1_500_000_000, Payload: 1000}
		ack := capture.TCP{From: server, To: client, Flags: decode.ACK, Seq: 1_500_000_000, Ack: seq + 1000}
		source.Add(now, data.IP())
		source.Add(now+1e6, ack.IP())
	}
	sink := newChecked(t)
	s := &Series{Sink: sink}
	observe(t, source, s)
	for id, row := range sink.last {
		if acked, received := row.Values[tcp.AckedBytes], row.Values[tcp.ReceivedBytes]; acked+received > 20_000 {
			t.Errorf("flow %d: %d bytes acknowledged, %d received", id, acked, received)
		}
	}
}

// queued is a capture between the ends of a download. The queue stands before the capture: with it
// the sender's answer to an ACK takes up to 40 ms, and the receiver's to data takes 5 ms.
func queued(timestamps bool) *capture.Source {
	const (
		mss      = 1448
		segments = 6000
		packetNs = int64(1e6) // of the bottleneck
		pathNs   = int64(10e6)
		nearNs   = int64(5e6)
	)
	server := netip.MustParseAddrPort("198.51.100.1:80")
	client := netip.MustParseAddrPort("192.0.2.1:40000")
	all := &capture.Source{}
	start := int64(1e18)
	options := func(value, echo uint32) []byte {
		if !timestamps {
			return nil
		}
		b := []byte{1, 1, 8, 10}
		return binary.BigEndian.AppendUint32(binary.BigEndian.AppendUint32(b, value), echo)
	}
	send := func(ns int64, down bool, s capture.TCP) {
		s.From = client
		s.To = server
		if down {
			s.From = server
			s.To = client
		}
		s.Window = 60_000
		all.Add(start+ns, s.IP())
	}
	offered := uint16(mss)
	if timestamps {
		offered += 12
	}
	scale := []byte{2, 4, byte(offered >> 8), byte(offered), 3, 3, 7, 1}
	send(0, false, capture.TCP{Flags: decode.SYN, Seq: 100, Options: append(options(1, 0), scale...)})
	synAck := capture.TCP{Flags: decode.SYN | decode.ACK, Seq: 900, Ack: 101}
	synAck.Options = append(options(1, 1), scale...)
	send(pathNs, true, synAck)
	send(pathNs+nearNs, false, capture.TCP{Flags: decode.ACK, Seq: 101, Ack: 901, Options: options(1, 1)})
	var passed, acked [segments]int64
	var stamp [segments]uint32
	window := 10.0
	released := 0 // segments that the ACKs so far have released
	for i, a := 0, 0; a < segments; {
		for released < min(segments, a+int(window)) {
			answer := 2 * pathNs
			if a > 0 {
				answer = acked[a-1] + pathNs
			}
			if released > 0 {
				answer = max(answer, passed[released-1]+packetNs)
			}
			passed[released] = answer
			released++
		}
		// The next event at the capture is a segment of data or an ACK.
		if ackNs := passed[a] + nearNs; a == i || i < released && passed[i] < ackNs {
			echo := uint32(1)
			if at := i - int(window); at >= 0 {
				echo = stamp[at]
			}
			send(passed[i], true, capture.TCP{
				Flags: decode.ACK, Seq: 901 + uint32(i)*mss, Ack: 101, Payload: mss, Options: options(1, echo),
			})
			i++
			continue
		}
		acked[a] = passed[a] + nearNs
		stamp[a] = uint32(2 + acked[a]/1e6)
		send(acked[a], false, capture.TCP{
			Flags: decode.ACK, Seq: 101, Ack: 901 + uint32(a+1)*mss, Options: options(stamp[a], 1),
		})
		window = min(40, window+1/window)
		a++
	}
	return all
}

// Timestamps show a queue before a capture between the ends.
func TestTimestampsShowAQueueBeforeTheCapture(t *testing.T) {
	for timestamps, want := range map[bool]diagnose.Limit{true: diagnose.Capacity, false: diagnose.SenderHost} {
		engine := diagnose.New(diagnose.Options{Source: diagnose.Captured})
		sink := newChecked(t)
		s := &Series{Sink: tcp.Tee{sink, engine}}
		done := func(c *conn.Connection) error {
			told := c.ServerSideUs == 10_000
			if timestamps {
				told = c.ServerSideUs > 15_000
			}
			if c.ClientSideUs != 5000 || !told {
				t.Errorf("with timestamps %t: %g us to the client, %g us to the server", timestamps, c.ClientSideUs,
					c.ServerSideUs)
			}
			return s.Done(c)
		}
		_, err := conn.Run(t.Context(), queued(timestamps), conn.Options{Observer: s, Done: done})
		if err != nil {
			t.Fatal(err)
		}
		report := engine.Report()
		report.Without(func(c *diagnose.Connection) bool { return s.Other[c.ID] })
		if len(report.Connections) != 1 || report.Connections[0].Limit != want {
			t.Errorf("with timestamps %t, want %s: %+v", timestamps, want, report.Connections)
		}
		for _, row := range sink.last {
			v := &row.Values
			if (v[tcp.PeerTimestamp] > 0) != timestamps || (v[tcp.EchoedTimestamp] > 0) != timestamps {
				t.Errorf("with timestamps %t a sample has %d and %d", timestamps, v[tcp.PeerTimestamp],
					v[tcp.EchoedTimestamp])
			}
		}
	}
}

// The end of a short connection begins with the first FIN, and takes a round trip at the client.
func TestTheEndOfAShortConnectionInACapture(t *testing.T) {
	client := netip.MustParseAddrPort("192.0.2.1:40000")
	server := netip.MustParseAddrPort("192.0.2.9:80")
	source := &capture.Source{}
	for _, x := range []struct {
		ms       int64
		up       bool
		flags    uint8
		seq, ack uint32
		payload  int
	}{
		{0, true, decode.SYN, 100, 0, 0},
		{20, false, decode.SYN | decode.ACK, 900, 101, 0},
		{20, true, decode.ACK, 101, 901, 0},
		{20, true, decode.ACK, 101, 901, 500},
		{40, false, decode.ACK, 901, 601, 200},
		{50, true, decode.ACK | decode.FIN, 601, 1101, 0},
		{80, false, decode.ACK | decode.FIN, 1101, 602, 0},
		{80, true, decode.ACK, 602, 1102, 0},
	} {
		s := capture.TCP{From: client, To: server, Flags: x.flags, Seq: x.seq, Ack: x.ack, Window: 20_000}
		if !x.up {
			s.From = server
			s.To = client
		}
		s.Payload = x.payload
		source.Add(int64(1e18)+x.ms*1e6, s.IP())
	}
	groups := atBestEnd(t, source).Groups()
	want := map[diagnose.Limit]float64{diagnose.Handshake: 0.25, diagnose.RoundTrips: 0.375, diagnose.Teardown: 0.375}
	if len(groups) != 1 || len(groups[0].Shares) != len(want) {
		t.Fatalf("%+v", groups)
	}
	for _, x := range groups[0].Shares {
		if x.Share < want[x.Limit]-0.001 || x.Share > want[x.Limit]+0.001 {
			t.Errorf("%s %g, want %g", x.Limit, x.Share, want[x.Limit])
		}
	}
}

// Each segment of a lossy capture gives one sample, and each late one a retransmission.
func TestSegmentsBecomeSamples(t *testing.T) {
	r, sink := lossy(t)
	engine := diagnose.New(diagnose.Options{Source: diagnose.Captured})
	s := &Series{Sink: tcp.Tee{sink, engine}}
	observe(t, r, s)
	if sink.samples != 700 || len(sink.flows) != 4 || sink.events[tcp.EventRetransmit] < 95 ||
		sink.events[tcp.EventOpen] != 4 || len(s.Other) != 2 {
		t.Errorf("%d samples, %d flows, %v, other ends %v", sink.samples, len(sink.flows), sink.events, s.Other)
	}
	report := engine.Report()
	report.Without(func(c *diagnose.Connection) bool { return s.Other[c.ID] })
	if len(report.Connections) != 2 || len(report.Doubts) != 1 {
		t.Fatalf("%d connections, doubts %q", len(report.Connections), report.Doubts)
	}
	for _, c := range report.Connections {
		if c.Certainty == diagnose.Certain {
			t.Errorf("a capture alone makes %s certain", c.Limit)
		}
	}
}

// The capture has three refused connections and two that got no answer to three and two SYNs.
func TestConnectionsThatDidNotOpen(t *testing.T) {
	r, err := read.Open("testdata/unopened.pcap")
	if err != nil {
		t.Fatal(err)
	}
	defer r.Close()
	groups := atBestEnd(t, r).Groups()
	if len(groups) != 2 || groups[0].Connections != 3 || groups[0].Unopened != "refused by the peer" ||
		groups[1].Connections != 2 || groups[1].Unopened != "no answer came" {
		t.Errorf("%+v", groups)
	}
}

// The first connections are passed on, and the others are counted.
func TestMostConnections(t *testing.T) {
	r, sink := lossy(t)
	s := &Series{Sink: sink, Most: 1}
	observe(t, r, s)
	if len(sink.flows) != 2 || s.LeftOut != 1 {
		t.Errorf("%d flows, %d left out", len(sink.flows), s.LeftOut)
	}
}

// Of the answers of a pipeline, requests end the silences, and other acknowledgements a few.
func TestRequestsEndSilences(t *testing.T) {
	for request, want := range map[int64]int64{0: 1, 100: 0} {
		e := end{mss: 1000, sentNs: 1e18}
		e.waiting.TimeNs = e.sentNs + 30e6
		e.waiting.Values[tcp.SegmentBytes] = request
		e.waiting.Values[tcp.WriterBlocked] = tcp.Absent
		e.judgeRelease(1000, e.waiting.TimeNs+10_000)
		if got := e.waiting.Values[tcp.WriterBlocked]; got != want {
			t.Errorf("behind a request of %d bytes: %d, want %d", request, got, want)
		}
	}
}

// upload is a capture at a client that sends n segments, one in 2 ms, each acknowledged 20 ms
// later.
func upload(n int, acked func(ack *capture.TCP)) *capture.Source {
	client := netip.MustParseAddrPort("192.0.2.1:40000")
	server := netip.MustParseAddrPort("192.0.2.9:80")
	source := &capture.Source{}
	start := int64(1e18)
	up := capture.TCP{From: client, To: server, Flags: decode.SYN, Seq: 100, Window: 20_000}
	down := capture.TCP{From: server, To: client, Flags: decode.SYN | decode.ACK, Seq: 900, Ack: 101, Window: 60_000}
	source.Add(start-20e6, up.IP())
	source.Add(start, down.IP())
	up.Flags = decode.ACK
	up.Ack = 901
	down.Flags = decode.ACK
	down.Seq = 901
	for i := range n + 10 {
		now := start + int64(i)*2e6
		if i < n {
			up.Seq = 101 + 1000*uint32(i)
			up.Payload = 1000
			source.Add(now, up.IP())
		}
		if i >= 10 {
			down.Ack = 101 + 1000*uint32(i-9)
			acked(&down)
			source.Add(now+1e6, down.IP())
		}
	}
	return source
}

// A path that repeats packets makes the receiver report bytes that came twice. Nothing overtook
// anything then. Bytes of which the report is missing did.
func TestRepeatedPacketsAreNotReordered(t *testing.T) {
	for reordering, below := range map[int]uint32{0: 1000, 5: 0} {
		sink := newChecked(t)
		s := &Series{Sink: sink}
		acks := 0
		source := upload(100, func(ack *capture.TCP) {
			ack.Options = nil
			acks++
			if acks%20 == 10 { // a block below the acknowledgement, or above it
				ack.Options = []byte{1, 1, 5, 10}
				ack.Options = binary.BigEndian.AppendUint32(ack.Options, ack.Ack-below)
				ack.Options = binary.BigEndian.AppendUint32(ack.Options, ack.Ack-below+1000)
			}
		})
		observe(t, source, s)
		if got := sink.events[tcp.EventReordering]; got != reordering {
			t.Errorf("with blocks %d bytes below the acknowledgement %d times reordered, want %d: %v", below, got,
				reordering, sink.events)
		}
	}
}

// A client that has sent its FIN goes on to receive.
func TestDataBehindTheFINOfItsReceiver(t *testing.T) {
	source := &capture.Source{}
	client := netip.MustParseAddrPort("192.0.2.1:40000")
	server := netip.MustParseAddrPort("192.0.2.9:80")
	up := capture.TCP{From: client, To: server, Flags: decode.SYN, Seq: 100, Window: 60_000}
	down := capture.TCP{From: server, To: client, Flags: decode.SYN | decode.ACK, Seq: 900, Ack: 101, Window: 60_000}
	now := int64(1e18)
	source.Add(now, up.IP())
	source.Add(now+20e6, down.IP())
	up.Flags = decode.ACK | decode.FIN
	up.Seq = 101
	up.Ack = 901
	up.Payload = 100
	source.Add(now+20e6, up.IP())
	up.Flags = decode.ACK
	up.Seq = 202
	up.Payload = 0
	down.Flags = decode.ACK
	down.Seq = 901
	down.Ack = 202
	down.Payload = 1000
	for range 1000 {
		now += 2e6
		source.Add(now+40e6, down.IP())
		down.Seq += 1000
		up.Ack = down.Seq
		source.Add(now+40e6, up.IP())
	}
	report, _ := diagnosed(t, source)
	at := slices.IndexFunc(report.Connections, func(c diagnose.Connection) bool { return c.Local == client })
	if at < 0 {
		t.Fatalf("nothing of the client: %+v", report.Connections)
	}
	if c := report.Connections[at]; c.Limit != diagnose.SenderOrNetwork || c.ReceivedBytes < 990_000 {
		t.Errorf("%s, %d bytes received: %+v", c.Limit, c.ReceivedBytes, c.Evidence)
	}
}

package diag

import (
	"encoding/binary"
	"math"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"airtide/internal/tcp"
)

// fullInfo is a struct tcp_info of Linux 6.18 in which every field has a value of its own.
func fullInfo() []byte {
	b := make([]byte, 280)
	for i := range infoFields {
		f := &infoFields[i]
		v := uint64(1000 + i)
		switch f.size {
		case 1:
			b[f.offset] = uint8(1 + i)
		case 4:
			binary.NativeEndian.PutUint32(b[f.offset:], uint32(v))
		case 8:
			binary.NativeEndian.PutUint64(b[f.offset:], v)
		}
	}
	binary.NativeEndian.PutUint32(b[offUnacked:], 5000)
	return b
}

// The kernel keeps a greater window for itself than it can advertise with the scale of the
// handshake.
func TestTheReceiveWindowIsTheAdvertisedOne(t *testing.T) {
	for scale, want := range map[uint8]int64{0: 65535, 1: 131070, 2: 200_000, 14: 200_000} {
		info := fullInfo()
		info[offWindowScale] = scale<<4 | 7
		binary.NativeEndian.PutUint32(info[232:], 200_000)
		var r row
		r.fill(&answer{info: info})
		if r[tcp.ReceiveWindowBytes] != want {
			t.Errorf("scale %d: %d bytes, want %d", scale, r[tcp.ReceiveWindowBytes], want)
		}
	}
}

// TestShorterInfoOfOlderKernelsLeavesItsTailAbsent cuts tcp_info where kernels of the past ended
// it.
func TestShorterInfoOfOlderKernelsLeavesItsTailAbsent(t *testing.T) {
	for _, kernel := range []struct {
		version string
		length  int
		absent  []tcp.Field // the first fields that it lacks
		last    tcp.Field   // the last one that it has
	}{
		{
			"2.6", 104,
			[]tcp.Field{tcp.PacingRateBps, tcp.AckedBytes, tcp.SentBytes, tcp.WrittenBytes, tcp.ReadBytes},
			tcp.RetransmitsPackets,
		},
		{"3.15", 120, []tcp.Field{tcp.AckedBytes}, tcp.PacingRateBps},
		{"4.1", 136, []tcp.Field{tcp.MinRttUs, tcp.SentBytes}, tcp.WrittenBytes},
		{"4.6", 160, []tcp.Field{tcp.DeliveryRateBps, tcp.AppLimited}, tcp.SentBytes},
		{"4.9", 168, []tcp.Field{tcp.BusyUs, tcp.RwndLimitedUs, tcp.SndbufLimitedUs}, tcp.AppLimited},
		{"4.10", 192, []tcp.Field{tcp.DeliveredPackets, tcp.DeliveredCEPackets}, tcp.SndbufLimitedUs},
		{"4.18", 200, []tcp.Field{tcp.RetransmittedBytes, tcp.DSackDups, tcp.ReorderingSeen}, tcp.DeliveredCEPackets},
		{"4.19", 224, []tcp.Field{tcp.OutOfOrderPackets, tcp.SendWindowBytes}, tcp.ReorderingSeen},
		{"5.4", 232, []tcp.Field{tcp.ReceiveWindowBytes}, tcp.SendWindowBytes},
		{"6.2", 240, nil, tcp.ReceiveWindowBytes},
	} {
		a := answer{info: fullInfo()[:kernel.length]}
		var r row
		var s streams
		r.fill(&a)
		s.fill(&r, &a)
		for _, f := range kernel.absent {
			if r[f] != tcp.Absent {
				t.Errorf("Linux %s: %v is %d, want absent", kernel.version, f, r[f])
			}
		}
		if r[kernel.last] == tcp.Absent {
			t.Errorf("Linux %s: %v is absent", kernel.version, kernel.last)
		}
		for i := range infoFields {
			f := &infoFields[i]
			if there := f.offset+f.size <= kernel.length; (r[f.field] != tcp.Absent) != there {
				t.Errorf("Linux %s: %v is %d", kernel.version, f.field, r[f.field])
			}
		}
	}
}

func TestUnitsAndDerivedFields(t *testing.T) {
	info := fullInfo()
	put32 := func(offset int, v uint32) { binary.NativeEndian.PutUint32(info[offset:], v) }
	put64 := func(offset int, v uint64) { binary.NativeEndian.PutUint64(info[offset:], v) }
	put32(offUnacked, 100)
	put32(28, 10) // sacked
	put32(32, 5)  // lost
	put32(36, 2)  // retrans
	put64(104, 1_250_000)
	put64(offDeliveryRate, 125_000)
	info[offRateFlags] = 1
	bbr := make([]byte, 20)
	binary.NativeEndian.PutUint64(bbr, 1<<33) // bytes per second: above 32 bits
	binary.NativeEndian.PutUint32(bbr[8:], 4000)
	binary.NativeEndian.PutUint32(bbr[12:], 320)
	binary.NativeEndian.PutUint32(bbr[16:], 512)
	memory := make([]byte, 36)
	for i := range 9 {
		binary.NativeEndian.PutUint32(memory[4*i:], uint32(i+1))
	}
	binary.NativeEndian.PutUint32(memory[16:], uint32(0xffffffff)) // forward_alloc -1
	var r row
	r.fill(&answer{info: info, bbr: bbr, memory: memory})
	for f, want := range map[tcp.Field]int64{
		tcp.InFlightPackets: 87, tcp.PacingRateBps: 10_000_000, tcp.DeliveryRateBps: 1_000_000, tcp.AppLimited: 1,
		tcp.BBRBandwidthBps: 8 << 33, tcp.BBRMinRttUs: 4000, tcp.BBRPacingGainPct: 125, tcp.BBRCwndGainPct: 200,
		tcp.BBRMode: tcp.Absent, tcp.BBRFullBandwidth: tcp.Absent,
		tcp.ReceiveMemoryBytes: 1, tcp.ReceiveBufferBytes: 2, tcp.DeviceQueueBytes: 3, tcp.SendBufferBytes: 4,
		tcp.ForwardMemoryBytes: -1, tcp.SendMemoryBytes: 6, tcp.BacklogBytes: 8,
	} {
		if r[f] != want {
			t.Errorf("%v: %d, want %d", f, r[f], want)
		}
	}
	r.fill(&answer{info: info, memory: memory[:28]})
	if r[tcp.BacklogBytes] != tcp.Absent || r[tcp.BBRMinRttUs] != tcp.Absent {
		t.Errorf("without backlog and BBR: %d, %d, want absent", r[tcp.BacklogBytes], r[tcp.BBRMinRttUs])
	}
	put32(offUnacked, 0)
	r.fill(&answer{info: info})
	if r[tcp.InFlightPackets] != 0 {
		t.Errorf("in flight after a reset, which leaves the other counts: %d", r[tcp.InFlightPackets])
	}
}

// TestValuesThatStandForNoneAreAbsent goes through the kernel's ways to say "not measured" and "no
// limit".
func TestValuesThatStandForNoneAreAbsent(t *testing.T) {
	for _, c := range []struct {
		name   string
		offset int
		size   int
		value  uint64
		field  tcp.Field
		absent bool
	}{
		{"ssthresh infinite", 76, 4, math.MaxInt32, tcp.SsthreshPackets, true},
		{"ssthresh all ones", 76, 4, math.MaxUint32, tcp.SsthreshPackets, true},
		{"ssthresh just below", 76, 4, math.MaxInt32 - 1, tcp.SsthreshPackets, false},
		{"min RTT all ones", 148, 4, math.MaxUint32, tcp.MinRttUs, true},
		{"min RTT 0", 148, 4, 0, tcp.MinRttUs, true},
		{"srtt 0", 68, 4, 0, tcp.SrttUs, true},
		{"rttvar without srtt", 68, 4, 0, tcp.RttvarUs, true},
		{"receiver's RTT 0", 92, 4, 0, tcp.ReceiverRttUs, true},
		{"pacing rate all ones", 104, 8, math.MaxUint64, tcp.PacingRateBps, true},
		{"pacing rate 0", 104, 8, 0, tcp.PacingRateBps, true},
		{"delivery rate 0", 160, 8, 0, tcp.DeliveryRateBps, true},
		{"app-limited without a delivery rate", 160, 8, 0, tcp.AppLimited, true},
		{"send window 0", 228, 4, 0, tcp.SendWindowBytes, false},
		{"receive window 0", 232, 4, 0, tcp.ReceiveWindowBytes, false},
		{"delivered 0", 192, 4, 0, tcp.DeliveredPackets, false},
		{"busy 0", 168, 8, 0, tcp.BusyUs, false},
		{"back-off 0", 4, 1, 0, tcp.Backoff, false},
	} {
		info := fullInfo()
		switch c.size {
		case 1:
			info[c.offset] = uint8(c.value)
		case 4:
			binary.NativeEndian.PutUint32(info[c.offset:], uint32(c.value))
		case 8:
			binary.NativeEndian.PutUint64(info[c.offset:], c.value)
		}
		var r row
		r.fill(&answer{info: info})
		if absent := r[c.field] == tcp.Absent; absent != c.absent || !absent && r[c.field] != int64(c.value) {
			t.Errorf("%s: %v is %d, want absent %v", c.name, c.field, r[c.field], c.absent)
		}
	}
}

// TestStreamOffsets checks the arithmetic against data that moves while the kernel fills its
// answer.
func TestStreamOffsets(t *testing.T) {
	type poll struct {
		acked, bytesSent, retrans, received int64
		notSent, sendQueue, receiveQueue    uint32
		unacked                             uint32 // segments; 0 for fullInfo's
		wantSent, wantWritten, wantRead     int64
	}
	for _, c := range []struct {
		name  string
		polls []poll
	}{
		{
			"quiet server",
			[]poll{
				{
					acked: 1000, bytesSent: 1000, received: 500, receiveQueue: 100, wantSent: 1000,
					wantWritten: 1000, wantRead: 400,
				},
			},
		},
		{"quiet client counts its SYN", []poll{{acked: 1001, bytesSent: 1000, wantSent: 1001, wantWritten: 1001}}},
		{
			"client with data on the way",
			[]poll{{acked: 1001, bytesSent: 3000, notSent: 50, sendQueue: 2050, wantSent: 3001, wantWritten: 3051}},
		},
		{
			"retransmissions are not counted twice",
			[]poll{{acked: 1001, bytesSent: 5000, retrans: 2000, sendQueue: 2000, wantSent: 3001, wantWritten: 3001}},
		},
		{"queue taken before ACKs came in", []poll{
			{acked: 1001, bytesSent: 1000, wantSent: 1001, wantWritten: 1001},
			{acked: 9001, bytesSent: 12000, notSent: 100, sendQueue: 10000, wantSent: 12001, wantWritten: 12101},
		}},
		{"the own device refuses data, at first unnoticed", []poll{
			{acked: 1001, bytesSent: 9000, notSent: 50, sendQueue: 3050, unacked: 9, wantSent: 9000, wantWritten: 9050},
			{acked: 9001, bytesSent: 15000, sendQueue: 2000, unacked: 2, wantSent: 11009, wantWritten: 11009},
			{acked: 11001, bytesSent: 17000, sendQueue: 2000, unacked: 2, wantSent: 13009, wantWritten: 13009},
		}},
		{"offsets never fall", []poll{
			{received: 1000, receiveQueue: 0, acked: 1, bytesSent: 0, wantSent: 1, wantWritten: 1, wantRead: 1000},
			{received: 1500, receiveQueue: 600, acked: 1, bytesSent: 0, wantSent: 1, wantWritten: 1, wantRead: 1000},
		}},
	} {
		var s streams
		for i, p := range c.polls {
			info := fullInfo()
			for offset, v := range map[int]int64{
				120: p.acked, 128: p.received, offBytesSent: p.bytesSent, 208: p.retrans,
			} {
				binary.NativeEndian.PutUint64(info[offset:], uint64(v))
			}
			binary.NativeEndian.PutUint32(info[offNotSent:], p.notSent)
			if p.unacked > 0 {
				binary.NativeEndian.PutUint32(info[offUnacked:], p.unacked)
			}
			a := answer{info: info, sendQueue: p.sendQueue, receiveQueue: p.receiveQueue}
			var r row
			r.fill(&a)
			s.fill(&r, &a)
			if r[tcp.SentBytes] != p.wantSent || r[tcp.WrittenBytes] != p.wantWritten ||
				r[tcp.ReadBytes] != p.wantRead {
				t.Errorf("%s, poll %d: sent %d, written %d, read %d, want %d, %d, %d", c.name, i, r[tcp.SentBytes],
					r[tcp.WrittenBytes], r[tcp.ReadBytes], p.wantSent, p.wantWritten, p.wantRead)
			}
		}
	}
}

func TestFieldTableIsInOrderAndDocumented(t *testing.T) {
	doc, err := os.ReadFile("../../../docs/reference/inet-diag.md")
	if err != nil {
		t.Fatal(err)
	}
	seen := map[tcp.Field]bool{}
	for i, f := range infoFields {
		if i > 0 && f.offset < infoFields[i-1].offset+infoFields[i-1].size {
			t.Errorf("%s overlaps the one before", f.name)
		}
		if seen[f.field] {
			t.Errorf("%v has two sources", f.field)
		}
		seen[f.field] = true
		line := "| `" + f.field.String() + "` | `" + f.name + "`"
		if i := strings.Index(string(doc), line); i < 0 {
			t.Errorf("docs/reference/inet-diag.md has no row that begins with %q", line)
		} else if row, _, _ := strings.Cut(string(doc)[i:], "\n"); !strings.HasSuffix(row, "| "+f.since+" |") {
			t.Errorf("docs/reference/inet-diag.md: row %q, want it to end with version %s", row, f.since)
		}
	}
	for f := range tcp.Field(tcp.NumStored) {
		if !strings.Contains(string(doc), "`"+f.String()+"`") {
			t.Errorf("docs/reference/inet-diag.md does not say where %v comes from or that it is absent", f)
		}
	}
}

func FuzzAnswerIsParsedWithoutPanic(f *testing.F) {
	msg := make([]byte, messageLen)
	msg[0] = unix.AF_INET6
	f.Add(msg)
	f.Add(append(msg, 8, 0, attrInfo, 0, 1, 2, 3, 4))
	f.Add(append(msg, 3, 0, 0, 0))
	f.Add(msg[:10])
	f.Fuzz(func(_ *testing.T, b []byte) {
		var a answer
		if !a.parse(b) {
			return
		}
		a.endpoints()
		if len(a.info) >= leastInfo {
			var r row
			var s streams
			r.fill(&a)
			s.fill(&r, &a)
			pastOf(&r, &a)
		}
	})
}

package export

import (
	"math/rand/v2"
	"net/netip"

	"airtide/internal/tcp"
)

// The synthetic recording: two flows of one process and one whose process is found late, with CUBIC
// state on the first and nothing of BBR, events of several kinds and some lost records.

var testMeta = Meta{
	Host: "terminal", Kernel: "6.1.0", Source: "bpf", Tool: "0.1",
	ClockMonotonicNs: 1_000_000_000_000, ClockWallNs: 1_700_000_000_123_456_789, ClockBootNs: 1_000_500_000_000,
}

const testStartNs = 1_000_000_000_000

func testFlows() []tcp.Flow {
	server := netip.MustParseAddrPort("10.0.0.2:5201")
	return []tcp.Flow{
		{
			ID: 1, Local: netip.MustParseAddrPort("10.0.0.1:40000"), Remote: server, NetNS: 4026531840, Cgroup: 77,
			CgroupPath: "/user.slice",
			PID:        4711, Comm: "iperf3", Inode: 99, CongestionControl: "cubic", FirstNs: testStartNs,
		},
		{
			ID: 2, Local: netip.MustParseAddrPort("[::ffff:10.0.0.1]:40001"), Remote: server, PID: 4711, Comm: "iperf3",
			CongestionControl: "bbr", FirstNs: testStartNs, Inherited: true,
		},
		{
			ID: 3, Local: netip.MustParseAddrPort("[2001:db8::1]:443"),
			Remote: netip.MustParseAddrPort("[2001:db8::2]:50000"), FirstNs: testStartNs,
		},
	}
}

func testEvents() []tcp.Event {
	at := func(i int64) int64 { return testStartNs + i*1_000_000 }
	return []tcp.Event{
		{
			TimeNs: at(0), Flow: 1, Kind: tcp.EventOpen, From: uint8(tcp.StateSynSent),
			To: uint8(tcp.StateEstablished), SsthreshPackets: infiniteSsthresh, CwndPackets: 10,
		},
		{
			TimeNs: at(3), Flow: 1, Kind: tcp.EventSack, Code: tcp.CodeDupAck, CAState: tcp.CADisorder,
			CwndPackets: 20, SsthreshPackets: 15,
			InFlightPackets: 18, NumBlocks: 2,
			Blocks: [4]tcp.Block{{Start: 1448, End: 2896}, {Start: 4344, End: 5792}}, CPU: 3, FromSample: true,
		},
		{
			TimeNs: at(4), Flow: 1, Kind: tcp.EventRetransmit, CAState: tcp.CARecovery, Cause: tcp.CauseFast,
			CwndPackets: 20, Seq: 0, EndSeq: 1448, SsthreshPackets: 14,
		},
		{TimeNs: at(5), Flow: 2, Kind: tcp.EventTimeout, Code: tcp.CodeTimeout, CAState: tcp.CALoss, Value: 204000},
		{TimeNs: at(6), Flow: 2, Kind: tcp.EventCAState, From: uint8(tcp.CAOpen), To: uint8(tcp.CALoss)},
		{TimeNs: at(7), Flow: 2, Kind: tcp.EventCCChange, Text: `quo"te, and comma`},
		{
			TimeNs: at(8), Flow: 1, Kind: tcp.EventClose, Reason: tcp.ReasonLocalFIN, From: uint8(tcp.StateLastAck),
			To: uint8(tcp.StateClose),
		},
	}
}

// fillBatch makes n samples, round robin over the flows, that behave like those of a bulk transfer:
// counters that grow, a window that saws, a noisy round-trip time.
func fillBatch(b *tcp.Batch, first, n, flows int) {
	b.Reset()
	for i := first; i < first+n; i++ {
		var s tcp.Sample
		for f := range s.Values {
			s.Values[f] = tcp.Absent
		}
		round := int64(i / flows)
		noise := int64(rand.New(rand.NewPCG(1, uint64(i))).Uint64N(500))
		s.Flow = tcp.FlowID(1 + i%flows)
		s.TimeNs = testStartNs + int64(i)*10_000
		for f, v := range map[tcp.Field]int64{
			tcp.AckBytes: round * 2896, tcp.AckedBytes: round * 2896, tcp.SegmentBytes: 0, tcp.TCPFlags: 16,
			tcp.PeerWindowBytes: 3145728,
			tcp.SentBytes:       round*2896 + 40*1448, tcp.WrittenBytes: round*2896 + 200_000, tcp.ReceivedBytes: 37,
			tcp.ReadBytes:   37,
			tcp.CwndPackets: 10 + round%90, tcp.SsthreshPackets: 60, tcp.InFlightPackets: 8 + round%90,
			tcp.CAStateField: round / 400 % 4,
			tcp.MSSBytes:     1448, tcp.RetransOutPackets: 0, tcp.LostOutPackets: 0, tcp.SackedOutPackets: 0,
			tcp.CwndLimited: round % 2,
			tcp.SrttUs:      20_000 + noise/8, tcp.RttUs: 20_000 + noise, tcp.RttvarUs: 100 + noise/4,
			tcp.MinRttUs: 20_000, tcp.RTOUs: 220_000 + noise,
			tcp.SendWindowBytes: 3145728, tcp.ReceiveWindowBytes: 65536, tcp.SendBufferBytes: 4194304,
			tcp.ReceiveBufferBytes: 131072,
			tcp.DeviceQueueBytes:   noise * 128, tcp.SendMemoryBytes: 400_000 + noise*512,
			tcp.ForwardMemoryBytes: noise * 8,
			tcp.DeliveredPackets:   round * 2, tcp.LostPackets: round / 400, tcp.RetransmitsPackets: round / 400,
			tcp.DeliveryRateBps: 90_000_000 + noise*10_007, tcp.PacingRateBps: 110_000_000 + noise*3001,
			tcp.BusyUs:     round * 20,
			tcp.StateField: 1, tcp.CubicKMs: 1200, tcp.CubicWmaxPackets: 88, tcp.CubicTargetPackets: 10 + round%90,
		} {
			s.Values[f] = v
		}
		if i == 0 {
			s.Values[tcp.SsthreshPackets] = tcp.Absent
		}
		if round%7 < 4 { // comes and goes, as it does between epochs
			s.Values[tcp.CubicEpochNs] = testStartNs + round/7
		}
		b.Append(&s)
	}
}

// play sends the synthetic recording to a sink.
func play(sink tcp.Sink, samples int) error {
	flows := testFlows()
	for i := range flows {
		if err := sink.Flow(&flows[i]); err != nil {
			return err
		}
	}
	b := tcp.NewBatch(1000)
	for first := 0; first < samples; first += 1000 {
		fillBatch(b, first, min(1000, samples-first), len(flows))
		if err := sink.Samples(b); err != nil {
			return err
		}
	}
	for _, e := range testEvents() {
		if err := sink.Event(&e); err != nil {
			return err
		}
	}
	late := flows[2]
	late.PID = 4712
	late.Comm = "sshd"
	if err := sink.Flow(&late); err != nil {
		return err
	}
	for _, orphans := range []uint64{0, 5, 5} {
		err := sink.Lost(&tcp.Loss{TimeNs: testStartNs + 9_000_000, PerCPU: []uint64{2, 0}[:2:2], Orphans: orphans})
		if err != nil {
			return err
		}
	}
	return nil
}

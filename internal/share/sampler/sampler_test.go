package sampler

import (
	"net/netip"
	"testing"
	"time"

	"airtide/internal/tcp"
)

func sample(id tcp.FlowID, values map[tcp.Field]int64) *tcp.Batch {
	s := &tcp.Sample{Flow: id}
	for f := range s.Values {
		s.Values[f] = tcp.Absent
	}
	for f, v := range values {
		s.Values[f] = v
	}
	b := tcp.NewBatch(1)
	b.Append(s)
	return b
}

func TestDrainReturnsTheActivitySinceTheLast(t *testing.T) {
	f := New(0)
	for id := tcp.FlowID(1); id <= 2; id++ {
		_ = f.Flow(&tcp.Flow{ID: id, Remote: netip.MustParseAddrPort("10.0.0.1:80")})
	}
	// A flow that was open before: what it had carried by then does not count.
	up := map[tcp.Field]int64{
		tcp.AckedBytes: 1e6, tcp.ReceivedBytes: 0, tcp.SentBytes: 1e6 + 14480, tcp.WrittenBytes: 2e6,
		tcp.CwndPackets: 10, tcp.InFlightPackets: 10,
		tcp.MinRttUs: 2000, tcp.RttUs: 5000, tcp.MSSBytes: 1448, tcp.RetransmitsPackets: 3,
	}
	_ = f.Samples(sample(1, up))
	up[tcp.AckedBytes] = 1e6 + 125000
	up[tcp.SentBytes] = 1e6 + 139480
	up[tcp.RttUs] = 15000
	up[tcp.RetransmitsPackets] = 5
	_ = f.Samples(sample(1, up))
	_ = f.Samples(
		sample(
			2,
			map[tcp.Field]int64{
				tcp.AckedBytes: 0, tcp.ReceivedBytes: 0, tcp.SentBytes: 0, tcp.WrittenBytes: 0, tcp.CwndPackets: 10,
				tcp.InFlightPackets: 0,
			},
		),
	)
	_ = f.Samples(
		sample(
			2,
			map[tcp.Field]int64{
				tcp.AckedBytes: 0, tcp.ReceivedBytes: 250000, tcp.SentBytes: 0, tcp.WrittenBytes: 0,
				tcp.CwndPackets: 10, tcp.InFlightPackets: 0,
			},
		),
	)
	_ = f.Event(&tcp.Event{Flow: 1, Kind: tcp.EventTimeout, Code: tcp.CodeTimeout})
	_ = f.Event(&tcp.Event{Flow: 2, Kind: tcp.EventClose})
	_ = f.Event(&tcp.Event{Flow: 9, Kind: tcp.EventTimeout, Code: tcp.CodeTimeout})
	flows, s := f.Drain(1e9)
	if s.SendRate != 1e6 || s.ReceiveRate != 2e6 || s.Retransmits != 2 || s.Errors[tcp.CodeTimeout] != 1 {
		t.Errorf("%+v", s)
	}
	if len(flows) != 1 || flows[0].MinRTT != 2*time.Millisecond || s.MeanRTT != 10*time.Millisecond ||
		s.RTT95 != 15*time.Millisecond || s.QueuedBytes != 2e6-1e6-125000 {
		t.Errorf("%+v", s)
	}
	if len(flows) != 1 || flows[0].ID != 1 || flows[0].MSS != 1448 || !flows[0].Greedy || flows[0].SendRate != 1e6 {
		t.Errorf("flows %+v", flows)
	}
	// Nothing new.
	flows, s = f.Drain(2e9)
	if s.SendRate != 0 || s.ReceiveRate != 0 || len(flows) != 1 || flows[0].Greedy ||
		s.Retransmits != 0 || s.Errors != [tcp.NumErrorCodes]int64{} || s.MeanRTT != 0 {
		t.Errorf("%+v", s)
	}
}

func TestGreedyFlows(t *testing.T) {
	for _, c := range []struct {
		name   string
		values map[tcp.Field]int64
		want   bool
	}{
		{
			"window full, more waits",
			map[tcp.Field]int64{
				tcp.SentBytes: 1e6, tcp.WrittenBytes: 2e6, tcp.CwndPackets: 100, tcp.InFlightPackets: 100,
			},
			true,
		},
		{
			"between two acknowledgements",
			map[tcp.Field]int64{
				tcp.SentBytes: 1e6, tcp.WrittenBytes: 2e6, tcp.CwndPackets: 100, tcp.InFlightPackets: 90,
			},
			true,
		},
		{
			"nothing waits",
			map[tcp.Field]int64{
				tcp.SentBytes: 1e6, tcp.WrittenBytes: 1e6, tcp.CwndPackets: 100, tcp.InFlightPackets: 100,
			},
			false,
		},
		{
			"the peer's window limits",
			map[tcp.Field]int64{
				tcp.SentBytes: 1e6, tcp.WrittenBytes: 2e6, tcp.CwndPackets: 100, tcp.InFlightPackets: 40,
			},
			false,
		},
		{
			"a small window",
			map[tcp.Field]int64{tcp.SentBytes: 1e6, tcp.WrittenBytes: 2e6, tcp.CwndPackets: 4, tcp.InFlightPackets: 2},
			true,
		},
		{"not seen, by the kernel's mark", map[tcp.Field]int64{tcp.AppLimited: 0}, true},
		{"not seen, limited", map[tcp.Field]int64{tcp.AppLimited: 1}, false},
	} {
		f := New(0)
		_ = f.Flow(&tcp.Flow{ID: 1})
		_ = f.Samples(sample(1, c.values))
		if flows, _ := f.Drain(1e9); len(flows) != 1 || flows[0].Greedy != c.want {
			t.Errorf("%s: greedy %v", c.name, flows)
		}
	}
}

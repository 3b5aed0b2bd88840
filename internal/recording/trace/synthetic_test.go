package trace

import (
	"cmp"
	"math"
	"math/rand/v2"
	"net/netip"
	"reflect"
	"slices"
	"testing"

	"airtide/internal/tcp"
)

// sender simulates one end of a bulk transfer as a monitor would sample it, per ACK. Its
// values are about as random as the kernel's.
type sender struct {
	id                     tcp.FlowID
	rng                    *rand.Rand
	ackNs, epochNs         int64
	acked, sent, written   int64
	cwnd, wmax, ssthresh   float64
	srtt, rttvar           float64
	delivered, retransmits int64
	bbr                    bool
}

const mss = 1448

func newSender(id tcp.FlowID, rng *rand.Rand) *sender {
	return &sender{
		id: id, rng: rng, ackNs: 1e12 + rng.Int64N(1e6), epochNs: 1e12, cwnd: 10 + float64(rng.IntN(60)), wmax: 90,
		srtt: 8000 + float64(rng.IntN(4000)), rttvar: 900, bbr: id%8 == 7, written: 4 << 20,
	}
}

// next fills in the state at the next ACK.
func (s *sender) next(row *tcp.Sample) {
	r := s.rng
	s.ackNs += 10_000 + r.Int64N(30_000) + int64(r.ExpFloat64()*15_000)
	segments := int64(1 + r.IntN(2))
	acked := s.acked + segments*mss
	// CUBIC: cwnd = 0.4 (t - K)^3 + Wmax, with a loss at a window of 100.
	t := float64(s.ackNs-s.epochNs) / 1e9
	k := math.Cbrt(s.wmax * 0.3 / 0.4)
	target := 0.4*(t-k)*(t-k)*(t-k) + s.wmax
	if s.cwnd < target {
		s.cwnd += float64(segments) / s.cwnd * 2
	}
	if s.cwnd > 100 || r.IntN(20000) == 0 {
		s.wmax = s.cwnd
		s.ssthresh = s.cwnd * 0.7
		s.cwnd *= 0.7
		s.epochNs = s.ackNs
		s.retransmits += 1 + r.Int64N(4)
	}
	rtt := 8000 + 40*s.cwnd + r.NormFloat64()*300
	s.srtt += (rtt - s.srtt) / 8
	s.rttvar += (math.Abs(rtt-s.srtt) - s.rttvar) / 4
	s.delivered += segments
	cwnd := int64(s.cwnd)
	inFlight := max(1, cwnd-r.Int64N(3))
	if s.written-s.sent < 1<<20 {
		s.written += 128 << 10
	}
	s.sent = acked + inFlight*mss

	v := &row.Values
	row.TimeNs = s.ackNs
	row.Flow = s.id
	for f := range v {
		v[f] = 0
	}
	v[tcp.AckBytes] = acked
	v[tcp.AckedBytes] = s.acked
	v[tcp.SentBytes] = s.sent
	v[tcp.WrittenBytes] = s.written
	v[tcp.PeerWindowBytes] = 3 << 20
	v[tcp.SendWindowBytes] = 3 << 20
	v[tcp.TCPFlags] = 16
	v[tcp.StateField] = 1
	v[tcp.MSSBytes] = mss
	v[tcp.ReorderingPackets] = 3
	v[tcp.CwndPackets] = cwnd
	v[tcp.InFlightPackets] = inFlight
	v[tcp.SsthreshPackets] = tcp.Absent
	if s.ssthresh > 0 {
		v[tcp.SsthreshPackets] = int64(s.ssthresh)
	}
	v[tcp.CwndLimited] = int64(r.IntN(10) / 9)
	v[tcp.SrttUs] = int64(s.srtt)
	v[tcp.RttvarUs] = int64(s.rttvar)
	v[tcp.RttUs] = int64(rtt)
	v[tcp.MinRttUs] = 7800
	v[tcp.RTOUs] = 204_000 + int64(s.srtt)/4000*4000
	v[tcp.ReceiveWindowBytes] = 64256
	v[tcp.ReceiveBufferBytes] = 131072
	v[tcp.SendBufferBytes] = 2626560
	v[tcp.SendMemoryBytes] = (s.written - s.acked) / mss * 2304
	v[tcp.DeviceQueueBytes] = r.Int64N(4) * 2304
	v[tcp.ForwardMemoryBytes] = r.Int64N(4096)
	v[tcp.DeliveredPackets] = s.delivered
	v[tcp.RetransmitsPackets] = s.retransmits
	v[tcp.LostPackets] = s.retransmits
	v[tcp.RetransmittedBytes] = s.retransmits * mss
	v[tcp.DeliveryRateBps] = int64(float64(cwnd*mss*8) / rtt * 1e6)
	v[tcp.PacingRateBps] = int64(1.2 * float64(cwnd*mss*8) / s.srtt * 1e6)
	v[tcp.BusyUs] = s.ackNs / 4e6 * 4000
	for f := tcp.CubicKMs; f < tcp.NumStored; f++ {
		v[f] = tcp.Absent
	}
	if s.bbr {
		v[tcp.BBRMode] = 2
		v[tcp.BBRPacingGainPct] = 100
		v[tcp.BBRCwndGainPct] = 200
		v[tcp.BBRFullBandwidth] = 1
		v[tcp.BBRBandwidthBps] = 100e6 + s.delivered/1000
		v[tcp.BBRMinRttUs] = 7800
	} else {
		v[tcp.CubicKMs] = int64(k * 1000)
		v[tcp.CubicWmaxPackets] = int64(s.wmax)
		v[tcp.CubicOriginPackets] = int64(s.wmax)
		v[tcp.CubicEpochNs] = s.epochNs / 4e6 * 4e6
		v[tcp.CubicTargetPackets] = int64(target)
		v[tcp.CubicRenoPackets] = cwnd
		v[tcp.CubicDelayMinUs] = 7800
		v[tcp.CubicCnt] = max(2, int64(s.cwnd/max(0.1, target-s.cwnd)))
	}
	s.acked = acked
}

// transfers makes n samples of bulk transfers, in the order of time as a monitor would see them.
func transfers(n, flows int, seed uint64) *tcp.Batch {
	rng := rand.New(rand.NewPCG(seed, 1))
	senders := make([]*sender, flows)
	for i := range senders {
		senders[i] = newSender(tcp.FlowID(i+1), rng)
	}
	b := tcp.NewBatch(n)
	var row tcp.Sample
	for range n {
		earliest := senders[rng.IntN(flows)]
		for range min(4, flows) { // about in the order of time
			if s := senders[rng.IntN(flows)]; s.ackNs < earliest.ackNs {
				earliest = s
			}
		}
		earliest.next(&row)
		b.Append(&row)
	}
	return b
}

func flowNumber(id tcp.FlowID) *tcp.Flow {
	return &tcp.Flow{
		ID:     id,
		Local:  netip.AddrPortFrom(netip.AddrFrom4([4]byte{192, 0, 2, byte(id)}), uint16(id)),
		Remote: netip.MustParseAddrPort("[2001:db8::1]:443"),
		PID:    uint32(id) + 1000, Comm: "iperf3", CongestionControl: "cubic", FirstNs: int64(id) * 1e6,
		Inherited: id%2 == 0,
	}
}

// cut returns rows from to to of a batch, sharing its memory.
func cut(b *tcp.Batch, from, to int) *tcp.Batch {
	c := &tcp.Batch{TimeNs: b.TimeNs[from:to], Flow: b.Flow[from:to]}
	for f := range b.Cols {
		c.Cols[f] = b.Cols[f][from:to]
	}
	return c
}

// kept is a sink that keeps all.
type kept struct {
	flows  []tcp.Flow
	rows   []tcp.Sample
	events []tcp.Event
	losses []tcp.Loss
	radio  []tcp.Radio
}

func (k *kept) Flow(f *tcp.Flow) error { k.flows = append(k.flows, *f); return nil }

func (k *kept) Samples(b *tcp.Batch) error {
	from := len(k.rows)
	k.rows = append(k.rows, make([]tcp.Sample, b.Len())...)
	for i := range b.Len() {
		b.Row(i, &k.rows[from+i])
	}
	return nil
}

func (k *kept) Event(e *tcp.Event) error { k.events = append(k.events, *e); return nil }

func (k *kept) Lost(l *tcp.Loss) error { k.losses = append(k.losses, *l); return nil }

func (k *kept) Radio(r *tcp.Radio) error { k.radio = append(k.radio, *r); return nil }

// byFlow sorts the rows as a reader delivers those of one block.
func (k *kept) byFlow() []tcp.Sample {
	rows := slices.Clone(k.rows)
	slices.SortStableFunc(rows, func(a, b tcp.Sample) int { return int(a.Flow) - int(b.Flow) })
	return rows
}

// sameRows compares samples of each flow, in order, and names the first that differs.
func sameRows(t *testing.T, got, want *kept) {
	t.Helper()
	g := got.byFlow()
	w := want.byFlow()
	if len(g) != len(w) {
		t.Fatalf("%d samples, want %d", len(g), len(w))
	}
	for i := range g {
		if g[i] != w[i] {
			for f := range tcp.Field(tcp.NumFields) {
				if g[i].Values[f] != w[i].Values[f] {
					t.Errorf("sample %d: %s is %d, want %d", i, f, g[i].Values[f], w[i].Values[f])
				}
			}
			t.Fatalf("sample %d: flow %d at %d, want flow %d at %d", i, g[i].Flow, g[i].TimeNs, w[i].Flow, w[i].TimeNs)
		}
	}
}

func sameRest(t *testing.T, got, want *kept) {
	t.Helper()
	if !reflect.DeepEqual(got.flows, want.flows) {
		t.Errorf("flows:\n got %+v\nwant %+v", got.flows, want.flows)
	}
	if !reflect.DeepEqual(got.events, want.events) {
		t.Errorf("events:\n got %+v\nwant %+v", got.events, want.events)
	}
	if !reflect.DeepEqual(got.losses, want.losses) {
		t.Errorf("losses:\n got %+v\nwant %+v", got.losses, want.losses)
	}
	if !reflect.DeepEqual(got.radio, want.radio) {
		t.Errorf("records about radios:\n got %+v\nwant %+v", got.radio, want.radio)
	}
}

func sortByTime(rows []tcp.Sample) {
	slices.SortStableFunc(rows, func(a, b tcp.Sample) int { return cmp.Compare(a.TimeNs, b.TimeNs) })
}

// stationRecord is a record about a radio's link after n retries.
func stationRecord(timeNs, n int64) *tcp.Radio {
	r := &tcp.Radio{
		TimeNs: timeNs, Kind: tcp.RadioStation, Interface: "wlan0", Station: "02:00:00:00:00:01",
		Values: tcp.NoRadioValues(),
	}
	r.Values[tcp.RadioTxRetries] = n
	r.Values[tcp.RadioSignalDbm] = -60
	return r
}

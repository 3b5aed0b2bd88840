package measure

import (
	"math"
	"net/netip"
	"path/filepath"
	"testing"
	"time"

	"airtide/tcp"
	"airtide/trace"
)

const zeroNs = int64(1_000e9)

var (
	sta    = netip.MustParseAddr("10.0.0.1")
	server = netip.MustParseAddr("10.0.1.1")
)

// recorded writes a recording of a sender's connections and returns its path. Times are milliseconds since time zero.
type recorded struct {
	t *testing.T
	w *trace.Writer
	b *tcp.Batch
}

func record(t *testing.T, fill func(r *recorded)) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "r.atr")
	w, err := trace.Create(path, trace.HostMetadata(), trace.Options{})
	if err != nil {
		t.Fatal(err)
	}
	r := &recorded{t, w, tcp.NewBatch(16)}
	fill(r)
	if err := w.Samples(r.b); err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	return path
}

func (r *recorded) flow(id tcp.FlowID, localPort, remotePort uint16) {
	f := &tcp.Flow{ID: id, Local: netip.AddrPortFrom(sta, localPort), Remote: netip.AddrPortFrom(server, remotePort), FirstNs: zeroNs}
	if err := r.w.Flow(f); err != nil {
		r.t.Fatal(err)
	}
}

func (r *recorded) sample(id tcp.FlowID, ms float64, acked, srttUs, cwnd int64) {
	var s tcp.Sample
	for f := range s.Values {
		s.Values[f] = tcp.Absent
	}
	s.TimeNs, s.Flow = zeroNs+int64(ms*1e6), id
	s.Values[tcp.AckedBytes], s.Values[tcp.SrttUs], s.Values[tcp.CwndPackets] = acked, srttUs, cwnd
	r.b.Append(&s)
}

func (r *recorded) event(id tcp.FlowID, ms float64, kind tcp.EventKind, code tcp.ErrorCode, value int64) {
	e := &tcp.Event{TimeNs: zeroNs + int64(ms*1e6), Flow: id, Kind: kind, Code: code, Value: value}
	if err := r.w.Event(e); err != nil {
		r.t.Fatal(err)
	}
}

func read(t *testing.T, path string, s Sender) (Kernel, bool) {
	t.Helper()
	of, damage, err := ReadKernel(path, zeroNs, time.Second, 3*time.Second, []Sender{s})
	if err != nil || damage != "" {
		t.Fatalf("reading: %v %s", err, damage)
	}
	k, ok := of[s.Flow]
	return k, ok
}

func TestMeansAreOverTime(t *testing.T) {
	path := record(t, func(r *recorded) {
		r.flow(1, 40000, 5201)
		r.sample(1, 500, 1000, 90_000, 99) // holds into the measured time, but is not its greatest
		r.sample(1, 1500, 2000, 10_000, 10)
		r.sample(1, 2500, 3000, 30_000, 20)
		r.sample(1, 3500, 4000, 99_000, 999) // behind it
		r.event(1, 900, tcp.EventTimeout, tcp.CodeTimeout, 0)
		r.event(1, 1600, tcp.EventTimeout, tcp.CodeTimeout, 0)
		r.event(1, 1700, tcp.EventRetransmit, tcp.CodeNone, 3)
		r.event(1, 1800, tcp.EventLocalCongestion, tcp.CodeLocalCongestion, 0)
	})
	k, ok := read(t, path, Sender{Flow: "f", Addresses: []netip.Addr{sta}, Port: 5201})
	want := Kernel{
		SrttMs: (90*0.5 + 10*1 + 30*0.5) / 2, CwndPackets: (99*0.5 + 10*1 + 20*0.5) / 2, MaxCwndPackets: 20,
		Retransmits: 3, Timeouts: 1, LocalCongestion: 1,
	}
	if !ok || math.Abs(k.SrttMs-want.SrttMs) > 1e-9 || math.Abs(k.CwndPackets-want.CwndPackets) > 1e-9 {
		t.Fatalf("%+v, want %+v", k, want)
	}
	k.SrttMs, k.CwndPackets = want.SrttMs, want.CwndPackets
	if k != want {
		t.Errorf("%+v, want %+v", k, want)
	}
}

func TestOnlyTheSendersConnectionsCount(t *testing.T) {
	path := record(t, func(r *recorded) {
		r.flow(1, 40000, 5201) // iperf3's own messages
		r.sample(1, 1000, 200, 1000, 10)
		r.flow(2, 40001, 5201)
		r.sample(2, 1000, 1e6, 5000, 50)
		r.flow(3, 40002, 5202) // of another flow
		r.sample(3, 1000, 1e6, 9000, 90)
		r.flow(4, 40003, 5201) // over before
		r.sample(4, 100, 2e6, 9000, 90)
		r.event(4, 500, tcp.EventClose, tcp.CodeNone, 0)
	})
	if k, _ := read(t, path, Sender{Flow: "f", Addresses: []netip.Addr{sta}, Port: 5201, Connections: 1}); k.CwndPackets != 50 {
		t.Errorf("cwnd %g, want 50", k.CwndPackets)
	}
	if k, _ := read(t, path, Sender{Flow: "f", Addresses: []netip.Addr{sta}, Port: 5201}); k.CwndPackets != 30 {
		t.Errorf("cwnd %g, want 30, the mean of two connections", k.CwndPackets)
	}
	if _, ok := read(t, path, Sender{Flow: "f", Addresses: []netip.Addr{server}, Port: 5201}); ok {
		t.Error("a machine that was not recorded has values")
	}
}

package measure

import (
	"math"
	"net/netip"
	"path/filepath"
	"reflect"
	"testing"
	"time"

	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
	"airtide/internal/recording/trace"
	"airtide/internal/tcp"
)

const zeroNs = int64(1_000e9)

var (
	sta    = netip.MustParseAddr("10.0.0.1")
	server = netip.MustParseAddr("10.0.1.1")
)

// recorded writes a recording of a sender's connections and returns its path. Times are
// milliseconds since time zero.
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
	f := &tcp.Flow{
		ID: id, Local: netip.AddrPortFrom(sta, localPort), Remote: netip.AddrPortFrom(server, remotePort),
		FirstNs: zeroNs,
	}
	if err := r.w.Flow(f); err != nil {
		r.t.Fatal(err)
	}
}

func (r *recorded) sample(id tcp.FlowID, ms float64, acked, srttUs, cwnd int64) {
	var s tcp.Sample
	for f := range s.Values {
		s.Values[f] = tcp.Absent
	}
	s.TimeNs = zeroNs + int64(ms*1e6)
	s.Flow = id
	s.Values[tcp.AckedBytes] = acked
	s.Values[tcp.SrttUs] = srttUs
	s.Values[tcp.CwndPackets] = cwnd
	r.b.Append(&s)
}

// fields is a sample of any fields.
func (r *recorded) fields(id tcp.FlowID, ms float64, values map[tcp.Field]int64) {
	var s tcp.Sample
	for f := range s.Values {
		s.Values[f] = tcp.Absent
	}
	s.TimeNs = zeroNs + int64(ms*1e6)
	s.Flow = id
	for f, v := range values {
		s.Values[f] = v
	}
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
	clock := result.Clock{ZeroNs: zeroNs, Ratio: 1}
	of, faults, err := ReadKernel(path, clock, time.Second, 3*time.Second, []Sender{s}, true)
	if err != nil || faults != (Faults{}) {
		t.Fatalf("reading: %v %v", err, faults)
	}
	k, ok := of[s.Flow]
	return k, ok
}

// holds compares those quantities that are wanted.
func holds(t *testing.T, k, want Kernel) {
	t.Helper()
	for q, w := range want {
		if got, ok := k[q]; !ok || math.IsNaN(got) != math.IsNaN(w) || math.Abs(got-w) > 1e-9 {
			t.Errorf("%s is %g, want %g", q, got, w)
		}
	}
}

// A kernel that leaves out a call of ssthresh takes what stands in the register for its result.
func TestAnImpossibleWindowIsAFault(t *testing.T) {
	for window, broken := range map[int64]bool{100_000: false, 26_406_492: true} {
		path := record(t, func(r *recorded) {
			r.flow(1, 40000, 5201)
			r.sample(1, 500, 1000, 90_000, window)
			r.sample(1, 1500, 2000, 10_000, 10)
		})
		clock := result.Clock{ZeroNs: zeroNs, Ratio: 1}
		_, faults, err := ReadKernel(path, clock, time.Second, 3*time.Second, nil, false)
		if err != nil || (faults.Window != "") != broken || faults.Damage != "" {
			t.Errorf("a window of %d packets: faults %+v, %v", window, faults, err)
		}
	}
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
	if !ok {
		t.Fatal("the flow is not there")
	}
	holds(t, k, Kernel{
		"srtt": (90*0.5 + 10*1 + 30*0.5) / 2, "cwnd": (99*0.5 + 10*1 + 20*0.5) / 2, "max_cwnd": 20, "end_cwnd": 20,
		"retransmits": 3, "timeouts": 1, "local_congestion": 1, "cubic_k": math.NaN(), "cwnd_kept": math.NaN(),
	})
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
	if k, _ := read(
		t, path, Sender{Flow: "f", Addresses: []netip.Addr{sta}, Port: 5201, Connections: 1},
	); k["cwnd"] != 50 {
		t.Errorf("cwnd %g, want 50", k["cwnd"])
	}
	if k, _ := read(t, path, Sender{Flow: "f", Addresses: []netip.Addr{sta}, Port: 5201}); k["cwnd"] != 30 {
		t.Errorf("cwnd %g, want 30, the mean of two connections", k["cwnd"])
	}
	if _, ok := read(t, path, Sender{Flow: "f", Addresses: []netip.Addr{server}, Port: 5201}); ok {
		t.Error("a machine that was not recorded has values")
	}
}

func TestWhatALossLeavesOfTheWindow(t *testing.T) {
	path := record(t, func(r *recorded) {
		r.flow(1, 40000, 5201)
		at := func(ms float64, state tcp.CAState, cwnd int64) {
			r.fields(1, ms, map[tcp.Field]int64{tcp.CAStateField: int64(state), tcp.CwndPackets: cwnd})
		}
		at(500, tcp.CAOpen, 100)
		at(600, tcp.CARecovery, 50)
		at(700, tcp.CAOpen, 10) // before the measured time
		at(1100, tcp.CAOpen, 40)
		at(1200, tcp.CADisorder, 40)
		at(1210, tcp.CARecovery, 38)
		at(1220, tcp.CARecovery, 20)
		at(1300, tcp.CAOpen, 20) // a half
		at(1400, tcp.CAOpen, 60)
		at(1410, tcp.CARecovery, 50)
		at(1500, tcp.CAOpen, 42) // 0.7
		at(1600, tcp.CAOpen, 50)
		at(1610, tcp.CARecovery, 40)
		at(1620, tcp.CALoss, 1)
		at(1700, tcp.CAOpen, 5) // a timeout
		at(1800, tcp.CAOpen, 30)
		at(1810, tcp.CARecovery, 20)
		at(1900, tcp.CAOpen, 30) // undone
	})
	k, _ := read(t, path, Sender{Flow: "f", Addresses: []netip.Addr{sta}, Port: 5201})
	holds(t, k, Kernel{"cwnd_kept": 60, "end_cwnd": 30})
}

func TestWhatHeldTheSender(t *testing.T) {
	path := record(t, func(r *recorded) {
		r.flow(1, 40000, 5201)
		at := func(ms float64, busy, rwnd, sndbuf, window, k int64) {
			r.fields(1, ms, map[tcp.Field]int64{
				tcp.BusyUs: busy, tcp.RwndLimitedUs: rwnd, tcp.SndbufLimitedUs: sndbuf, tcp.SendWindowBytes: window,
				tcp.CubicKMs: k,
			})
		}
		at(500, 100_000, 100_000, 0, 1000, 9000)
		at(900, 400_000, 100_000, 0, 50_000, 1000)
		at(2000, 1_000_000, 250_000, 60_000, 150_000, 3000)
		at(2900, 2_400_000, 600_000, 200_000, 150_000, 3000)
	})
	k, _ := read(t, path, Sender{Flow: "f", Addresses: []netip.Addr{sta}, Port: 5201})
	holds(t, k, Kernel{"rwnd_limited": 25, "sndbuf_limited": 10, "send_window": 100, "cubic_k": 2})
}

func TestSendersAreTheMachinesThatSendData(t *testing.T) {
	setup := &plan.Setup{Flows: []plan.FlowSetup{
		{Name: "up", From: "sta", To: "server", Flow: plan.Flow{Protocol: plan.TCP, Parallel: 2}},
		{Name: "down", From: "sta", To: "server", Flow: plan.Flow{Protocol: plan.HTTPGet}},
		{
			Name: "both", From: "sta", To: "server",
			Flow: plan.Flow{Protocol: plan.TCP, Direction: plan.Both, Parallel: 1},
		},
		{Name: "elsewhere", From: "outside", To: "server", Flow: plan.Flow{Protocol: plan.HTTPPut}},
	}}
	r := &result.Result{
		Machines: []result.Machine{
			{Name: "sta", Address: sta.String()}, {Name: "server", Address: server.String()}, {Name: "outside"},
		},
		Flows: []result.Flow{
			{Name: "up", Port: 1}, {Name: "down", Port: 2}, {Name: "both", Port: 3}, {Name: "elsewhere", Port: 4},
		},
	}
	want := []Sender{
		{Flow: "up", Addresses: []netip.Addr{sta}, Port: 1, Connections: 2},
		{Flow: "down", Addresses: []netip.Addr{server}, Port: 2},
		{Flow: "both", Addresses: []netip.Addr{sta, server}, Port: 3, Connections: 1},
		{Flow: "elsewhere", Port: 4},
	}
	if got := Senders(setup, r); !reflect.DeepEqual(got, want) {
		t.Errorf("%+v\nwant %+v", got, want)
	}
}

// The limits of the diagnosis are shares of the measured time.
func TestLimitsOfTheRate(t *testing.T) {
	path := record(t, func(r *recorded) {
		r.flow(1, 40000, 5201)
		for ms := int64(500); ms < 3000; ms += 10 {
			sent := ms * 500
			r.fields(1, float64(ms), map[tcp.Field]int64{
				tcp.AckedBytes: sent - 10_000, tcp.SentBytes: sent, tcp.WrittenBytes: sent, tcp.CwndPackets: 100,
				tcp.InFlightPackets: 7, tcp.MSSBytes: 1448, tcp.SrttUs: 20_000, tcp.RttUs: 20_000,
				tcp.SendWindowBytes: 1 << 20,
				tcp.BusyUs:          ms * 1000, tcp.RwndLimitedUs: 0, tcp.SndbufLimitedUs: 0, tcp.CwndLimited: 0,
			})
		}
	})
	k, _ := read(t, path, Sender{Flow: "f", Addresses: []netip.Addr{sta}, Port: 5201})
	if of := k["limited_application"]; of < 95 {
		t.Errorf("the application limits for %.0f %% of the time, want nearly all: %v", of, k)
	}
	senders := []Sender{{Flow: "f", Addresses: []netip.Addr{sta}, Port: 5201}}
	of, _, err := ReadKernel(path, result.Clock{ZeroNs: zeroNs, Ratio: 1}, time.Second, 3*time.Second, senders, false)
	if k := of["f"]; err != nil || !math.IsNaN(k["limited_application"]) || k["cwnd"] != 100 {
		t.Errorf("without the diagnosis: %v, %v", k, err)
	}
	for quantity, wanted := range map[plan.Quantity]bool{"cwnd": false, "limited_loss": true} {
		all := plan.Named[plan.Measurement]{{Name: "m", Value: plan.Measurement{Quantity: quantity}}}
		if WantsLimits(all) != wanted {
			t.Errorf("a measurement of %s wants the diagnosis: %v", quantity, !wanted)
		}
	}
}

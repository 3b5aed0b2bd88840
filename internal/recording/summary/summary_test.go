package summary

import (
	"encoding/json"
	"math/rand/v2"
	"slices"
	"testing"

	"airtide/internal/diagnose"
	"airtide/internal/tcp"
)

func TestRateIsOverActiveTime(t *testing.T) {
	s := newScene(t, Options{})
	s.open(1, nil)
	// 10 Mbit/s for 4 s: 125 kB in each 100 ms. Then silence, and the close 6 s later.
	for i := int64(1); i <= 40; i++ {
		s.sample(1, t0+i*100*ms,
			values{tcp.AckedBytes: (i - 1) * 125_000, tcp.AckBytes: i * 125_000, tcp.SentBytes: i * 125_000})
	}
	s.event(tcp.Event{TimeNs: t0 + 10*sec, Flow: 1, Kind: tcp.EventClose, Reason: tcp.ReasonLocalFIN})
	f := s.only()
	is(t, "acked bytes", f.AckedBytes, 5_000_000)
	is(t, "rate", f.AckedRateBps, 10e6)
	is(t, "peak", f.AckedPeakBps, 10e6)
	isAbsent(t, "received bytes", f.ReceivedBytes)
	isAbsent(t, "receive rate", f.ReceiveRateBps)
	if f.DurationS != 10 || f.ActiveS != 4 {
		t.Errorf("lasted %g s and was active for %g s, want 10 and 4", f.DurationS, f.ActiveS)
	}
	if !f.Closed || f.CloseReason != tcp.ReasonLocalFIN {
		t.Errorf("closed %v by %s, want local_fin", f.Closed, f.CloseReason)
	}
}

func TestPeakIsTheBestSecond(t *testing.T) {
	for _, c := range []struct {
		name  string
		times []int64 // times of ACKs for 100 kB each, in ms after the opening
		want  float64 // bit/s; 0 for absent
	}{
		{
			"a burst that straddles whole seconds",
			[]int64{500, 1550, 1650, 1750, 1850, 1950, 2050, 2150, 2250, 2350, 2450, 2550, 4000},
			10 * 800_000,
		},
		{"shorter than a second", []int64{100, 300, 900}, 0},
		{"polled slower than bins", []int64{500, 1000, 1500, 2000, 2500, 3000}, 2 * 800_000},
		{"polled slower than seconds", []int64{2000, 4000, 6000}, 400_000},
		{"a long pause in between", []int64{50, 150, 250, 3_600_000}, 3 * 800_000},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := newScene(t, Options{})
			s.open(1, nil)
			for i, at := range c.times {
				s.sample(1, t0+at*ms, values{tcp.AckedBytes: int64(i+1) * 100_000})
			}
			f := s.only()
			if c.want == 0 {
				isAbsent(t, "peak", f.AckedPeakBps)
				return
			}
			if f.AckedPeakBps == nil {
				t.Fatal("peak is absent")
			}
			near(t, "peak", *f.AckedPeakBps, c.want, 0.001)
			near(t, "peak of all", *s.Report().Totals.AckedPeakBps, c.want, 0.001)
		})
	}
}

// Samples of different flows come up to a flush period early or late.
func TestPeakOfAllFlowsAddsDisorderedFlows(t *testing.T) {
	s := newScene(t, Options{})
	for id := tcp.FlowID(1); id <= 4; id++ {
		s.open(id, nil)
	}
	acked := map[tcp.FlowID]int64{}
	for turn := range int64(3) {
		for id := tcp.FlowID(1); id <= 4; id++ { // two seconds of a flow at a time
			for i := int64(1); i <= 20; i++ {
				if turn == 1 && i <= 10 { // the best second, in which all have their share
					acked[id] += 9000
				}
				acked[id] += 1000
				s.sample(id, t0+turn*2*sec+i*100*ms, values{tcp.AckedBytes: acked[id]})
			}
		}
	}
	near(t, "peak of all", *s.Report().Totals.AckedPeakBps, 4*800_000, 0.001)
}

func TestInheritedFlowCountsFromFirstSight(t *testing.T) {
	for _, inherited := range []bool{false, true} {
		s := newScene(t, Options{})
		s.open(1, func(f *tcp.Flow) { f.Inherited = inherited })
		for i := int64(0); i <= 10; i++ {
			s.sample(1, t0+5*sec+i*100*ms, values{
				tcp.AckedBytes: 1_000_000 + i*1000, tcp.RetransmitsPackets: 30 + i, tcp.DeliveredPackets: 1000 + i*10,
			})
		}
		f := s.only()
		want := struct {
			bytes, again int64
			active       float64
		}{1_010_000, 40, 6}
		if inherited {
			want.bytes = 10_000
			want.again = 10
			want.active = 1
		}
		is(t, "acked bytes", f.AckedBytes, want.bytes)
		is(t, "retransmitted", f.Retransmissions.Packets, want.again)
		if f.ActiveS != want.active {
			t.Errorf("inherited %v: active for %g s, want %g", inherited, f.ActiveS, want.active)
		}
		if inherited {
			is(t, "retransmitted of delivered", f.Retransmissions.DeliveredPct, 10)
		}
	}
}

func TestQuantilesAreWithinOnePercent(t *testing.T) {
	s := newScene(t, Options{})
	s.open(1, nil)
	random := rand.New(rand.NewPCG(1, 2))
	var all []int64
	for i := range int64(20_000) {
		rtt := int64(2000 * (1 + random.ExpFloat64()*5))
		all = append(all, rtt)
		s.sample(1, t0+i*ms,
			values{tcp.RttUs: rtt, tcp.SrttUs: 5000, tcp.CwndPackets: 10 + i%5, tcp.InFlightPackets: i % 3})
	}
	slices.Sort(all)
	f := s.only()
	if f.Rtt.Min != all[0] || f.Rtt.Max != all[len(all)-1] {
		t.Errorf("rtt from %d to %d, want %d to %d", f.Rtt.Min, f.Rtt.Max, all[0], all[len(all)-1])
	}
	for q, got := range map[float64]int64{0.5: f.Rtt.Median, 0.95: f.Rtt.P95, 0.99: f.Rtt.P99} {
		near(t, "quantile of rtt", float64(got), float64(all[int(q*float64(len(all)))]), 0.012)
	}
	is(t, "srtt", f.Srtt, Spread{5000, 5000, 5000})
	is(t, "cwnd", f.Cwnd, Spread{10, 12, 14})
	is(t, "in flight", f.InFlight, Spread{0, 1, 2})
}

func TestAbsentStaysAbsent(t *testing.T) {
	s := newScene(t,
		Options{Unseen: []tcp.EventKind{tcp.EventReordering, tcp.EventRetransmit, tcp.EventUndo, tcp.EventDupAck}})
	s.open(1, nil)
	s.sample(1, t0+sec, nil)
	s.sample(1, t0+3*sec, nil)
	for _, g := range []*Figures{&s.only().Figures, func() *Figures { r := s.Report(); return &r.Totals.Figures }()} {
		isAbsent(t, "acked bytes", g.AckedBytes)
		isAbsent(t, "acked rate", g.AckedRateBps)
		isAbsent(t, "acked peak", g.AckedPeakBps)
		isAbsent(t, "rtt", g.Rtt)
		isAbsent(t, "srtt", g.Srtt)
		isAbsent(t, "minimum rtt", g.MinRttUs)
		isAbsent(t, "cwnd", g.Cwnd)
		isAbsent(t, "in flight", g.InFlight)
		isAbsent(t, "delivered", g.DeliveredPackets)
		isAbsent(t, "retransmitted", g.Retransmissions.Packets)
		isAbsent(t, "retransmitted of delivered", g.Retransmissions.DeliveredPct)
		isAbsent(t, "causes", g.Retransmissions.Causes)
		isAbsent(t, "ca_state", g.CAStateShare)
		if g.Limits != nil {
			t.Errorf("limits are %v, want none", g.Limits)
		}
		isAbsent(t, "undone", g.Undone)
		isAbsent(t, "reordering", g.Errors.Reordering)
		is(t, "duplicate ACKs (SACK is seen)", g.Errors.DupAck, 0)
		is(t, "timeouts", g.Errors.Timeout, 0)
	}
	isAbsent(t, "loss", s.Report().Totals.Loss)
}

func TestZeroIsNotAbsent(t *testing.T) {
	s := newScene(t, Options{})
	s.open(1, nil)
	s.sample(1, t0+sec,
		values{tcp.AckedBytes: 0, tcp.RetransmitsPackets: 0, tcp.DeliveredPackets: 0, tcp.InFlightPackets: 0})
	f := s.only()
	is(t, "acked bytes", f.AckedBytes, 0)
	is(t, "acked rate", f.AckedRateBps, 0)
	is(t, "retransmitted", f.Retransmissions.Packets, 0)
	is(t, "in flight", f.InFlight, Spread{0, 0, 0})
	isAbsent(t, "share of nothing delivered", f.Retransmissions.DeliveredPct)
}

// An ACK's sample stands before the ACK is processed: its state has held since the sample before.
func TestTimeBelongsToTheStateThatEndsIt(t *testing.T) {
	s := newScene(t, Options{})
	s.open(1, nil)
	for _, x := range []struct {
		at    int64
		state tcp.CAState
	}{{1, tcp.CAOpen}, {2, tcp.CAOpen}, {4, tcp.CADisorder}, {7, tcp.CARecovery}, {8, tcp.CALoss}, {10, tcp.CAOpen}} {
		s.sample(1, t0+x.at*sec, values{tcp.CAStateField: int64(x.state)})
	}
	is(t, "shares", s.only().CAStateShare, CAStateShare{Open: 0.4, Disorder: 0.2, Recovery: 0.3, Loss: 0.1})
	s.sample(1, t0+11*sec, values{tcp.CAStateField: 77}) // an invalid state in a file
	is(t, "shares", s.only().CAStateShare, CAStateShare{Open: 0.4, Disorder: 0.2, Recovery: 0.3, Loss: 0.1})
}

// The limits come from a diagnosis of the same data. Totals leave out connections that moved
// nothing.
func TestLimitsComeFromTheDiagnosis(t *testing.T) {
	s := newScene(t, Options{})
	s.open(1, nil)
	s.open(2, nil)
	s.sample(1, t0+sec, values{tcp.AckedBytes: 1000})
	s.sample(2, t0+sec, values{tcp.AckedBytes: 1000})
	report := s.Report()
	if report.Flows[0].Limits != nil {
		t.Errorf("without a diagnosis the limits are %v", report.Flows[0].Limits)
	}
	found := diagnose.Report{Connections: []diagnose.Connection{
		{
			Flow: tcp.Flow{ID: 2}, Direction: "sends", AckedBytes: 1000,
			Shares:  []diagnose.Share{{Limit: diagnose.Pacing, Share: 1}},
			Finding: diagnose.Finding{Limit: diagnose.Pacing, Certainty: diagnose.Likely},
		},
		{Flow: tcp.Flow{ID: 1}, Direction: "idle", Shares: []diagnose.Share{{Limit: diagnose.Idle, Share: 1}}},
	}}
	report.Explain(&found)
	second := report.Flows[1]
	if second.Limit != diagnose.Pacing || second.Certainty != diagnose.Likely || second.Limits[0].Share != 1 {
		t.Errorf("flow 2 is limited by %s (%s), %v", second.Limit, second.Certainty, second.Limits)
	}
	if limits := report.Totals.Limits; len(limits) != 1 || limits[0].Limit != diagnose.Pacing {
		t.Errorf("the totals are limited by %v, want pacing alone", limits)
	}
}

func TestEventsAreCounted(t *testing.T) {
	s := newScene(t, Options{})
	s.open(1, nil)
	s.sample(1, t0+3*sec, values{tcp.RetransmitsPackets: 8, tcp.DeliveredPackets: 800})
	for _, e := range []tcp.Event{
		{Kind: tcp.EventReordering, Code: tcp.CodeReordering},
		{Kind: tcp.EventLocalCongestion, Code: tcp.CodeLocalCongestion},
		{Kind: tcp.EventDupAck, Code: tcp.CodeDupAck},
		{Kind: tcp.EventSack, Code: tcp.CodeDupAck},
		{Kind: tcp.EventDsack, Code: tcp.CodeDupAck},
		{Kind: tcp.EventTimeout, Code: tcp.CodeTimeout},
		{Kind: tcp.EventTimeout, Code: tcp.CodeTimeout},
		{Kind: tcp.EventRetransmit, Cause: tcp.CauseFast},
		{Kind: tcp.EventRetransmit, Cause: tcp.CauseFast},
		{Kind: tcp.EventRetransmit, Cause: tcp.CauseRTO},
		{Kind: tcp.EventRetransmit, Cause: tcp.CauseRTORecovery},
		{Kind: tcp.EventRetransmit, Cause: tcp.CauseTLP},
		{Kind: tcp.EventRetransmit, Cause: tcp.CauseRACKTimer},
		{Kind: tcp.EventRetransmit, Cause: tcp.CauseSYN},
		{Kind: tcp.EventRetransmit, Cause: tcp.Cause(200)},
		{Kind: tcp.EventUndo, Reason: tcp.ReasonUndoTimestamp},
		{Kind: tcp.EventUndo, Reason: tcp.ReasonUndoDsack},
		{Kind: tcp.EventUndo, Reason: tcp.ReasonUndoDsack},
		{Kind: tcp.EventCCChange, Text: "bbr"},
		{Kind: tcp.EventCCChange, Text: "cubic"},
		{Kind: tcp.EventKind(250), Code: tcp.ErrorCode(99)}, // an event of a later version
	} {
		e.Flow = 1
		e.TimeNs = t0 + 2*sec
		s.event(e)
	}
	for _, g := range []*Figures{&s.only().Figures, func() *Figures { r := s.Report(); return &r.Totals.Figures }()} {
		is(t, "code 1", g.Errors.Reordering, 1)
		is(t, "code 2", g.Errors.LocalCongestion, 1)
		is(t, "code 3", g.Errors.DupAck, 3)
		is(t, "code 4", g.Errors.Timeout, 2)
		is(t, "causes", g.Retransmissions.Causes,
			Causes{Fast: 2, RTO: 1, RTORecovery: 1, TLP: 1, RACKTimer: 1, SYN: 1, Other: 1})
		is(t, "undone", g.Undone, Undone{Timestamp: 1, Dsack: 2})
		is(t, "retransmitted of delivered", g.Retransmissions.DeliveredPct, 1)
	}
	if got := s.only().CongestionControls; !slices.Equal(got, []string{"cubic", "bbr"}) {
		t.Errorf("congestion controls %q, want cubic and bbr", got)
	}
}

// A later description may repeat the congestion control of the opening.
func TestCongestionControlIsTheLastOne(t *testing.T) {
	s := newScene(t, Options{})
	s.open(1, nil)
	s.event(tcp.Event{TimeNs: t0, Flow: 1, Kind: tcp.EventCCChange, Text: "bbr"})
	if got := s.only().CongestionControl; got != "bbr" {
		t.Errorf("behind the change it is %q", got)
	}
	s.open(1, func(f *tcp.Flow) { f.CgroupPath = "/later" })
	if got := s.only().CongestionControl; got != "bbr" {
		t.Errorf("behind a description it is %q", got)
	}
	s.event(tcp.Event{TimeNs: t0 + sec, Flow: 1, Kind: tcp.EventCCChange, Text: "cubic"})
	if got := s.only(); got.CongestionControl != "cubic" || got.controls() != "cubic>bbr" {
		t.Errorf("behind the second change it is %q, of %q", got.CongestionControl, got.controls())
	}
}

// The causes of retransmissions and the row without an event add up to the kernel's count.
func TestCausesAddUp(t *testing.T) {
	s := newScene(t, Options{})
	s.open(1, nil)
	for range 3 {
		s.event(tcp.Event{TimeNs: t0, Flow: 1, Kind: tcp.EventRetransmit, Cause: tcp.CauseFast, Value: 2})
	}
	s.sample(1, t0+sec, values{tcp.RetransmitsPackets: 10, tcp.DeliveredPackets: 100})
	is(t, "causes", s.only().Retransmissions.Causes, Causes{Fast: 6, WithoutEvent: 4})
}

// The counters of a flow that was open before begin at its first sample, and all end at the last.
func TestRetransmissionsOutsideOfTheSamplesCount(t *testing.T) {
	s := newScene(t, Options{})
	s.open(1, func(f *tcp.Flow) { f.Inherited = true })
	again := func(at int64) {
		s.event(tcp.Event{
			TimeNs: at, Flow: 1, Kind: tcp.EventRetransmit, Cause: tcp.CauseFast, Value: 1, Seq: 1, EndSeq: 1001,
		})
	}
	again(t0)
	s.sample(1, t0+sec, values{tcp.RetransmitsPackets: 50, tcp.RetransmittedBytes: 50_000})
	again(t0 + 2*sec)
	s.sample(1, t0+3*sec, values{tcp.RetransmitsPackets: 51, tcp.RetransmittedBytes: 51_000})
	again(t0 + 2*sec + 1) // behind a younger sample, as a recording may have it
	again(t0 + 4*sec)
	s.sample(1, t0+3*sec, values{tcp.RetransmitsPackets: 52, tcp.RetransmittedBytes: 52_000})
	got := s.only().Retransmissions
	if *got.Packets != 4 || *got.Bytes != 4000 || got.Causes.WithoutEvent != 0 || got.Causes.Fast != 4 {
		t.Errorf("%d packets, %d bytes, causes %+v", *got.Packets, *got.Bytes, got.Causes)
	}
}

// An idle control connection and a receiver say nothing about the windows of a transfer.
func TestWindowsOfTheTotalsAreThoseOfSenders(t *testing.T) {
	s := newScene(t, Options{})
	for id, v := range []values{
		{tcp.AckedBytes: 5_000_000, tcp.CwndPackets: 127, tcp.RttUs: 31_000, tcp.SrttUs: 31_200},
		{tcp.AckedBytes: 500, tcp.ReceivedBytes: 300, tcp.CwndPackets: 13, tcp.RttUs: 20_000, tcp.SrttUs: 20_600},
		{tcp.ReceivedBytes: 5_000_000, tcp.AckedBytes: 40, tcp.CwndPackets: 10, tcp.RttUs: 20, tcp.SrttUs: 20},
	} {
		s.open(tcp.FlowID(id+1), nil)
		for i := range int64(10) {
			s.sample(tcp.FlowID(id+1), t0+i*100*ms, v)
		}
	}
	r := s.Report()
	if r.Totals.Senders != 1 || r.Totals.Cwnd.Median < 126 || r.Totals.Srtt.Min < 31_000 || r.Totals.Rtt.Min < 30_000 {
		t.Errorf("%d senders, cwnd %+v, srtt %+v", r.Totals.Senders, r.Totals.Cwnd, r.Totals.Srtt)
	}
	contains(t, text(t, r, TextOptions{}), "flows          3 (3 open, 0 closed; rtt to ca_state of 1 sender), ")
	// Without a sender all flows count.
	small := newScene(t, Options{})
	small.open(1, nil)
	small.sample(1, t0+sec, values{tcp.AckedBytes: 500, tcp.CwndPackets: 13})
	if r := small.Report(); r.Totals.Senders != 0 || r.Totals.Cwnd == nil {
		t.Errorf("%+v", r.Totals)
	}
}

func TestOwnerFoundLater(t *testing.T) {
	s := newScene(t, Options{})
	s.open(1, func(f *tcp.Flow) {
		f.PID = 0
		f.Comm = ""
	})
	s.sample(1, t0+sec, values{tcp.AckedBytes: 500})
	s.open(1, func(f *tcp.Flow) {
		f.PID = 7
		f.Comm = "curl"
		f.CgroupPath = "/user"
	})
	s.sample(1, t0+2*sec, values{tcp.AckedBytes: 900})
	s.open(1, func(f *tcp.Flow) { // the process has gone
		f.PID = 0
		f.Comm = ""
	})
	f := s.only()
	if f.PID != 7 || f.Comm != "curl" || f.CgroupPath != "/user" {
		t.Errorf("owned by %d %q in %q, want 7 curl in /user", f.PID, f.Comm, f.CgroupPath)
	}
	is(t, "acked bytes", f.AckedBytes, 900)
	if f.Samples != 2 || len(f.CongestionControls) != 1 {
		t.Errorf("%d samples, congestion controls %q: the flow was begun anew", f.Samples, f.CongestionControls)
	}
}

func TestTotalsJoinFlows(t *testing.T) {
	s := newScene(t, Options{})
	s.open(1, nil)
	s.open(2, func(f *tcp.Flow) { f.FirstNs = t0 + sec })
	for i := int64(1); i <= 10; i++ {
		s.sample(
			1, t0+i*sec,
			values{
				tcp.AckedBytes: i * 1000, tcp.RttUs: 100, tcp.MinRttUs: 90, tcp.CwndPackets: 10,
				tcp.CAStateField: 0,
			},
		)
	}
	for i := int64(2); i <= 31; i++ {
		s.sample(
			2, t0+i*sec,
			values{
				tcp.AckedBytes: i * 2000, tcp.RttUs: 400, tcp.MinRttUs: 80, tcp.SrttUs: 7, tcp.InFlightPackets: 0,
				tcp.CAStateField: 3,
			},
		)
	}
	g := s.Report().Totals
	is(t, "acked bytes", g.AckedBytes, 72_000)
	is(t, "acked rate", g.AckedRateBps, 72_000*8/31.0)
	is(t, "rtt", g.Rtt, Distribution{100, g.Rtt.Median, g.Rtt.P95, 400, 400})
	near(t, "median rtt", float64(g.Rtt.Median), 400, 0.01)
	is(t, "minimum rtt", g.MinRttUs, 80)
	is(t, "cwnd", g.Cwnd, Spread{10, 10, 10})
	is(t, "srtt", g.Srtt, Spread{7, 7, 7})
	is(t, "in flight", g.InFlight, Spread{0, 0, 0})
	is(t, "ca_state", g.CAStateShare, CAStateShare{Open: 0.25, Recovery: 0.75})
	if g.DurationS != 31 || g.Samples != 40 {
		t.Errorf("%g s, %d samples: want 31 and 40", g.DurationS, g.Samples)
	}
}

func TestFlowsWithoutSamplesOrDescription(t *testing.T) {
	s := newScene(t, Options{})
	s.open(1, nil) // nothing but its opening
	s.event(tcp.Event{TimeNs: t0 + 2*sec, Flow: 2, Kind: tcp.EventClose, Reason: tcp.ReasonRefused})
	s.sample(4_000_000_000, t0+3*sec, values{tcp.AckedBytes: 10})
	r := s.Report()
	if r.Totals.Flows != 3 || r.Totals.Silent != 2 || r.Totals.Open != 2 || r.Totals.Closed != 1 {
		t.Errorf("totals %+v, want 3 flows of which 2 without samples, 2 open and 1 closed", r.Totals)
	}
	silent, _ := r.Flow(1)
	isAbsent(t, "rate of a flow without samples", silent.AckedRateBps)
	if silent.ActiveS != 0 || silent.CloseReason != tcp.ReasonStillOpen {
		t.Errorf("active for %g s, end %s: want 0 and still open", silent.ActiveS, silent.CloseReason)
	}
	refused, _ := r.Flow(2)
	if !refused.Closed || refused.CloseReason != tcp.ReasonRefused {
		t.Errorf("closed %v, %s: want refused", refused.Closed, refused.CloseReason)
	}
	if _, found := r.Flow(4_000_000_000); !found {
		t.Error("the flow with a number out of proportion is lost")
	}
}

func TestReceivedCountsTheSegmentThatBroughtThem(t *testing.T) {
	s := newScene(t, Options{})
	s.open(1, nil)
	s.sample(1, t0+sec, values{tcp.ReceivedBytes: 1000, tcp.SeqBytes: 1000, tcp.SegmentBytes: 500})
	is(t, "received", s.only().ReceivedBytes, 1500)
	s.sample(1, t0+2*sec, values{tcp.ReceivedBytes: 1500, tcp.SeqBytes: 3000, tcp.SegmentBytes: 500}) // out of order
	is(t, "received", s.only().ReceivedBytes, 1500)
}

func TestSenselessAckIsNotCounted(t *testing.T) {
	s := newScene(t, Options{})
	s.open(1, nil)
	s.sample(1, t0+sec, values{tcp.AckedBytes: 1000, tcp.AckBytes: 9999, tcp.SentBytes: 2000}) // an ACK of unsent bytes
	is(t, "acked", s.only().AckedBytes, 1000)
	s.sample(1, t0+2*sec, values{tcp.AckedBytes: 1000, tcp.AckBytes: 800, tcp.SentBytes: 2000}) // an old one
	is(t, "acked", s.only().AckedBytes, 1000)
}

func TestLossIsTheLastAccount(t *testing.T) {
	s := newScene(t, Options{})
	account := tcp.Loss{PerCPU: []uint64{1, 2}, Orphans: 3}
	for range 2 {
		if err := s.Lost(&account); err != nil {
			t.Fatal(err)
		}
	}
	account.PerCPU[0] = 999 // it was only lent
	loss := s.Report().Totals.Loss
	if loss == nil || loss.Records != 6 || !slices.Equal(loss.PerCPU, []uint64{1, 2}) || loss.OrphanRecords != 3 {
		t.Errorf("got %+v, want 6 records", loss)
	}
}

// A report in between changes nothing.
func TestReportIsRepeatable(t *testing.T) {
	s := newScene(t, Options{})
	quiet := newScene(t, Options{})
	for _, scene := range []*scene{s, quiet} {
		scene.open(1, nil)
		for i := int64(1); i < 200; i++ {
			scene.sample(1, t0+i*50*ms, values{tcp.AckedBytes: i * i * 100, tcp.RttUs: 100 + i%7})
			if scene == s {
				s.Report()
			}
		}
	}
	a := s.only()
	b := quiet.only()
	if *a.AckedPeakBps != *b.AckedPeakBps || *a.Rtt != *b.Rtt {
		t.Errorf("with reports in between: peak %g, rtt %+v; without: %g, %+v", *a.AckedPeakBps, *a.Rtt,
			*b.AckedPeakBps, *b.Rtt)
	}
}

func TestStillOpenAtTheEndIsNotClosed(t *testing.T) {
	s := newScene(t, Options{})
	s.open(1, nil)
	s.event(tcp.Event{TimeNs: t0 + sec, Flow: 1, Kind: tcp.EventClose, Reason: tcp.ReasonStillOpen})
	if f := s.only(); f.Closed || f.CloseReason != tcp.ReasonStillOpen {
		t.Errorf("closed %v, %s: want still open", f.Closed, f.CloseReason)
	}
}

// A damaged or hostile recording may hold anything.
func TestSenselessValuesDoNoHarm(t *testing.T) {
	s := newScene(t, Options{})
	random := rand.New(rand.NewPCG(3, 4))
	wild := func() int64 {
		return []int64{0, -1, 1, tcp.Absent, tcp.Absent + 1, 1<<63 - 1, int64(random.Uint64())}[random.IntN(7)]
	}
	for range 3000 {
		v := values{}
		for _, f := range Fields() {
			v[f] = wild()
		}
		id := tcp.FlowID(random.Uint32() >> random.IntN(32))
		s.sample(id, wild(), v)
		s.event(
			tcp.Event{
				TimeNs: wild(), Flow: id, Kind: tcp.EventKind(random.Uint32()), Cause: tcp.Cause(random.Uint32()),
				Reason: tcp.Reason(random.Uint32()),
			},
		)
	}
	r := s.Report()
	if got := text(t, r, TextOptions{}); len(r.Flows) == 0 || got == "" {
		t.Error("nothing was reported")
	}
	if _, err := json.Marshal(r); err != nil {
		t.Errorf("writing as JSON: %v", err) // for instance a rate that is not a number
	}
}

package diagnose

import (
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"airtide/internal/tcp"
)

// twoEnds plays a transfer of 5 s as both ends see it: data takes dataNs, acknowledgements take
// ackNs(now), and the receiver's clock is clockNs(now) ahead.
func twoEnds(t *testing.T, dataNs int64, ackNs, clockNs func(now int64) int64, window int64) (a, b End) {
	t.Helper()
	client := netip.MustParseAddrPort("10.1.0.1:40000")
	server := netip.MustParseAddrPort("10.2.0.1:7000")
	newEnd := func(local, remote netip.AddrPort, each func(ms int64, row *tcp.Sample)) End {
		engine := New(Options{})
		tracks := &Tracks{}
		sink := tcp.Tee{engine, tracks}
		flow := &tcp.Flow{ID: 1, Local: local, Remote: remote, FirstNs: t0}
		if err := sink.Flow(flow); err != nil {
			t.Fatal(err)
		}
		batch := tcp.NewBatch(8192)
		for i := range int64(5000) {
			row := tcp.Sample{Flow: 1, TimeNs: t0 + i*ms}
			for f := range row.Values {
				row.Values[f] = tcp.Absent
			}
			for f, v := range map[tcp.Field]int64{
				tcp.MSSBytes: segment, tcp.CwndPackets: 40, tcp.InFlightPackets: 40, tcp.CwndLimited: 1,
				tcp.CAStateField:    0,
				tcp.SsthreshPackets: 20, tcp.SendWindowBytes: window, tcp.ReceiveWindowBytes: window,
				tcp.RwndLimitedUs: 0, tcp.SndbufLimitedUs: 0, tcp.BusyUs: i * 1000, tcp.SegmentBytes: 0,
				tcp.RetransmitsPackets: 0, tcp.ReceivedBytes: 0, tcp.ReadBytes: 0, tcp.SentBytes: 0, tcp.AckedBytes: 0,
				tcp.WrittenBytes: 0,
			} {
				row.Values[f] = v
			}
			each(i, &row)
			batch.Append(&row)
		}
		if err := sink.Samples(batch); err != nil {
			t.Fatal(err)
		}
		report := engine.Report()
		return End{Report: &report, Tracks: tracks}
	}
	sent := func(ns int64) int64 { return max(0, ns) / ms * segment }
	a = newEnd(client, server, func(i int64, row *tcp.Sample) {
		now := i * ms
		back := ackNs(now)
		row.Values[tcp.SentBytes] = sent(now)
		row.Values[tcp.WrittenBytes] = sent(now) + 100*segment
		row.Values[tcp.AckedBytes] = sent(now - dataNs - back)
		row.Values[tcp.DeliveredPackets] = row.Values[tcp.AckedBytes] / segment
		row.Values[tcp.RttUs] = (dataNs + back) / 1000
		row.Values[tcp.SrttUs] = row.Values[tcp.RttUs]
	})
	b = newEnd(server, client, func(i int64, row *tcp.Sample) {
		now := i * ms
		row.Values[tcp.ReceivedBytes] = sent(now - dataNs)
		row.Values[tcp.ReadBytes] = row.Values[tcp.ReceivedBytes]
		row.Values[tcp.SegmentBytes] = segment
		row.Values[tcp.SeqBytes] = row.Values[tcp.ReceivedBytes]
		row.Values[tcp.ReceiverRttUs] = 30_000
		row.TimeNs += clockNs(now)
	})
	return a, b
}

func steady(v int64) func(int64) int64 { return func(int64) int64 { return v } }

func onlyJoined(t *testing.T, a, b End) *Joined {
	t.Helper()
	all := Join(a, b)
	if len(all) != 1 || all[0].Delays == nil {
		t.Fatalf("joined %+v", all)
	}
	return &all[0]
}

func TestTheOffsetOfTheClocksHasItsError(t *testing.T) {
	for _, offset := range []int64{0, 7e9, -3e9} {
		a, b := twoEnds(t, 20*ms, steady(10*ms), steady(offset), 1<<20)
		d := onlyJoined(t, a, b).Delays
		if wrong := max(d.OffsetNs-offset, offset-d.OffsetNs); wrong > d.ErrorNs || d.ErrorNs > 18*ms || d.StepNs != 0 {
			t.Errorf("offset %d: %+v", offset, d)
		}
	}
}

func TestAStepOfAClockIsSaid(t *testing.T) {
	a, b := twoEnds(t, 20*ms, steady(10*ms), func(now int64) int64 {
		if now > 2_500*ms {
			return 400 * ms
		}
		return 0
	}, 1<<20)
	j := onlyJoined(t, a, b)
	if d := j.Delays; d.StepNs < 300*ms || d.DataQueueUs != 0 || d.AckQueueUs != 0 {
		t.Errorf("%+v", d)
	}
	if j.Certainty == Certain {
		t.Errorf("%s is certain though a clock stepped", j.Limit)
	}
}

// Acknowledgements that wait on their way back are a limit of their own.
func TestAcknowledgementsWait(t *testing.T) {
	back := func(now int64) int64 { return 10*ms + min(150*ms, now/10) }
	a, b := twoEnds(t, 20*ms, back, steady(0), 1<<20)
	if j := onlyJoined(t, a, b); j.Limit != AckBacklog {
		t.Errorf("the limit is %s, %+v", j.Limit, j.Delays)
	}
}

// The receiver knows why its window is full.
func TestTheReceiverSettlesItsWindow(t *testing.T) {
	for _, want := range []Limit{ReceivingApplication, ReceiveWindow} {
		a, b := twoEnds(t, 20*ms, steady(10*ms), steady(0), 30*segment)
		sender := &a.Report.Connections[0]
		for i := range sender.Phases {
			sender.Phases[i].Limit = ReceiveWindow
			sender.Phases[i].Shares = []Share{{ReceiveWindow, 1}}
		}
		receiver := &b.Report.Connections[0]
		for i := range receiver.Phases {
			receiver.Phases[i].Limit = want
		}
		if j := onlyJoined(t, a, b); j.Limit != want || j.Shares[0].Limit != want {
			t.Errorf("the limit is %s, want %s; %v", j.Limit, want, j.Shares)
		}
	}
}

// If there are too many connections, closed ones go first, then those with the fewest bytes.
func TestTheBiggestConnectionsStay(t *testing.T) {
	e := New(Options{MaxFlows: 8})
	b := tcp.NewBatch(64)
	add := func(id tcp.FlowID, bytes int64) {
		b.Reset()
		for i := range int64(2) {
			row := tcp.Sample{Flow: id, TimeNs: t0 + i*100*ms}
			for f := range row.Values {
				row.Values[f] = tcp.Absent
			}
			row.Values[tcp.AckedBytes] = i * bytes
			row.Values[tcp.SentBytes] = i * bytes
			b.Append(&row)
		}
		if err := e.Samples(b); err != nil {
			t.Fatal(err)
		}
	}
	for id := tcp.FlowID(1); id <= 8; id++ {
		add(id, int64(id)*1000)
	}
	closed := &tcp.Event{Flow: 8, TimeNs: t0 + 300*ms, Kind: tcp.EventClose, Reason: tcp.ReasonLocalFIN}
	if err := e.Event(closed); err != nil {
		t.Fatal(err)
	}
	add(9, 500)
	wantKept := func(leftOut int, want ...tcp.FlowID) {
		t.Helper()
		r := e.Report()
		var kept []tcp.FlowID
		for _, c := range r.Connections {
			kept = append(kept, c.ID)
		}
		if !slices.Equal(kept, want) || r.LeftOut != leftOut {
			t.Errorf("kept %v, want %v; %d left out, want %d", kept, want, r.LeftOut, leftOut)
		}
	}
	wantKept(2, 2, 3, 4, 5, 6, 7, 9)
	// One comes back when it has more bytes than the least that stayed.
	add(1, 2000)
	wantKept(2, 2, 3, 4, 5, 6, 7, 9)
	add(1, 2001)
	wantKept(1, 2, 3, 4, 5, 6, 7, 9, 1)
	// One that comes back is not counted twice.
	for range 3 {
		for id := tcp.FlowID(1); id <= 9; id++ {
			add(id, int64(id)*1000)
		}
	}
	if r := e.Report(); len(r.Connections)+r.LeftOut != 9 {
		t.Errorf("%d connections kept and %d left out, want 9 together", len(r.Connections), r.LeftOut)
	}
}

// A window of time drops older bins, so that a live engine keeps up with the present.
func TestAWindowForgets(t *testing.T) {
	s := newScene(t, Options{Window: 5 * time.Second})
	s.run(10e9, func(int64) { s.sends(5) })
	now, _ := s.engine.Now(1, s.now)
	if now != CwndBound {
		t.Errorf("now %s", now)
	}
	s.set(values{tcp.InFlightPackets: 4, tcp.CwndLimited: 0})
	s.run(10e9, func(int64) {
		s.sends(1)
		s.set(values{tcp.WrittenBytes: s.row.Values[tcp.SentBytes]})
	})
	now, _ = s.engine.Now(1, s.now)
	if now != Application {
		t.Errorf("now %s, want the application", now)
	}
	c, known := s.engine.Connection(1)
	if !known || c.Seconds > 7 || c.Limit != Application {
		t.Errorf("the past has %.1f s and is limited by %s", c.Seconds, c.Limit)
	}
	s.engine.Forget(1)
	if _, known := s.engine.Connection(1); known || len(s.engine.Report().Connections) != 0 {
		t.Error("a forgotten flow is still there")
	}
}

// Reasons for doubt make each verdict likely at most, and a connection that was open before has no
// certain limit that needs its least RTT.
func TestDoubtsLowerTheCertainty(t *testing.T) {
	play := func(o Options, change func(*scene)) Connection {
		s := newScene(t, o)
		change(s)
		s.run(5e9, func(int64) { s.sends(5) })
		return s.only()
	}
	if c := play(Options{}, func(*scene) {}); c.Certainty != Certain {
		t.Errorf("without doubt %s is %s", c.Limit, c.Certainty)
	}
	for name, c := range map[string]Connection{
		"polled":    play(Options{Source: Polled}, func(*scene) {}),
		"inherited": play(Options{}, func(s *scene) { s.flow.Inherited = true }),
		"lost": play(Options{}, func(s *scene) {
			if err := s.engine.Lost(&tcp.Loss{PerCPU: []uint64{3}}); err != nil {
				t.Fatal(err)
			}
		}),
	} {
		if c.Certainty != Likely {
			t.Errorf("%s: %s is %s", name, c.Limit, c.Certainty)
		}
	}
}

// Names of processes are shown without control characters, and connections without data are idle.
func TestTextIsPrintable(t *testing.T) {
	s := newScene(t, Options{})
	s.flow.Comm = "evil\x1b[31m\u202e"
	s.run(2e9, func(int64) { s.sends(3) })
	if err := s.engine.Flow(&tcp.Flow{ID: 2, Comm: "silent"}); err != nil {
		t.Fatal(err)
	}
	r := s.engine.Report()
	var text strings.Builder
	if err := r.WriteText(&text, true); err != nil {
		t.Fatal(err)
	}
	if strings.ContainsAny(text.String(), "\x1b\u202e") || !strings.Contains(text.String(), "idle: 1 connection") {
		t.Errorf("%q", text.String())
	}
}

// A capture beside a recording shows the receiver from the sender's place: no delay of one way.
func TestFilesOfOneEndShowNoDelays(t *testing.T) {
	none := func(int64) int64 { return 0 }
	a, b := twoEnds(t, 10*ms, func(int64) int64 { return 10 * ms }, none, 1<<20)
	joined := Join(a, b)
	if len(joined) != 1 || joined[0].OneEnd || joined[0].Delays == nil {
		t.Fatalf("two ends: %+v", joined)
	}
	b.Source = Captured
	b.Other = map[tcp.FlowID]bool{1: true}
	joined = Join(a, b)
	if len(joined) != 1 || !joined[0].OneEnd || joined[0].Delays != nil {
		t.Fatalf("one end: %+v", joined)
	}
	var text strings.Builder
	if err := WriteJoined(&text, joined, false); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "nearer to the same end") || strings.Contains(text.String(), "clock") {
		t.Errorf("it prints %s", text.String())
	}
}

// Bytes behind a gap came before it was filled: their acknowledgements did not wait.
func TestFilledGapsAreNoDelayOfAcknowledgements(t *testing.T) {
	var sender, receiver track
	for i := range int64(200) {
		now := i * 10 * ms
		got := i * segment
		if i%10 == 9 { // ten segments were late: the next sample shows them
			now += 60 * ms
		}
		sender.add(trackPoint{timeNs: now + 30*ms, sent: got + 20*segment, acked: got}, 0)
		if i%10 != 8 {
			receiver.add(trackPoint{timeNs: now + 10*ms, received: got}, segment)
		}
	}
	d, ok := delaysBetween(sender.Values, receiver.Values)
	if !ok || d.AckQueueUs > 1000 {
		t.Errorf("%+v, %v", d, ok)
	}
}

// The time without samples behind a FIN belongs to the limit before it, if the rate is the same.
func TestTheTimeBehindAFinContinues(t *testing.T) {
	for _, c := range []struct {
		segments int64
		unknown  bool
	}{{500, false}, {250, true}} {
		s := newScene(t, Options{})
		s.run(3e9, func(int64) { s.sends(5) })
		s.now += 990 * ms
		s.grow(values{tcp.BusyUs: 990_000})
		s.run(10*ms, func(int64) { s.sends(c.segments) })
		got := s.only()
		unknown := 0.0
		for _, x := range got.Shares {
			if x.Limit == Unknown {
				unknown = x.Share
			}
		}
		if got.Limit != CwndBound || unknown > 0.1 != c.unknown {
			t.Errorf("%d segments behind the FIN: %s, %.2f unknown", c.segments, got.Limit, unknown)
		}
	}
}

// Tracks leave points out. In a slow part of the transfer those that are left stand far apart, and
// must not make an acknowledgement come before its data.
func TestPointsThatAreLeftOutMoveNoClock(t *testing.T) {
	const way = 24 * ms
	var times []int64
	now := t0
	for i := range 15_000 {
		now += ms / 2
		if i > 12_000 {
			now += 4 * ms
		}
		times = append(times, now)
	}
	var sender, receiver track
	// The sender has a sample at each acknowledgement, behind which the next segment leaves.
	const window, size = 100, 1500
	for i, at := range times {
		acked := int64(i) * size
		sender.add(trackPoint{timeNs: at + 2*way, sent: acked + window*size, acked: acked + size}, 0)
		for part := int64(1); part <= 3; part++ { // three packets, so that other points are left
			receiver.add(trackPoint{timeNs: at + way, received: acked + part*size/3}, size/3)
		}
	}
	d, ok := delaysBetween(sender.Values, receiver.Values)
	if !ok || max(d.OffsetNs, -d.OffsetNs) > 5*ms || d.ErrorNs < way-5*ms {
		t.Errorf("the offset is %v, at most %v wrong, want 0 and %v", time.Duration(d.OffsetNs),
			time.Duration(d.ErrorNs), time.Duration(way))
	}
}

// Captures that begin inside a connection count bytes from different segments.
func TestCapturesWithoutTheSYNShowNoDelays(t *testing.T) {
	for _, inherited := range []bool{false, true} {
		a, b := twoEnds(t, 20*ms, steady(10*ms), steady(0), 1<<20)
		for _, e := range []*End{&a, &b} {
			e.Source = Captured
			e.Report.Connections[0].Inherited = inherited
		}
		if all := Join(a, b); len(all) != 1 || (all[0].Delays == nil) != inherited {
			t.Errorf("inherited %t: %+v", inherited, all)
		}
	}
}

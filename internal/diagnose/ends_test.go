package diagnose

import (
	"net/netip"
	"testing"

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
				tcp.MSSBytes: segment, tcp.CwndPackets: 40, tcp.InFlightPackets: 40, tcp.CwndLimited: 1, tcp.CAStateField: 0,
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

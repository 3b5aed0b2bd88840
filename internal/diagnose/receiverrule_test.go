package diagnose

import (
	"slices"
	"strings"
	"testing"

	"airtide/internal/tcp"
)

// At a receiver a phase is cut where its rate changes for seconds, also in the middle. A window
// that is small for the connection, and filled, shows a slow reader.
func TestPhasesOfACapturedReceiver(t *testing.T) {
	part := func(s *scene, segments, window int64) {
		s.receives(5e9, func(int64) {
			s.grow(values{tcp.ReceivedBytes: (segments - 1) * segment})
			s.set(values{tcp.ReceiveWindowBytes: window, tcp.ReceiverRttUs: 80_000})
		})
	}
	got := whole(t, Captured, func(s *scene) {
		part(s, 10, 130_000)
		part(s, 40, 1_000_000)
		part(s, 10, 130_000)
	})
	var limits []Limit
	for _, p := range got.Phases {
		limits = append(limits, p.Limit)
	}
	if want := []Limit{ReceivingApplication, SenderOrNetwork, ReceivingApplication}; !slices.Equal(limits, want) {
		t.Errorf("phases %v, want %v: %v", limits, want, got.Evidence)
	}
}

// A reader that lets the window of a capture close for long is slow, though the window is large
// when data comes.
func TestCapturedReaderThatClosesItsWindow(t *testing.T) {
	at := func(s *scene) {
		for range 20 {
			s.receives(100*ms, nil)
			s.now += 150 * ms
			s.event(tcp.Event{Kind: tcp.EventLocalZeroWindow, Value: 150_000})
		}
		s.receives(100*ms, nil)
	}
	if got := whole(t, Captured, at); got.Limit != ReceivingApplication {
		t.Errorf("at the receiver the limit is %s: %v", got.Limit, got.Evidence)
	}
	// At the sender the time until the window opens and lets data out belongs to the window.
	sender := func(s *scene) {
		s.set(values{tcp.CwndLimited: 0, tcp.SendWindowBytes: 60_000})
		for range 20 {
			s.run(50*ms, func(int64) {
				s.sends(2)
				s.set(values{tcp.SendWindowBytes: 60_000})
			})
			all := s.row.Values[tcp.SentBytes]
			s.set(values{tcp.AckedBytes: all, tcp.WrittenBytes: all + segment, tcp.SendWindowBytes: 0})
			s.now += 200 * ms
			s.event(tcp.Event{Kind: tcp.EventZeroWindow})
			s.run(10*ms, nil)
			s.grow(values{tcp.SentBytes: 20 * segment})
		}
	}
	if got := whole(t, Captured, sender); got.Limit != ReceivingApplication {
		t.Errorf("at the sender the limit is %s: %v, %v", got.Limit, got.Shares, got.Evidence)
	}
}

// A receiver whose window is that of a connection without scaling is told so.
func TestAReceiverWithoutWindowScaling(t *testing.T) {
	got := whole(t, PerAck, func(s *scene) {
		s.receives(5e9, func(int64) {
			s.grow(values{tcp.ReceivedBytes: 10 * segment})
			s.set(values{
				tcp.ReadBytes: s.row.Values[tcp.ReceivedBytes], tcp.SeqBytes: s.row.Values[tcp.ReceivedBytes],
				tcp.SegmentBytes: 12 * segment, tcp.ReceiveWindowBytes: 65535,
			})
		})
	})
	if got.Limit != ReceiveWindow || len(got.Evidence) != 2 ||
		!strings.Contains(got.Evidence[1].Text, "no window scaling") ||
		!strings.Contains(got.Next, "tcp_window_scaling") {
		t.Errorf("%s: %v; %s", got.Limit, got.Evidence, got.Next)
	}
}

// A receiver does not know whether a larger window brings more data, or only lengthens a queue.
func TestAReceiverWhoseWindowFillsAQueue(t *testing.T) {
	for rttUs, or := range map[int64]bool{40_000: false, 90_000: true} {
		got := whole(t, PerAck, func(s *scene) {
			s.set(values{tcp.ReceiveWindowBytes: 2 * segment * rttUs / 10_000})
			s.receives(5e9, func(int64) { s.set(values{tcp.ReceiverRttUs: rttUs}) })
		})
		if got.Limit != ReceiveWindow || slices.Contains(got.Or, NetworkQueue) != or ||
			(got.Certainty == Certain) == or {
			t.Errorf("with %d µs: %s (%s), or %v: %v", rttUs, got.Limit, got.Certainty, got.Or, got.Evidence)
		}
	}
}

// While data waits to be read, the receiver is not sure to limit nothing, and says that it waits.
func TestAReceiverThatLagsALittle(t *testing.T) {
	for queued, certain := range map[int64]bool{0: true, 12_000: false} {
		got := whole(t, PerAck, func(s *scene) {
			s.receives(5e9, func(int64) {
				s.set(values{
					tcp.ReadBytes: s.row.Values[tcp.ReceivedBytes] - queued, tcp.ReceiveWindowBytes: 50_000,
				})
			})
		})
		told := slices.ContainsFunc(got.Evidence, func(e Evidence) bool { return e.Field == "receive_queued_bytes" })
		if got.Limit != SenderOrNetwork || (got.Certainty == Certain) != certain || told == certain ||
			slices.Contains(got.Or, ReceivingApplication) == certain {
			t.Errorf("%d bytes wait: %s (%s), or %v: %v", queued, got.Limit, got.Certainty, got.Or, got.Evidence)
		}
	}
}

// A reader that takes much at a time and pauses leaves the window full for a part of the time. In
// the rest the path carries what fits.
func TestAReaderThatPauses(t *testing.T) {
	got := whole(t, PerAck, func(s *scene) {
		s.run(8e9, func(i int64) {
			s.sends(2)
			s.set(values{tcp.RttUs: 55_000, tcp.SendWindowBytes: 200_000})
			if i%10 >= 6 {
				s.set(values{tcp.SendWindowBytes: 20 * segment, tcp.InFlightPackets: 19, tcp.CwndLimited: 0})
				s.grow(values{tcp.RwndLimitedUs: 10_000})
				return
			}
			s.set(values{tcp.InFlightPackets: 20, tcp.CwndLimited: 1})
			if i == 0 {
				s.set(values{tcp.RttUs: 40_000})
			}
		})
	})
	if got.Limit != ReceivingApplication || got.Certainty != Likely {
		t.Errorf("the limit is %s (%s): %v, %v", got.Limit, got.Certainty, got.Shares, got.Evidence)
	}
}

// A reader that stops leaves its window closed. Only answers to probes go out, and no data comes.
func TestAReaderThatStops(t *testing.T) {
	got := whole(t, PerAck, func(s *scene) {
		s.receives(2e9, nil)
		s.set(values{tcp.ReceiveWindowBytes: 0, tcp.SegmentBytes: 0})
		s.grow(values{tcp.ReceivedBytes: 100_000})
		for range 8 {
			s.run(10*ms, nil)
			s.now += 490 * ms
		}
	})
	if got.Limit != ReceivingApplication {
		t.Errorf("the limit is %s: %v, %v", got.Limit, got.Shares, got.Evidence)
	}
}

// A receiver stays one while nothing comes, though polls then show no data in either direction.
func TestASilentReceiver(t *testing.T) {
	got := whole(t, Polled, func(s *scene) {
		s.set(values{
			tcp.SentBytes: 0, tcp.WrittenBytes: 0, tcp.InFlightPackets: 0, tcp.CwndLimited: 0,
			tcp.ReceiverRttUs: 40_000, tcp.SegmentBytes: tcp.Absent, tcp.SeqBytes: tcp.Absent,
		})
		for i := range 60 {
			s.now += 90 * ms
			s.run(10*ms, nil)
			if i < 20 {
				s.grow(values{tcp.ReceivedBytes: 20 * segment, tcp.ReadBytes: 20 * segment})
			}
		}
	})
	if got.Limit != NoData {
		t.Errorf("the limit is %s: %v, %v", got.Limit, got.Shares, got.Evidence)
	}
}

// A captured reader that stops for a moment, behind a window that then has room for many round
// trips, does not limit. A window that shrinks without closing may be bounded, too.
func TestCapturedWindowsThatShrink(t *testing.T) {
	for window, want := range map[int64]Limit{2_000_000: SenderOrNetwork, 14_000: ReceivingApplication} {
		for closes, or := range map[bool]bool{true: false, false: true} {
			got := whole(t, Captured, func(s *scene) {
				s.receives(300*ms, func(int64) { s.set(values{tcp.ReceiveWindowBytes: 5 * window}) })
				if closes {
					s.event(tcp.Event{Kind: tcp.EventLocalZeroWindow, Value: 20_000})
				}
				s.receives(5e9, func(int64) { s.set(values{tcp.ReceiveWindowBytes: window}) })
			})
			if got.Limit != want || want == ReceivingApplication && slices.Contains(got.Or, ReceiveWindow) != or {
				t.Errorf("window %d, closes %t: the limit is %s, or %v: %v", window, closes, got.Limit, got.Or,
					got.Evidence)
			}
		}
	}
	got := whole(t, PerAck, func(s *scene) {
		s.run(6e9, func(i int64) {
			s.sends(1)
			s.grow(values{tcp.RwndLimitedUs: 10_000})
			s.set(values{tcp.CwndLimited: 0, tcp.SendWindowBytes: 30_000})
			if i == 0 {
				s.set(values{tcp.SendWindowBytes: 300_000})
			}
		})
	})
	if got.Limit != ReceivingApplication || !slices.Contains(got.Or, ReceiveWindow) {
		t.Errorf("the limit is %s, or %v: %v", got.Limit, got.Or, got.Evidence)
	}
}

// Between two polls no segment shows that data came: the counters do.
func TestPolledReceivers(t *testing.T) {
	polls := func(each func(*scene) bool) func(*scene) {
		return func(s *scene) {
			s.set(values{
				tcp.SentBytes: 0, tcp.WrittenBytes: 0, tcp.InFlightPackets: 0, tcp.CwndLimited: 0,
				tcp.ReceiverRttUs: 40_000, tcp.SegmentBytes: tcp.Absent, tcp.SeqBytes: tcp.Absent,
			})
			for range 50 {
				s.now += 90 * ms
				s.run(10*ms, func(int64) {
					if each(s) {
						s.grow(values{tcp.ReceivedBytes: 20 * segment})
					}
				})
			}
		}
	}
	reads := func(s *scene, left, window int64) bool {
		s.set(values{
			tcp.ReadBytes: s.row.Values[tcp.ReceivedBytes] + 20*segment - left, tcp.ReceiveWindowBytes: window,
		})
		return true
	}
	for want, each := range map[Limit]func(*scene) bool{
		SenderOrNetwork:      func(s *scene) bool { return reads(s, 0, 1<<16) },
		ReceivingApplication: func(s *scene) bool { return reads(s, 30_000, 10_000) },
		ReceiveWindow:        func(s *scene) bool { return reads(s, 0, 12_000) },
		NoData:               func(s *scene) bool { return s.now/(100*ms)%4 == 0 && reads(s, 0, 1<<16) },
	} {
		if got := whole(t, Polled, polls(each)); got.Limit != want {
			t.Errorf("the limit is %s, want %s: %v", got.Limit, want, got.Evidence)
		}
	}
}

// Data of which all stands behind a gap still comes: the receiver is not idle.
func TestAReceiverBehindALongGap(t *testing.T) {
	got := whole(t, PerAck, func(s *scene) {
		s.receives(2e9, nil)
		s.set(values{tcp.SeqBytes: s.row.Values[tcp.ReceivedBytes] + 10*segment, tcp.SegmentBytes: segment})
		s.run(3e9, func(int64) { s.grow(values{tcp.SeqBytes: segment, tcp.OutOfOrderPackets: 1}) })
	})
	if got.Limit != Gaps || len(got.Phases) > 2 || got.Phases[0].Limit == Idle {
		t.Errorf("%s: %+v", got.Limit, got.Phases)
	}
}

// An answer on which the peer works for long takes no round trips, though the RTT of the end that
// asked has that time. On a long path it does.
func TestTurnsOfAPeerThatWorks(t *testing.T) {
	for _, c := range []struct {
		leastUs int64
		answer  int64
		want    Limit
		or      bool // round trips
	}{
		{5_000, 200, Application, true},
		{5_000, 8000, SenderOrNetwork, true},
		{30_000, 200, RoundTrips, false},
		{30_000, 8000, RoundTrips, false},
	} {
		got := whole(t, PerAck, func(s *scene) {
			s.set(values{
				tcp.MinRttUs: c.leastUs, tcp.RttUs: 40_000, tcp.ReceiverRttUs: 40_000, tcp.InFlightPackets: 1,
				tcp.CwndLimited: 0, tcp.SentBytes: 0, tcp.WrittenBytes: 0,
			})
			s.run(5e9, func(i int64) {
				s.grow(values{tcp.BusyUs: 10_000})
				s.set(values{tcp.SegmentBytes: 0})
				if i%5 == 0 { // an answer each 50 ms
					s.set(values{tcp.SegmentBytes: c.answer, tcp.SeqBytes: s.row.Values[tcp.ReceivedBytes]})
					s.grow(values{
						tcp.SentBytes: 200, tcp.WrittenBytes: 200, tcp.AckedBytes: 200, tcp.ReceivedBytes: c.answer,
						tcp.ReadBytes: c.answer,
					})
				}
			})
		})
		if got.Limit != c.want || slices.Contains(got.Or, RoundTrips) != c.or {
			t.Errorf("with a least RTT of %d µs and answers of %d bytes: %s or %v: %+v", c.leastUs, c.answer, got.Limit,
				got.Or, got.Evidence)
		}
	}
}

// A full window of which a round trip brings little more than a half may be opened late.
func TestAFullWindowThatARoundTripHalfFills(t *testing.T) {
	for segments, late := range map[int64]bool{3: true, 5: false} {
		got := whole(t, PerAck, func(s *scene) { s.fillsPeer(5e9, segments, 1) })
		if got.Limit != ReceiveWindow || slices.Contains(got.Or, ReceivingApplication) != late ||
			(got.Certainty == Likely) != late {
			t.Errorf("%d segments in 10 ms: %s or %v, %s: %v", segments, got.Limit, got.Or, got.Certainty, got.Evidence)
		}
	}
}

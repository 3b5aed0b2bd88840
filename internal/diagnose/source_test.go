package diagnose

import (
	"slices"
	"strings"
	"testing"

	"airtide/internal/tcp"
)

// whole feeds an engine of a source, and returns the finding of its flow.
func whole(t *testing.T, source Source, play func(*scene)) Connection {
	t.Helper()
	s := newScene(t, Options{Source: source})
	play(s)
	return s.only()
}

// A program that writes other sizes than segments always leaves a part of one, and still it is the
// program that limits.
func TestPartsOfSegmentsAreNoData(t *testing.T) {
	play := func(s *scene) {
		s.run(5e9, func(int64) {
			s.sends(1)
			s.set(values{tcp.InFlightPackets: 8, tcp.CwndLimited: 0})
			s.set(values{tcp.WrittenBytes: s.row.Values[tcp.SentBytes] + 600})
		})
	}
	for source, want := range map[Source]Limit{PerAck: Application, Polled: Application, Captured: SenderHost} {
		if got := whole(t, source, play); got.Limit != want {
			t.Errorf("source %d: the limit is %s, want %s", source, got.Limit, want)
		}
	}
}

// A capture does not show the send buffer: while data is outstanding all the time, a program that
// waits for it looks like one that has no data. But it gives data when acknowledgements come.
func TestACapturedProgramMayWaitForItsBuffer(t *testing.T) {
	for _, c := range []struct {
		pause int64 // 1: nothing is outstanding half of the time
		given int64 // so many times of twenty the program gives data at another time
		want  Limit
		or    []Limit
	}{
		{0, 20, Application, []Limit{SendBuffer}},
		{0, 3, Application, []Limit{SendBuffer}},
		{0, 1, SendBuffer, []Limit{Application}},
		{1, 1, Application, nil},
	} {
		got := whole(t, Captured, func(s *scene) {
			s.run(5e9, func(i int64) {
				s.sends(1)
				sent := s.row.Values[tcp.SentBytes]
				s.set(values{tcp.WrittenBytes: sent, tcp.CwndLimited: 0, tcp.WriterBlocked: 1})
				if i%20 < c.given {
					s.set(values{tcp.WriterBlocked: 0})
				}
				s.set(values{tcp.AckedBytes: sent - 10*segment*(1-i%2*c.pause)})
			})
		})
		if got.Limit != c.want || !slices.Equal(got.Or, c.or) || got.Certainty != Likely || got.Waits != nil {
			t.Errorf("%+v: %s or %v, %s; %v", c, got.Limit, got.Or, got.Certainty, got.Shares)
		}
	}
}

// A host that is suspended does not make its program idle: data waited all the time.
func TestASuspendedHostIsNoIdleProgram(t *testing.T) {
	got := whole(t, PerAck, func(s *scene) {
		s.set(values{tcp.InFlightPackets: 8, tcp.CwndLimited: 0, tcp.PacingRateBps: 2_000_000})
		s.run(4e9, func(int64) { s.sends(2) })
		s.now += 3e9 // the kernel's clock of busy time stood still
		s.run(2e9, func(int64) { s.sends(2) })
	})
	for _, x := range got.Shares {
		if x.Limit == Application || x.Limit == Unknown && (x.Share < 0.3 || x.Share > 0.45) {
			t.Errorf("shares %v", got.Shares)
		}
	}
	if got.Limit != Pacing {
		t.Errorf("the limit is %s", got.Limit)
	}
}

// A player that asks for a piece each two seconds leaves its connection idle. A server that thinks
// leaves it without data.
func TestWhoPausesADownload(t *testing.T) {
	for want, asks := range map[Limit]bool{Idle: true, NoData: false} {
		got := whole(t, PerAck, func(s *scene) {
			for range 5 {
				s.receives(200*ms, nil)
				if !asks { // the request is acknowledged at once, and the answer comes late
					s.run(10*ms, func(int64) {
						s.grow(values{tcp.SentBytes: 80, tcp.WrittenBytes: 80, tcp.AckedBytes: 80, tcp.BusyUs: 10_000})
						s.set(values{tcp.SegmentBytes: 0, tcp.AckBytes: s.row.Values[tcp.AckedBytes]})
					})
				}
				s.now += 2e9
				if asks {
					s.grow(values{tcp.SentBytes: 80, tcp.WrittenBytes: 80, tcp.AckedBytes: 80, tcp.BusyUs: 10_000})
					s.set(values{tcp.AckBytes: s.row.Values[tcp.AckedBytes]})
				}
			}
			s.receives(200*ms, nil)
		})
		works := slices.Contains(got.Or, Application) // on what came
		if got.Direction != "receives" || got.Limit != want || works != asks {
			t.Errorf("it %s, the limit is %s, want %s: %v", got.Direction, got.Limit, want, got.Evidence)
		}
	}
}

// Data that came behind the own FIN has no samples. It is no short connection, and no silence.
func TestBytesBehindAFinAreTold(t *testing.T) {
	got := whole(t, PerAck, func(s *scene) {
		s.set(values{tcp.SentBytes: 0, tcp.WrittenBytes: 0, tcp.InFlightPackets: 0, tcp.CwndLimited: 0})
		s.run(20*ms, nil)
		s.set(values{tcp.StateField: int64(tcp.StateFinWait2)})
		s.run(10*ms, nil)
		s.now += 5e9
		s.set(values{tcp.ReceivedBytes: 9_000_000, tcp.ReadBytes: 9_000_000, tcp.StateField: int64(tcp.StateClose)})
		s.run(10*ms, nil)
		s.event(tcp.Event{Kind: tcp.EventClose, Reason: tcp.ReasonLocalFIN})
	})
	if got.Direction != "receives" || got.Limit != Unknown || got.ReceivedBytes != 9_000_000 ||
		!strings.Contains(got.Next, "--with half-closed") || len(got.Evidence) == 0 {
		t.Errorf("%+v", got)
	}
}

// Without the handshake a capture does not tell the scale of the peer's window: it may be full.
func TestACaptureWithoutTheHandshake(t *testing.T) {
	for window, may := range map[int64]bool{1 << 20: false, tcp.Absent: true} {
		got := whole(t, Captured, func(s *scene) {
			s.set(values{tcp.SendWindowBytes: window})
			s.run(5e9, func(int64) { s.sends(5) })
		})
		if got.Limit != SenderHost || slices.Contains(got.Or, ReceiveWindow) != may {
			t.Errorf("with a window of %d: %s or %v", window, got.Limit, got.Or)
		}
	}
}

// A capture names no congestion control. Losses that would let a loss-based sender be much faster,
// or much slower, do not limit this one.
func TestCapturedLossesMustFitTheRate(t *testing.T) {
	for _, c := range []struct {
		want           Limit
		segments, each int64 // segments in 10 ms, and one loss in so many of them
	}{{SenderHost, 4, 490}, {RandomLoss, 4, 60}, {SenderHost, 40, 25}} {
		got := whole(t, Captured, func(s *scene) {
			s.run(10e9, func(i int64) {
				s.sends(c.segments)
				cwnd := 20 + i*7919%61
				s.set(values{tcp.RttUs: 40_000 + i*7919%1000, tcp.CwndPackets: cwnd, tcp.InFlightPackets: cwnd})
				s.recover(i%c.each == c.each-1)
			})
		})
		if got.Limit != c.want {
			t.Errorf("one loss in %d × 10 ms: the limit is %s, want %s: %v", c.each, got.Limit, c.want, got.Evidence)
		}
	}
}

// A client that sends its requests in parts explains the pauses of the server.
func TestThePeersNagleIsSaid(t *testing.T) {
	a, b := twoEnds(t, 20*ms, steady(10*ms), steady(0), 1<<20)
	for i := range a.Report.Connections[0].Phases {
		a.Report.Connections[0].Phases[i].Limit = Application
		a.Report.Connections[0].Phases[i].Shares = []Share{{Application, 1}}
	}
	for i := range b.Report.Connections[0].Phases {
		b.Report.Connections[0].Phases[i].Limit = Nagle
	}
	if j := onlyJoined(t, a, b); j.Limit != Nagle || j.Shares[0].Limit != Nagle {
		t.Errorf("the limit is %s, %v", j.Limit, j.Shares)
	}
}

// Delays of one way need samples near the time of sending. Polls have none.
func TestDelaysNeedTheTimeOfSending(t *testing.T) {
	a, b := twoEnds(t, 20*ms, steady(10*ms), steady(0), 1<<20)
	a.Source = Polled
	if joined := Join(a, b); len(joined) != 1 || joined[0].Delays != nil {
		t.Errorf("polled: %+v", joined)
	}
	var sender, receiver track
	for i := range int64(100) { // ten segments at once each 300 ms, and the ACKs 60 ms later
		now := i * 300 * ms
		sent := i * 10 * segment
		sender.add(trackPoint{timeNs: now + 60*ms, sent: sent + 10*segment, acked: sent + 10*segment}, 0)
		receiver.add(trackPoint{timeNs: now + 30*ms, received: sent + 10*segment}, 10*segment)
	}
	if d, ok := delaysBetween(sender.Values, receiver.Values); ok && d.DataQueueUs > 5000 {
		t.Errorf("data waited %d us, %+v", d.DataQueueUs, d)
	}
}

// A few packets out of order in a fast transfer do not limit it.
func TestRareReorderingIsNoLimit(t *testing.T) {
	for every, limits := range map[int64]bool{50: true, 400: false} {
		got := whole(t, PerAck, func(s *scene) {
			s.run(10e9, func(i int64) {
				s.sends(10)
				if i%every == every-1 {
					s.event(tcp.Event{Kind: tcp.EventReordering, Value: 10})
					s.event(tcp.Event{Kind: tcp.EventUndo})
				}
			})
		})
		if got.Limit == Reordering != limits {
			t.Errorf("each %d samples: the limit is %s", every, got.Limit)
		}
	}
}

// Where a queue overflows, some packets overtake others, too. What was sent again had been lost:
// the peer reports no duplicates.
func TestAQueueThatOverflowsIsNoReordering(t *testing.T) {
	for _, duplicates := range []int64{0, 3} {
		got := whole(t, Captured, func(s *scene) {
			s.set(values{tcp.RttUs: 80_000})
			s.run(10e9, func(i int64) {
				s.sends(3)
				s.set(values{tcp.CAStateField: int64(tcp.CAOpen)})
				if i%50 == 49 {
					s.set(values{tcp.CAStateField: int64(tcp.CARecovery)})
					s.grow(values{tcp.RetransmitsPackets: 3})
					s.event(tcp.Event{Kind: tcp.EventReordering})
					if duplicates > 0 {
						s.event(tcp.Event{Kind: tcp.EventDsack, Value: duplicates})
					}
				}
			})
		})
		if got.Limit == Reordering != (duplicates > 0) {
			t.Errorf("%d duplicates: the limit is %s", duplicates, got.Limit)
		}
	}
}

// Behind its FIN a connection has no samples. Data that waited then is no slow program's.
func TestATransferBehindItsFINIsInSlowStart(t *testing.T) {
	s := newScene(t, Options{})
	const all = 60 * segment
	s.set(values{
		tcp.StateField: int64(tcp.StateFinWait1), tcp.SsthreshPackets: tcp.Absent, tcp.CwndPackets: 10,
		tcp.InFlightPackets: 4, tcp.SentBytes: 10 * segment, tcp.CwndLimited: 0,
	})
	s.run(10*ms, nil)
	s.now += 160 * ms
	s.set(values{
		tcp.AckedBytes: all, tcp.SentBytes: all, tcp.CwndPackets: 56, tcp.InFlightPackets: 0, tcp.CwndLimited: 1,
		tcp.BusyUs: 160_000, tcp.DeliveredPackets: 60,
	})
	s.run(10*ms, nil)
	if got := s.only(); got.Limit != SlowStart {
		t.Errorf("the limit is %s: %v", got.Limit, got.Evidence)
	}
}

// A program with TCP_CORK answers a request with a segment and a part of one. The part leaves after
// 200 ms, when nothing is in flight any more.
func TestACorkHoldsTheEndOfAnAnswer(t *testing.T) {
	got := whole(t, PerAck, func(s *scene) {
		s.set(values{
			tcp.AckedBytes: 0, tcp.SentBytes: 0, tcp.WrittenBytes: 0, tcp.InFlightPackets: 0, tcp.CwndLimited: 0,
		})
		for range 20 {
			// The request comes. The program answers, and one segment leaves.
			s.grow(values{tcp.ReceivedBytes: 200, tcp.ReadBytes: 200})
			s.set(values{tcp.SegmentBytes: 200, tcp.SeqBytes: s.row.Values[tcp.ReceivedBytes] - 200})
			s.run(10*ms, nil)
			s.set(values{tcp.SegmentBytes: 0})
			s.grow(values{tcp.SentBytes: segment, tcp.WrittenBytes: segment + 400, tcp.BusyUs: 40_000})
			s.now += 30 * ms
			s.set(values{tcp.AckBytes: s.row.Values[tcp.SentBytes], tcp.InFlightPackets: 1})
			s.run(10*ms, nil)
			s.grow(values{tcp.AckedBytes: segment, tcp.SentBytes: 400, tcp.BusyUs: 200_000})
			s.now += 190 * ms
			s.set(values{tcp.AckBytes: s.row.Values[tcp.SentBytes]})
			s.run(10*ms, nil)
			s.grow(values{tcp.AckedBytes: 400})
			s.set(values{tcp.InFlightPackets: 0})
		}
	})
	if got.Limit != Nagle {
		t.Errorf("the limit is %s: %v, %v", got.Limit, got.Shares, got.Evidence)
	}
}

// Polls see no turns of request and answer: the next step does not count them.
func TestPolledNagleTellsNoTurns(t *testing.T) {
	got := whole(t, Polled, func(s *scene) {
		s.run(5e9, func(int64) {
			s.grow(values{tcp.SentBytes: 30, tcp.AckedBytes: 30, tcp.BusyUs: 10_000})
			s.set(values{tcp.WrittenBytes: s.row.Values[tcp.SentBytes] + 300})
			s.set(values{tcp.InFlightPackets: 1, tcp.CwndLimited: 0})
		})
	})
	if got.Limit != Nagle || strings.Contains(got.Next, "now") {
		t.Errorf("%s: %s", got.Limit, got.Next)
	}
}

// In a capture, losses of many packets at once show a queue that overflowed. BBR then has the rate
// of the path, and a loss-based sender that of the losses.
func TestCapturedQueueThatOverflows(t *testing.T) {
	for want, segments := range map[Limit]int64{Capacity: 25, ShallowQueue: 10} { // in 10 ms
		got := whole(t, Captured, func(s *scene) {
			s.run(10e9, func(i int64) {
				s.sends(segments)
				cwnd := 20 + i*7919%61
				s.set(values{tcp.RttUs: 40_000 + i*7919%1000, tcp.CwndPackets: cwnd, tcp.InFlightPackets: cwnd})
				cuts := i%250 == 249
				if cuts {
					s.grow(values{tcp.RetransmitsPackets: 30})
				}
				s.recover(cuts)
			})
		})
		if got.Limit != want || len(got.Or) == 0 {
			t.Errorf("the limit is %s, want %s: %v, or %v", got.Limit, want, got.Evidence, got.Or)
		}
	}
}

// Without the field that tells who set the send buffer, one that holds an answer looks full.
func TestABufferOfUnknownOwner(t *testing.T) {
	for fixed, want := range map[int64]int{tcp.Absent: 2, 1: 0} {
		got := whole(t, Polled, func(s *scene) {
			s.set(values{tcp.SendBufferFixed: fixed})
			s.fillsBuffer(5e9, 0)
		})
		if got.Limit != SendBuffer || len(got.Or) != want {
			t.Errorf("the limit is %s, or %v", got.Limit, got.Or)
		}
	}
}

// Where full segments are sent again and again and none arrives, the path has a smaller MTU.
func TestABlackHoleForFullSegments(t *testing.T) {
	for name, c := range map[string]struct {
		before int64 // full segments that arrived before
		lost   int64 // bytes of the segment that is sent again
		want   Limit
	}{
		"full segments":       {0, segment, PathMTU},
		"short segments":      {0, 400, Timeout},
		"one arrived earlier": {1, segment, Timeout},
	} {
		t.Run(name, func(t *testing.T) {
			got := whole(t, PerAck, func(s *scene) {
				s.run(10*ms, func(int64) { s.set(values{tcp.AckedBytes: 400, tcp.SentBytes: 400 + 10*segment}) })
				s.run(10*ms, func(int64) { s.sends(c.before) })
				for range 6 {
					s.run(10*ms, nil)
					s.now += 800 * ms
					s.event(tcp.Event{Kind: tcp.EventTimeout, Value: 600_000})
					s.event(tcp.Event{Kind: tcp.EventRetransmit, Cause: tcp.CauseRTO, Seq: 400, EndSeq: 400 + c.lost})
					s.grow(values{tcp.BusyUs: 800_000})
				}
			})
			if got.Limit != c.want || (c.want == PathMTU) != strings.Contains(got.Next, "MTU") {
				t.Errorf("the limit is %s, want %s; %s", got.Limit, c.want, got.Next)
			}
		})
	}
}

// Polls see few reductions of the window, but count all packets that were sent again.
func TestPolledLossesAreThoseOfThePackets(t *testing.T) {
	for source, want := range map[Source]string{
		Polled: "With one packet sent again in 100 packets ", PerAck: "With one reduction in 300 packets ",
	} {
		got := whole(t, source, func(s *scene) {
			cwnd := int64(20)
			s.run(6e9, func(i int64) {
				s.sends(3)
				lost := slices.Contains([]int64{0, 57}, i%97) && i > 0
				cwnd++
				s.set(values{tcp.RttUs: 40_000 + i*7919%1000, tcp.CwndPackets: cwnd, tcp.InFlightPackets: cwnd})
				if lost {
					cwnd = 5
				}
				s.recover(i%100 == 50)
				if i%100 == 50 {
					s.grow(values{tcp.RetransmitsPackets: 2})
				}
			})
		})
		if got.Limit != RandomLoss && got.Limit != ShallowQueue || got.Limit == RandomLoss &&
			!strings.Contains(got.Next, want) {
			t.Errorf("source %d: %s; %s", source, got.Limit, got.Next)
		}
	}
}

// A queue that overflows with data is none of acknowledgements.
func TestAQueueThatOverflowsIsNoBacklogOfACKs(t *testing.T) {
	for _, overflows := range []bool{false, true} {
		got := whole(t, PerAck, func(s *scene) {
			s.run(1e9, func(int64) { s.sends(3) })
			s.run(6e9, func(i int64) {
				s.sends(3)
				s.set(values{tcp.RttUs: 70_000 + i%100*300, tcp.SrttUs: 80_000})
				s.recover(overflows && i%100 == 99)
			})
		})
		if got.Limit != Capacity || slices.Contains(got.Or, AckBacklog) == overflows {
			t.Errorf("overflows %t: %s, or %v", overflows, got.Limit, got.Or)
		}
	}
}

// With several phases the evidence says when.
func TestEvidenceSaysWhen(t *testing.T) {
	s := newScene(t, Options{})
	s.run(3e9, func(int64) { s.sends(5) })
	s.set(values{tcp.InFlightPackets: 4, tcp.CwndLimited: 0})
	s.run(5e9, func(int64) {
		s.sends(1)
		s.set(values{tcp.WrittenBytes: s.row.Values[tcp.SentBytes]})
	})
	r := s.engine.Report()
	var text strings.Builder
	if err := r.WriteText(&text, true); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(text.String(), "\n  because    3.0 to 8.0 s:\n             unsent_bytes: ") {
		t.Errorf("%s", text.String())
	}
}

// Answers that come a timer later than a round trip may be held back by the peer.
func TestAnswersOfATimerMayBeHeldBack(t *testing.T) {
	for waitMs, held := range map[int64]bool{290: true, 80: true, 120: false} {
		got := whole(t, PerAck, func(s *scene) {
			s.set(values{tcp.InFlightPackets: 1, tcp.CwndLimited: 0, tcp.SegmentBytes: 500})
			s.set(values{tcp.SentBytes: 0, tcp.WrittenBytes: 0})
			for range 20 {
				s.now += (waitMs - 10) * ms
				s.grow(values{tcp.SentBytes: 200, tcp.AckedBytes: 200, tcp.ReceivedBytes: 500, tcp.ReadBytes: 500})
				s.grow(values{tcp.BusyUs: 40_000})
				s.set(values{tcp.SeqBytes: s.row.Values[tcp.ReceivedBytes]})
				s.set(values{tcp.WrittenBytes: s.row.Values[tcp.SentBytes]})
				s.run(10*ms, nil)
			}
		})
		if slices.Contains(got.Or, Nagle) != held || held && got.Certainty != Likely {
			t.Errorf("answers each %d ms: %s (%s), or %v: %v", waitMs, got.Limit, got.Certainty, got.Or, got.Evidence)
		}
	}
}

// The second part of a request that waits for this end's delayed ACK costs more than the round trip
// of the answer. One that comes as late behind the answer is a program that thinks.
func TestARequestWhoseEndWaitsForTheDelayedACK(t *testing.T) {
	for answered, want := range map[bool]Limit{false: Nagle, true: RoundTrips} {
		got := whole(t, PerAck, func(s *scene) {
			s.set(values{tcp.InFlightPackets: 1, tcp.CwndLimited: 0, tcp.SegmentBytes: 300})
			s.set(values{tcp.SentBytes: 0, tcp.WrittenBytes: 0})
			request := func(waitMs int64, answers bool) {
				s.now += (waitMs - 10) * ms
				if answers {
					s.grow(values{tcp.SentBytes: 200, tcp.WrittenBytes: 200, tcp.AckedBytes: 200})
				}
				s.grow(values{tcp.ReceivedBytes: 300, tcp.ReadBytes: 300, tcp.BusyUs: 40_000})
				s.set(values{tcp.SeqBytes: s.row.Values[tcp.ReceivedBytes]})
				s.run(10*ms, nil)
			}
			for range 20 {
				request(40, true)
				request(80, answered)
			}
		})
		other := []Limit{RoundTrips}
		if answered {
			other[0] = Nagle
		}
		if got.Limit != want || !slices.Equal(got.Or, other) || got.Certainty != Likely {
			t.Errorf("answered %v: %s (%s), or %v: %v", answered, got.Limit, got.Certainty, got.Or, got.Evidence)
		}
	}
}

// The kernel takes the time between rare events for an RTT of the receiver.
func TestRareEventsAreNoSteadyData(t *testing.T) {
	got := whole(t, PerAck, func(s *scene) {
		s.set(values{tcp.ReceiverRttUs: 1_000_000})
		for range 8 {
			s.receives(10*ms, nil)
			s.set(values{tcp.ReceiverRttUs: 1_000_000})
			s.now += 990 * ms
		}
	})
	if got.Limit != NoData {
		t.Errorf("%s: %v", got.Limit, got.Evidence)
	}
}

// Both ends that send all the time take no turns. With two turns in a round trip they may not.
func TestDataBothWaysIsNoRequestAndAnswer(t *testing.T) {
	for each, want := range map[int64]Limit{1: Application, 4: RoundTrips, 8: RoundTrips} {
		got := whole(t, PerAck, func(s *scene) {
			s.set(values{tcp.CwndLimited: 0, tcp.InFlightPackets: 4, tcp.RttUs: 80_000, tcp.MinRttUs: 80_000})
			s.run(5e9, func(i int64) {
				s.grow(values{tcp.BusyUs: 10_000})
				s.set(values{tcp.SegmentBytes: 0})
				if i%each == 0 {
					s.sends(1)
					s.grow(values{tcp.ReceivedBytes: segment, tcp.ReadBytes: segment})
					s.set(values{tcp.SegmentBytes: segment, tcp.SeqBytes: s.row.Values[tcp.ReceivedBytes]})
				}
				s.set(values{tcp.WrittenBytes: s.row.Values[tcp.SentBytes]})
			})
		})
		if got.Limit != want || slices.Contains(got.Or, Application) != (each == 4) ||
			got.Certainty == Certain && each == 4 {
			t.Errorf("each %d: %s or %v, %s, want %s: %v", each, got.Limit, got.Or, got.Certainty, want, got.Evidence)
		}
	}
}

// Polls do not show whose turn it was: several packets in flight may be answers.
func TestPolledAnswersMayTakeTurns(t *testing.T) {
	for answers, or := range map[int64]bool{100: true, 0: false} {
		got := whole(t, Polled, func(s *scene) {
			s.set(values{tcp.SegmentBytes: tcp.Absent, tcp.SeqBytes: tcp.Absent})
			s.run(5e9, func(int64) {
				s.sends(1)
				s.grow(values{tcp.ReceivedBytes: answers})
				s.set(values{tcp.WrittenBytes: s.row.Values[tcp.SentBytes], tcp.CwndLimited: 0, tcp.InFlightPackets: 9})
			})
		})
		if got.Limit != Application || slices.Contains(got.Or, RoundTrips) != or {
			t.Errorf("answers of %d bytes: %s, or %v", answers, got.Limit, got.Or)
		}
	}
}

// A program that polls for room finds it when a third of the send buffer is free, and never fills
// it. The kernel's clock counts no wait if a part of a segment is left.
func TestABufferThatIsFullToTwoThirds(t *testing.T) {
	for memory, or := range map[int64]bool{8_000: false, 17_000: true} {
		got := whole(t, PerAck, func(s *scene) {
			s.set(values{
				tcp.SendBufferFixed: 0, tcp.SendBufferBytes: 24_000, tcp.SendMemoryBytes: memory, tcp.CwndLimited: 0,
				tcp.InFlightPackets: 12,
			})
			s.run(5e9, func(int64) {
				s.sends(2)
				s.set(values{tcp.WrittenBytes: s.row.Values[tcp.SentBytes] + 100})
			})
		})
		if got.Limit != Application || slices.Contains(got.Or, SendBuffer) != or || (got.Certainty == Certain) == or {
			t.Errorf("with %d bytes: %s (%s), or %v: %v", memory, got.Limit, got.Certainty, got.Or, got.Evidence)
		}
	}
}

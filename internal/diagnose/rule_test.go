package diagnose

import (
	"math"
	"slices"
	"testing"

	"airtide/internal/tcp"
)

// Each case shows the field values of one cause. The rules must name it, and with other values they
// must not.
func TestRules(t *testing.T) {
	const length = 5e9
	for _, c := range []struct {
		want Limit
		play func(*scene)
	}{
		{Application, func(s *scene) {
			s.run(length, func(int64) {
				s.sends(1)
				s.set(values{tcp.InFlightPackets: 4, tcp.CwndLimited: 0, tcp.WrittenBytes: s.row.Values[tcp.SentBytes]})
			})
		}},
		{Application, func(s *scene) { // it writes for a third of the time, and then the window is full
			s.set(values{tcp.CwndLimited: 0, tcp.InFlightPackets: 6, tcp.CwndPackets: 30})
			s.run(length, func(i int64) {
				if i%9 < 6 {
					acked := s.row.Values[tcp.AckedBytes]
					s.set(values{tcp.WrittenBytes: acked, tcp.SentBytes: acked})
					return
				}
				s.set(values{tcp.SentBytes: s.row.Values[tcp.AckedBytes] + 6*segment})
				s.set(values{tcp.WrittenBytes: s.row.Values[tcp.SentBytes] + 60*segment})
				s.sends(1)
				s.grow(values{tcp.RwndLimitedUs: 10_000})
				s.set(values{tcp.SendWindowBytes: s.unacked() + 100})
			})
		}},
		{Idle, func(s *scene) {
			s.run(length, func(int64) {
				s.set(values{tcp.SentBytes: 0, tcp.WrittenBytes: 0, tcp.InFlightPackets: 0, tcp.CwndLimited: 0})
			})
		}},
		{RoundTrips, func(s *scene) {
			s.run(length, func(i int64) {
				s.set(values{tcp.InFlightPackets: 1, tcp.CwndLimited: 0, tcp.SegmentBytes: 0})
				s.grow(values{tcp.BusyUs: 10_000})
				if i%4 == 0 { // an answer each 40 ms
					s.grow(values{tcp.SentBytes: 500, tcp.AckedBytes: 500, tcp.ReceivedBytes: 500, tcp.ReadBytes: 500})
					s.set(values{tcp.SegmentBytes: 500, tcp.SeqBytes: s.row.Values[tcp.ReceivedBytes]})
				}
				s.set(values{tcp.WrittenBytes: s.row.Values[tcp.SentBytes]})
			})
		}},
		{Nagle, func(s *scene) {
			s.run(length, func(i int64) {
				s.grow(values{tcp.BusyUs: 10_000})
				s.set(values{tcp.InFlightPackets: 1, tcp.CwndLimited: 0, tcp.SegmentBytes: 0})
				if i%8 == 0 {
					s.grow(values{tcp.SentBytes: 300, tcp.AckedBytes: 300, tcp.ReceivedBytes: 300, tcp.ReadBytes: 300})
					s.set(values{tcp.SegmentBytes: 300, tcp.SeqBytes: s.row.Values[tcp.ReceivedBytes]})
				}
				s.set(values{tcp.WrittenBytes: s.row.Values[tcp.SentBytes] + 300})
			})
		}},
		{Idle, func(s *scene) { // one short message that waited for its acknowledgement
			s.run(length, func(i int64) {
				s.set(values{tcp.InFlightPackets: 0, tcp.CwndLimited: 0, tcp.SentBytes: 0, tcp.WrittenBytes: 0})
				if i < 10 {
					s.set(values{tcp.SentBytes: 300, tcp.WrittenBytes: 600, tcp.InFlightPackets: 1})
					s.grow(values{tcp.BusyUs: 10_000})
				}
			})
		}},
		{ReceiveWindow, func(s *scene) {
			s.fillsPeer(length, 5, 1)
		}},
		{ReceiveWindow, func(s *scene) { // BBR paces the window over most of a round trip
			s.flow.CongestionControl = "bbr"
			s.set(values{tcp.PacingRateBps: 6_500_000})
			s.fillsPeer(length, 5, 4)
		}},
		{ReceivingApplication, func(s *scene) { // a fifth of the full window leaves in a round trip
			s.fillsPeer(length, 1, 1)
		}},
		{ReceivingApplication, func(s *scene) {
			s.set(values{tcp.CwndLimited: 0, tcp.InFlightPackets: 6, tcp.CwndPackets: 30})
			s.run(length, func(i int64) {
				s.sends(1)
				s.grow(values{tcp.RwndLimitedUs: 10_000})
				s.set(values{tcp.SendWindowBytes: 500 + 30_000*(i%5/4)})
			})
			s.event(tcp.Event{Kind: tcp.EventZeroWindow})
		}},
		{Capacity, func(s *scene) { // a queue stands whenever the window is full: a larger one lengthens it
			s.set(values{tcp.RttUs: 90_000, tcp.SrttUs: 90_000})
			s.fillsPeer(length, 2, 1)
		}},
		{SendBuffer, func(s *scene) {
			s.fillsBuffer(length, 2000)
		}},
		{Capacity, func(s *scene) { // as with the window
			s.set(values{tcp.RttUs: 90_000, tcp.SrttUs: 90_000})
			s.fillsBuffer(length, 2000)
		}},
		{Application, func(s *scene) { // the kernel would grow the buffer if it held the program back
			s.set(values{tcp.SendBufferFixed: 0})
			s.fillsBuffer(length, 0)
		}},
		{Application, func(s *scene) { // bursts fill the buffer and a queue, and then nothing is outstanding
			s.set(values{tcp.RttUs: 90_000, tcp.SrttUs: 90_000})
			for range 10 {
				s.fillsBuffer(200*ms, 0)
				acked := s.row.Values[tcp.AckedBytes]
				s.set(values{tcp.SentBytes: acked, tcp.WrittenBytes: acked})
				s.run(10*ms, nil)
				s.now += 400 * ms
				s.run(10*ms, nil)
				s.set(values{tcp.SentBytes: acked + 12*segment})
			}
		}},
		{SendBuffer, func(s *scene) { // and the kernel's clock stands still
			s.set(values{tcp.SendBufferFixed: 1})
			s.fillsBuffer(length, 0)
		}},
		{Pacing, func(s *scene) {
			s.set(values{tcp.InFlightPackets: 8, tcp.CwndLimited: 0, tcp.PacingRateBps: 2_000_000})
			s.run(length, func(int64) { s.sends(2) })
		}},
		{Application, func(s *scene) { // BBR paces at an estimate that the program does not use
			s.flow.CongestionControl = "bbr"
			s.set(values{tcp.InFlightPackets: 8, tcp.CwndLimited: 0})
			s.run(length, func(i int64) {
				s.sends(2)
				s.set(values{tcp.PacingRateBps: 4_000_000 + 1_000_000*(i%5/4)})
				sent := s.row.Values[tcp.SentBytes]
				s.set(values{tcp.WrittenBytes: sent + 60*segment})
				if i%3 == 0 {
					s.set(values{tcp.WrittenBytes: sent})
				}
			})
		}},
		{OwnQueue, func(s *scene) {
			s.set(values{tcp.InFlightPackets: 8, tcp.CwndLimited: 0, tcp.DeviceQueueBytes: 9000})
			s.run(length, func(int64) { s.sends(2) })
		}},
		{OwnDevice, func(s *scene) {
			s.run(length, func(i int64) {
				s.sends(2)
				if i%100 == 99 {
					s.event(tcp.Event{Kind: tcp.EventLocalCongestion})
				}
			})
		}},
		{CwndBound, func(s *scene) { s.run(length, func(int64) { s.sends(5) }) }},
		{RandomLoss, func(s *scene) {
			cwnd := int64(20)
			s.run(length, func(i int64) {
				s.sends(3)
				lost := slices.Contains([]int64{0, 5, 12, 75}, i%97)
				cwnd++
				s.set(values{
					tcp.RttUs: 40_000 + i*7919%1000, tcp.CwndPackets: cwnd, tcp.InFlightPackets: cwnd,
				})
				s.recover(lost)
				if lost {
					cwnd = 5
				}
			})
		}},
		{ShallowQueue, func(s *scene) {
			s.run(length, func(i int64) {
				s.sends(3)
				s.set(values{
					tcp.RttUs: 40_000 + i%40*100, tcp.CwndPackets: 20 + i%40,
					tcp.InFlightPackets: 20 + i%40,
				})
				s.recover(i%40 == 39)
			})
		}},
		// The first slow start lost many, and later single packets are lost.
		{RandomLoss, func(s *scene) {
			cwnd := int64(20)
			s.run(length, func(i int64) {
				s.sends(3)
				lost := slices.Contains([]int64{3, 9, 16, 75}, i%97)
				cwnd++
				s.set(values{tcp.RttUs: 40_000 + i*7919%1000, tcp.CwndPackets: cwnd, tcp.InFlightPackets: cwnd})
				s.recover(lost)
				if i == 4 {
					s.grow(values{tcp.RetransmitsPackets: 200})
				}
				if lost {
					cwnd = 5
				}
			})
		}},
		// The window varies, and the RTT shows nothing: several packets are lost at once.
		{ShallowQueue, func(s *scene) {
			cwnd := int64(20)
			s.run(length, func(i int64) {
				s.sends(3)
				lost := slices.Contains([]int64{0, 20, 75}, i%97)
				cwnd++
				s.set(values{tcp.RttUs: 40_000 + i*7919%1000, tcp.CwndPackets: cwnd, tcp.InFlightPackets: cwnd})
				s.recover(lost)
				if lost {
					s.grow(values{tcp.RetransmitsPackets: 5})
					cwnd /= 2
				}
			})
		}},
		// A single loss: the window returns to its bound.
		{CwndBound, func(s *scene) {
			s.run(length, func(i int64) {
				cwnd := int64(20)
				if i >= 200 && i < 300 {
					cwnd = 14 + (i-200)*6/100
				}
				s.sends(5)
				s.set(values{tcp.CwndPackets: cwnd, tcp.InFlightPackets: cwnd})
				s.recover(i == 200)
			})
		}},
		// A queue that was full at the only reduction, which ended the first slow start.
		{Capacity, func(s *scene) {
			s.set(values{tcp.SsthreshPackets: tcp.Absent, tcp.RttUs: 80_000})
			s.run(1e9, func(i int64) {
				s.sends(3)
				s.recover(i == 99)
				if i == 99 {
					s.grow(values{tcp.RetransmitsPackets: 200})
				}
			})
			s.set(values{tcp.SsthreshPackets: 10, tcp.RttUs: 47_000})
			s.run(length, func(i int64) {
				s.sends(3)
				s.set(values{tcp.CwndPackets: 20 + i/50, tcp.InFlightPackets: 20 + i/50})
				s.recover(false)
			})
		}},
		{Capacity, func(s *scene) {
			s.run(1e9, func(int64) { s.sends(3) })
			s.set(values{tcp.RttUs: 80_000, tcp.SrttUs: 80_000})
			s.run(length, func(int64) { s.sends(3) })
		}},
		{OwnQueue, func(s *scene) { // the window limits, and all that waits stands at the own device
			s.run(1e9, func(int64) { s.sends(3) })
			s.set(values{tcp.RttUs: 80_000, tcp.SrttUs: 80_000, tcp.DeviceQueueBytes: 17_000})
			s.run(length, func(int64) { s.sends(3) })
		}},
		{Capacity, func(s *scene) { // the own device holds a little of it
			s.run(1e9, func(int64) { s.sends(3) })
			s.set(values{tcp.RttUs: 80_000, tcp.SrttUs: 80_000, tcp.DeviceQueueBytes: 5_000})
			s.run(length, func(int64) { s.sends(3) })
		}},
		{NetworkQueue, func(s *scene) {
			s.run(0.5e9, func(int64) { s.sends(3) })
			s.set(values{tcp.RttUs: 400_000, tcp.SrttUs: 400_000})
			s.run(length, func(int64) { s.sends(3) })
		}},
		{SharedCapacity, func(s *scene) {
			s.run(0.5e9, func(int64) { s.sends(3) })
			s.set(values{tcp.RttUs: 80_000, tcp.SrttUs: 80_000})
			s.run(length, func(i int64) { s.sends(1 + 4*(i/50%2)) })
		}},
		{SlowStart, func(s *scene) {
			s.set(values{tcp.SsthreshPackets: tcp.Absent})
			s.run(200*ms, func(i int64) { s.sends(1 + i) })
		}},
		{Timeout, func(s *scene) {
			s.run(1e9, func(int64) { s.sends(1) })
			s.now += 2e9
			s.grow(values{tcp.BusyUs: 2_000_000})
			s.event(tcp.Event{Kind: tcp.EventTimeout, Value: 1_900_000})
			s.run(1e9, func(int64) { s.sends(1) })
		}},
		{Stall, func(s *scene) {
			for range 5 {
				s.set(values{tcp.RttUs: 40_000})
				s.run(1e9, func(int64) { s.sends(3) })
				s.now += 400 * ms
				s.grow(values{tcp.BusyUs: 400_000})
				s.set(values{tcp.RttUs: 420_000})
				s.run(50*ms, func(int64) { s.sends(3) })
			}
		}},
		{ReceivingApplication, func(s *scene) { // silences until a slow reader opens the window; late ACKs
			s.set(values{tcp.CwndLimited: 0, tcp.InFlightPackets: 6, tcp.CwndPackets: 30})
			for range 25 {
				s.run(50*ms, func(int64) {
					s.sends(1)
					s.grow(values{tcp.RwndLimitedUs: 10_000})
					s.set(values{tcp.RttUs: 110_000, tcp.SendWindowBytes: s.unacked() + 100})
				})
				s.now += 150 * ms
				s.grow(values{tcp.BusyUs: 150_000, tcp.RwndLimitedUs: 150_000})
			}
		}},
		{Reordering, func(s *scene) {
			s.run(length, func(i int64) {
				s.sends(3)
				if i%50 == 49 {
					s.grow(values{tcp.RetransmitsPackets: 3})
					s.event(tcp.Event{Kind: tcp.EventReordering, Value: 10})
					s.event(tcp.Event{Kind: tcp.EventDsack, Value: 3})
					s.event(tcp.Event{Kind: tcp.EventUndo})
				}
			})
		}},
		{ReceivingApplication, func(s *scene) {
			s.receives(length, func(int64) {
				s.set(values{
					tcp.ReadBytes: s.row.Values[tcp.ReceivedBytes] - 9000, tcp.ReceiveWindowBytes: 10_000,
				})
			})
		}},
		{ReceiveWindow, func(s *scene) {
			s.receives(length, func(int64) { s.set(values{tcp.ReceiveWindowBytes: 12_000}) })
		}},
		{ReceiveWindow, func(s *scene) { // of a short path, on which the ends take most of the time
			s.receives(length, func(int64) {
				s.set(values{tcp.ReceiveWindowBytes: 2 * segment, tcp.ReceiverRttUs: 65})
			})
		}},
		{NoData, func(s *scene) {
			for range 4 {
				s.receives(200*ms, nil)
				s.now += 2e9
			}
		}},
		{Gaps, func(s *scene) {
			s.receives(length, func(i int64) {
				if i%4 == 0 {
					s.grow(values{tcp.SeqBytes: 5000, tcp.OutOfOrderPackets: 1})
				}
			})
		}},
		{SenderOrNetwork, func(s *scene) { s.receives(length, nil) }},
	} {
		t.Run(c.want.String(), func(t *testing.T) {
			s := newScene(t, Options{})
			c.play(s)
			got := s.only()
			if got.Limit != c.want {
				t.Errorf("the limit is %q, want %q; shares %v, phases %+v", got.Limit, c.want, got.Shares, got.Phases)
			}
			if got.Limit != Unknown && (got.Next == "" || got.Refuted == "" || len(got.Evidence) == 0) {
				t.Errorf("the finding lacks its reasons: %+v", got.Finding)
			}
			sum := 0.0
			for _, x := range got.Shares {
				sum += x.Share
			}
			if math.Abs(sum-1) > 1e-9 {
				t.Errorf("the shares add up to %g: %v", sum, got.Shares)
			}
		})
	}
}

func (s *scene) unacked() int64 { return s.row.Values[tcp.SentBytes] - s.row.Values[tcp.AckedBytes] }

// recover enters or leaves fast recovery with the next sample.
func (s *scene) recover(enter bool) {
	state := tcp.CAOpen
	if enter {
		state = tcp.CARecovery
		s.grow(values{tcp.RetransmitsPackets: 1})
	}
	s.set(values{tcp.CAStateField: int64(state)})
}

// fillsBuffer lets two segments leave each 10 ms while the program keeps the send buffer full. The
// kernel's clock of a full buffer grows by limitedUs.
func (s *scene) fillsBuffer(length, limitedUs int64) {
	s.set(values{tcp.SendBufferBytes: 24_000, tcp.SendMemoryBytes: 24_500})
	s.run(length, func(int64) {
		s.sends(2)
		s.grow(values{tcp.SndbufLimitedUs: limitedUs})
		s.set(values{
			tcp.InFlightPackets: 12, tcp.CwndLimited: 0,
			tcp.WrittenBytes: s.row.Values[tcp.SentBytes],
		})
	})
}

// receives lets two segments come in order each 10 ms.
func (s *scene) receives(length int64, each func(int64)) {
	s.set(values{
		tcp.SentBytes: 0, tcp.WrittenBytes: 0, tcp.InFlightPackets: 0, tcp.CwndLimited: 0,
		tcp.ReceiverRttUs: 40_000,
	})
	s.run(length, func(i int64) {
		s.grow(values{tcp.ReceivedBytes: 2 * segment})
		s.set(values{
			tcp.SegmentBytes: 2 * segment, tcp.SeqBytes: s.row.Values[tcp.ReceivedBytes],
			tcp.ReadBytes: s.row.Values[tcp.ReceivedBytes],
		})
		if each != nil {
			each(i)
		}
	})
}

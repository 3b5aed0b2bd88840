package flow

import (
	"testing"
	"time"
)

// Small answers at the start of an upload do not count as a download. Otherwise half of the share
// would be kept for them.
func TestSmallAnswersAreNotGreedy(t *testing.T) {
	const step, gain = 100 * time.Millisecond, 0.3
	for _, c := range []struct {
		name   string
		down   float64 // bit/s
		greedy bool
	}{
		{"the answer to a request of 400 bytes", 400 * 8 / step.Seconds(), false},
		{"the first two packets of a download", 2 * 1448 * 8 / step.Seconds(), true},
		{"nothing yet", 0, false},
	} {
		f := &Flow{}
		f.updateReceive(step, gain, &Sample{ReceiveRate: c.down})
		if greedy := step < f.Receive.GreedyUntil; greedy != c.greedy {
			t.Errorf("%s: greedy is %t", c.name, greedy)
		}
		if c.down == 0 {
			continue
		}
		// Later, only the use of its window shows whether a bounded flow is greedy.
		f.ReceiveBound = 1 << 20
		f.updateReceive(step+2*greedyTime, gain, &Sample{ReceiveRate: 50e6, ReceiveWindow: WindowSample{InUse: 0.1}})
		if now := step + 2*greedyTime; now < f.Receive.GreedyUntil {
			t.Errorf("%s: greedy later, with an unused window", c.name)
		}
		f.updateReceive(step+3*greedyTime, gain, &Sample{ReceiveRate: 50e6, ReceiveWindow: WindowSample{InUse: 0.5}})
		if now := step + 3*greedyTime; now >= f.Receive.GreedyUntil {
			t.Errorf("%s: not greedy later, with a used window", c.name)
		}
	}
}

// A flow that loses packets is greedy though its window is not full, until its losses are long ago.
func TestAFlowThatLosesPacketsIsGreedy(t *testing.T) {
	const step, gain = 100 * time.Millisecond, 0.3
	for _, c := range []struct {
		name    string
		rate    float64 // bit/s
		lost    int64
		greedy  bool
		receive bool
	}{
		{"an upload that lost a packet", 5e6, 1, true, false},
		{"one that lost none", 5e6, 0, false, false},
		{"an idle one, whose last packet is lost", 0, 1, false, false},
		{"a download that lost a packet", 5e6, 1, true, true},
		{"a download that lost none", 5e6, 0, false, true},
	} {
		f := &Flow{ReceiveBound: 1 << 20}
		now := time.Second
		f.updateReceive(now, gain, &Sample{ReceiveRate: 1}) // not the first step
		f.Receive.GreedyUntil = 0
		s := Sample{SendRate: c.rate, SendLost: c.lost}
		if c.receive {
			s = Sample{ReceiveRate: c.rate, ReceiveLost: c.lost}
		}
		f.updateSend(now+step, gain, &s)
		f.updateReceive(now+step, gain, &s)
		for _, later := range []time.Duration{2 * step, lossTime + 2*step} {
			want := c.greedy && later < lossTime
			if greedy := now+later < f.Direction(c.receive).GreedyUntil; greedy != want {
				t.Errorf("%s: greedy is %t after %s", c.name, greedy, later)
			}
		}
	}
}

// The RTT of a window of one packet is that of the receiver's delayed ACK. So it tells of no queue,
// and its least still counts.
func TestTheRTTOfASinglePacketIsNoDelay(t *testing.T) {
	const now, rtt = time.Second, 42 * time.Millisecond
	for _, bound := range []uint32{0, 1, 2} {
		var s Set
		sample := Sample{SendRate: 1e6, MinRTT: 2 * time.Millisecond, MeanRTT: rtt, LeastRTT: time.Millisecond}
		host := HostSample{SendRate: sample.SendRate}
		s.Update(now, []Sample{sample}, &host)
		s.All()[0].SendBound = bound
		s.Update(now+100*time.Millisecond, []Sample{sample}, &host)
		want := rtt
		if bound == 1 {
			want = sample.LeastRTT
		}
		if base, mean := s.RTTs(); base != sample.LeastRTT || mean != want {
			t.Errorf("a bound of %d packets: RTTs of %s and %s, want %s in the mean", bound, base, mean, want)
		}
	}
}

package queue

import (
	"math"
	"testing"
)

const (
	linkBps  = 20e6
	packetNs = 1500 * 8e9 / linkBps
)

// reno is a sender with a window that grows by one packet in a round trip and is halved by a loss,
// at most once in a round trip (RFC 5681's congestion avoidance, without timeouts).
type reno struct {
	window    float64
	inFlight  int
	recoverNs int64
}

// bottleneck is a link of linkBps behind a queue, fed by reno senders whose acknowledgements take
// rttNs.
type bottleneck struct {
	q       Discipline
	senders []reno
	rttNs   int64
	acks    []ack // in order of time, for the delay is constant
	nowNs   int64
	busyNs  int64
}

type ack struct {
	atNs int64
	flow uint32
	lost bool
}

func newBottleneck(senders int, rttNs int64, q func(Drop) Discipline) *bottleneck {
	b := &bottleneck{senders: make([]reno, senders), rttNs: rttNs}
	for i := range b.senders {
		b.senders[i].window = 10
	}
	b.q = q(func(p *Packet, _ Place, atNs int64) {
		b.acks = append(b.acks, ack{atNs + rttNs, p.Flow, true})
	})
	return b
}

func (b *bottleneck) run(untilNs int64) {
	for b.nowNs < untilNs {
		for len(b.acks) > 0 && b.acks[0].atNs <= b.nowNs {
			a := b.acks[0]
			b.acks = b.acks[1:]
			s := &b.senders[a.flow]
			s.inFlight--
			switch {
			case !a.lost:
				s.window += 1 / s.window
			case b.nowNs >= s.recoverNs:
				s.window = max(2, s.window/2)
				s.recoverNs = b.nowNs + b.rttNs
			}
		}
		for i := range b.senders {
			for s := &b.senders[i]; s.inFlight < int(s.window); s.inFlight++ {
				b.q.Push(&Packet{Flow: uint32(i), Length: 1500}, b.nowNs)
			}
		}
		if p := b.q.Pop(0, b.nowNs); p != nil {
			b.busyNs += packetNs
			b.acks = append(b.acks, ack{b.nowNs + b.rttNs, p.Flow, false})
		}
		b.nowNs += packetNs
	}
}

func TestCoDelKeepsTheSojournTimeNearItsTarget(t *testing.T) {
	const rttNs, warmUpNs, endNs = 40e6, 10e9, 70e9
	// The smaller the windows, the less a loss does, and the longer the queue (RFC 8289 section
	// 4.3).
	for senders, medianNs := range map[int]int64{1: 5e6, 4: 8e6, 16: 20e6} {
		b := newBottleneck(senders, rttNs, func(d Drop) Discipline {
			return NewFQCoDel(1, FQCoDelOptions{Flows: 1, CoDel: InternetCoDel}, d)
		})
		b.run(warmUpNs)
		q := b.q.(*FQCoDel)
		q.RestartStatistics(b.nowNs)
		b.busyNs = 0
		b.run(endNs)
		s := q.Statistics()
		median := s.Sojourn.Quantile(0.5)
		p95 := s.Sojourn.Quantile(0.95)
		if median > medianNs {
			t.Errorf("%d senders: median sojourn time %.1f ms, target 5 ms", senders, float64(median)/1e6)
		}
		if p95 > 25e6 {
			t.Errorf("%d senders: 95th percentile of the sojourn time %.1f ms", senders, float64(p95)/1e6)
		}
		if use := float64(b.busyNs) / (endNs - warmUpNs); use < 0.85 {
			t.Errorf("%d senders: the link was used to %.2f", senders, use)
		}
		// The same senders fill a queue without CoDel to its limit.
		plain := newBottleneck(senders, rttNs, func(d Drop) Discipline {
			return NewSharedFIFO(1, Limit{Packets: 400}, d)
		})
		plain.run(endNs)
		if all := plain.q.(*SharedFIFO).Statistics(); all.Sojourn.Quantile(0.5) < 100e6 {
			t.Errorf("%d senders: without CoDel the median is %d ms", senders, all.Sojourn.Quantile(0.5)/1e6)
		}
	}
}

func TestCoDelDropsTheSurplusOfAnOverloadThatDoesNotYield(t *testing.T) {
	q := NewFQCoDel(1, FQCoDelOptions{CoDel: InternetCoDel}, func(*Packet, Place, int64) {})
	// The load is 25 % above the rate of departures. CoDel's drop rate grows until the queue is
	// gone, and begins low again. The sojourn time swings, but stays far below that of the full
	// queue, which is 6 s.
	nowNs := int64(0)
	for i := 0; nowNs < 120e9; i++ {
		q.Push(&Packet{Length: 1500}, nowNs)
		if i%5 != 0 {
			q.Pop(0, nowNs)
		}
		nowNs += packetNs
		if i == 33000 { // 20 s
			q.RestartStatistics(nowNs)
		}
	}
	s := q.Statistics()
	if share := float64(s.Dropped) / float64(s.Pushed); !near(share, 0.2, 0.03) {
		t.Errorf("dropped %.3f of the packets, want 0.2", share)
	}
	if s.Sojourn.Max() > 1e9 || s.Sojourn.Min() > 5e6 {
		t.Errorf("the sojourn time is between %d and %d ms", s.Sojourn.Min()/1e6, s.Sojourn.Max()/1e6)
	}
}

func TestCoDelDropsByItsControlLaw(t *testing.T) {
	var dropsNs []int64
	q := NewFQCoDel(1, FQCoDelOptions{CoDel: InternetCoDel}, func(_ *Packet, _ Place, atNs int64) {
		dropsNs = append(dropsNs, atNs)
	})
	for range 5000 {
		q.Push(&Packet{Length: 1500}, 0)
	}
	// The sojourn time passes 5 ms at 5 ms, so dropping begins an interval later; then the gaps are
	// interval / sqrt(n).
	for nowNs := int64(0); nowNs < 1e9; nowNs += 1e6 {
		q.Pop(0, nowNs)
	}
	want := 105e6
	for i, got := range dropsNs {
		// A drop happens with the first packet that leaves from its time on.
		if float64(got) < want-1 || float64(got) >= want+1e6 {
			t.Fatalf("drop %d at %.3f ms, want %.3f to %.3f ms", i, float64(got)/1e6, want/1e6, want/1e6+1)
		}
		if i == 0 {
			want = float64(got)
		}
		want += 100e6 / math.Sqrt(float64(i+1))
	}
	if len(dropsNs) < 20 {
		t.Errorf("%d drops in a second", len(dropsNs))
	}
}

func TestCoDelLeavesTheLastPacketsAlone(t *testing.T) {
	q := NewFQCoDel(1, FQCoDelOptions{CoDel: InternetCoDel}, noDrop(t))
	// Each packet waits far longer than the target, but no more than one MTU waits behind it.
	for nowNs := int64(0); nowNs < 10e9; nowNs += 100e6 {
		q.Push(&Packet{Length: 1500}, nowNs)
		if nowNs >= 100e6 {
			q.Pop(0, nowNs)
		}
	}
}

func TestFQIsolatesASparseFlow(t *testing.T) {
	// Eight flows send twice what leaves, another one a packet each 20 ms.
	const sparse = 8
	run := func(make func(Drop) Discipline) (worstNs int64, lost int) {
		q := make(func(p *Packet, _ Place, _ int64) {
			if p.Flow == sparse {
				lost++
			}
		})
		for i := int64(0); i < 20000; i++ {
			nowNs := i * packetNs
			for n := range 2 {
				q.Push(&Packet{Flow: uint32(2*i+int64(n)) % sparse, Length: 1500}, nowNs)
			}
			if i*packetNs/20e6 != (i+1)*packetNs/20e6 {
				q.Push(&Packet{Flow: sparse, Length: 200}, nowNs)
			}
			if p := q.Pop(0, nowNs); p.Flow == sparse {
				worstNs = max(worstNs, nowNs-p.EnteredNs)
			}
		}
		return worstNs, lost
	}
	worstNs, lost := run(func(d Drop) Discipline {
		return NewFQCoDel(1, FQCoDelOptions{Limit: Limit{Packets: 500}, CoDel: InternetCoDel}, d)
	})
	if worstNs > packetNs || lost != 0 {
		t.Errorf("the sparse flow waited up to %d us and lost %d packets", worstNs/1000, lost)
	}
	worstNs, lost = run(func(d Drop) Discipline { return NewSharedFIFO(1, Limit{Packets: 500}, d) })
	if worstNs < 400*packetNs || lost == 0 {
		t.Errorf("without FQ it waited only up to %d us and lost %d packets", worstNs/1000, lost)
	}
}

func TestFQServesAFlowOutOfTurnOnlyOnce(t *testing.T) {
	q := NewFQCoDel(1, FQCoDelOptions{}, noDrop(t))
	for i := range 4000 {
		q.Push(&Packet{Flow: uint32(i % 4), Length: 1500}, 0)
	}
	// The fifth flow sends its next packet as soon as one of another flow has left, as if it were
	// new each time.
	var packets [5]int
	waits := false
	for range 1000 {
		p := q.Pop(0, 0)
		packets[p.Flow]++
		if p.Flow == 4 {
			waits = false
		} else if !waits {
			q.Push(&Packet{Flow: 4, Length: 1500}, 0)
			waits = true
		}
	}
	for f, n := range packets {
		if !near(float64(n), 200, 0.02) {
			t.Errorf("%d packets of flow %d left, want 200", n, f)
		}
	}
}

func TestFQGivesFlowsEqualBytes(t *testing.T) {
	q := NewFQCoDel(1, FQCoDelOptions{Limit: Limit{Packets: 1000}}, func(*Packet, Place, int64) {})
	lengths := []int{1500, 300, 60}
	var bytes [3]int
	for range 50000 {
		for f, l := range lengths {
			q.Push(&Packet{Flow: uint32(f), Length: l}, 0)
		}
		for n := 0; n < 60; {
			p := q.Pop(0, 0)
			bytes[p.Flow] += p.Length
			n += p.Length
		}
	}
	for f, b := range bytes {
		if !near(float64(b), float64(bytes[0]), 0.02) {
			t.Errorf("flow %d with packets of %d bytes had %d bytes, the first %d", f, lengths[f], b, bytes[0])
		}
	}
}

func TestTheFattestFlowLosesItsOldestPacketsAtTheLimit(t *testing.T) {
	var dropped []*Packet
	q := NewFQCoDel(2, FQCoDelOptions{Limit: Limit{Packets: 100}, DropBatch: 16}, func(p *Packet, _ Place, _ int64) {
		dropped = append(dropped, p)
	})
	var fat []*Packet
	for range 40 {
		// More packets, but fewer bytes.
		q.Push(&Packet{Station: 0, Flow: 1, Length: 60}, 0)
		q.Push(&Packet{Station: 0, Flow: 2, Length: 60}, 0)
	}
	for range 20 {
		p := &Packet{Station: 1, Flow: 3, Length: 1500}
		fat = append(fat, p)
		q.Push(p, 0)
	}
	if len(dropped) != 0 {
		t.Fatalf("%d packets were dropped at the limit", len(dropped))
	}
	q.Push(&Packet{Station: 0, Flow: 1, Length: 60}, 0)
	// Half of its bytes are less than the batch.
	if len(dropped) != 10 {
		t.Fatalf("%d packets were dropped, want 10", len(dropped))
	}
	if got := q.flows[q.flowOf(fat[0])].codel.count; got != 10 {
		t.Errorf("CoDel counts %d drops, want 10", got)
	}
	for i := range dropped {
		if dropped[i] != fat[i] {
			t.Errorf("drop %d is not packet %d of the fattest flow", i, i)
		}
	}
}

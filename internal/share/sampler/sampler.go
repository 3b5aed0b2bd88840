// Package sampler summarises the kernel's samples of a terminal's own flows for each step: rates,
// round-trip times, errors, and whether a flow is greedy.
package sampler

import (
	"maps"
	"math"
	"slices"
	"sync"
	"time"

	"airtide/internal/share/flow"
	"airtide/internal/stats"
	"airtide/internal/tcp"
)

// Sampler is a sink for samples. It is safe for concurrent use.
type Sampler struct {
	mu    sync.Mutex
	flows map[tcp.FlowID]*flowState
	last  int64 // ns
}

// flowState is the state of a flow since the last Drain.
type flowState struct {
	info            tcp.Flow
	closed          bool
	samples, greedy int
	acked, received counter
	retransmits     counter
	outOfOrder      counter
	errors          [tcp.NumErrorCodes]int64
	minRTT, mss     int64 // µs, bytes
	receiverRTT     int64 // µs
	queued          int64
	rtts            []float64 // µs
}

// counter is a counter whose values may be absent.
type counter struct{ stats.Counter }

func (c *counter) see(v int64) {
	if v != tcp.Absent {
		c.Add(v)
	}
}

// New returns an empty Sampler that counts from nowNs on (CLOCK_MONOTONIC).
func New(nowNs int64) *Sampler { return &Sampler{flows: map[tcp.FlowID]*flowState{}, last: nowNs} }

// Flow adds a flow.
func (f *Sampler) Flow(info *tcp.Flow) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	if known := f.flows[info.ID]; known != nil {
		known.info = *info
	} else {
		f.flows[info.ID] = &flowState{info: *info}
	}
	return nil
}

// Samples adds samples.
func (f *Sampler) Samples(b *tcp.Batch) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	for i := range b.Len() {
		if known := f.flows[b.Flow[i]]; known != nil {
			known.see(func(field tcp.Field) int64 { return b.At(field, i) })
		}
	}
	return nil
}

func (f *flowState) see(at func(tcp.Field) int64) {
	f.samples++
	f.acked.see(at(tcp.AckedBytes))
	f.received.see(at(tcp.ReceivedBytes))
	f.retransmits.see(at(tcp.RetransmitsPackets))
	f.outOfOrder.see(at(tcp.OutOfOrderPackets))
	if v := at(tcp.MinRttUs); v != tcp.Absent {
		f.minRTT = v
	}
	if v := at(tcp.ReceiverRttUs); v != tcp.Absent {
		f.receiverRTT = v
	}
	if v := at(tcp.MSSBytes); v != tcp.Absent {
		f.mss = v
	}
	if v := at(tcp.SendQueuedBytes); v != tcp.Absent {
		f.queued = v
	}
	if f.isGreedy(at) {
		f.greedy++
	}
	rtt := at(tcp.RttUs)
	if rtt == tcp.Absent || rtt == 0 {
		rtt = at(tcp.SrttUs)
	}
	if rtt != tcp.Absent && rtt > 0 && at(tcp.InFlightPackets) > 0 {
		f.rtts = append(f.rtts, float64(rtt))
	}
}

// isGreedy reports whether the window is in use and more data waits. If the source does not know
// the waiting data (inet_diag of old kernels), the kernel's mark of application-limited delivery
// decides.
func (f *flowState) isGreedy(at func(tcp.Field) int64) bool {
	unsent := at(tcp.UnsentBytes)
	inFlight := at(tcp.InFlightPackets)
	cwnd := at(tcp.CwndPackets)
	if unsent == tcp.Absent || inFlight == tcp.Absent || cwnd == tcp.Absent {
		return at(tcp.AppLimited) == 0
	}
	// Between two acknowledgements, up to two segments may be missing.
	return unsent > 0 && inFlight+inFlight/8+2 >= cwnd
}

// Event counts errors and notes ends.
func (f *Sampler) Event(e *tcp.Event) error {
	f.mu.Lock()
	defer f.mu.Unlock()
	known := f.flows[e.Flow]
	if known == nil {
		return nil
	}
	if int(e.Code) < len(known.errors) {
		known.errors[e.Code]++
	}
	if e.Kind == tcp.EventClose {
		known.closed = true
	}
	return nil
}

// Lost does nothing, because the next sample contains the counts of a lost one.
func (f *Sampler) Lost(*tcp.Loss) error { return nil }

// Radio does nothing.
func (f *Sampler) Radio(*tcp.Radio) error { return nil }

// Drain returns the activity since the last call. nowNs is CLOCK_MONOTONIC.
func (f *Sampler) Drain(nowNs int64) (samples []flow.Sample, s flow.HostSample) {
	f.mu.Lock()
	defer f.mu.Unlock()
	seconds := math.Max(float64(nowNs-f.last)/1e9, 1e-6)
	f.last = nowNs
	var rtts []float64
	for _, id := range slices.Sorted(maps.Keys(f.flows)) {
		known := f.flows[id]
		one := known.take(seconds)
		add(&s, known, &one)
		rtts = append(rtts, known.rtts...)
		known.rtts = known.rtts[:0]
		known.errors = [tcp.NumErrorCodes]int64{}
		known.samples = 0
		known.greedy = 0
		if known.closed {
			delete(f.flows, id)
			continue
		}
		samples = append(samples, one)
	}
	s.MeanRTT, s.RTT95 = meanAnd95(rtts)
	return samples, s
}

func (f *flowState) take(seconds float64) flow.Sample {
	one := flow.Sample{
		ID: f.info.ID, Local: f.info.Local, Remote: f.info.Remote,
		SendRate: float64(f.acked.Take()) * 8 / seconds, ReceiveRate: float64(f.received.Take()) * 8 / seconds,
		Greedy: f.samples > 0 && 4*f.greedy >= f.samples, MinRTT: time.Duration(f.minRTT) * time.Microsecond,
		MSS: int(f.mss), SendLost: f.retransmits.Take(), ReceiveLost: f.outOfOrder.Take(),
	}
	if f.samples > 0 {
		one.ReceiverRTT = time.Duration(f.receiverRTT) * time.Microsecond
	}
	if len(f.rtts) > 0 {
		one.MeanRTT, _ = meanAnd95(slices.Clone(f.rtts))
		one.LeastRTT = time.Duration(slices.Min(f.rtts) * float64(time.Microsecond))
	}
	return one
}

// add adds a flow to the sums.
func add(s *flow.HostSample, f *flowState, one *flow.Sample) {
	s.SendRate += one.SendRate
	s.ReceiveRate += one.ReceiveRate
	s.Retransmits += one.SendLost
	for code, n := range f.errors {
		s.Errors[code] += n
	}
	if !f.closed {
		s.QueuedBytes += f.queued
	}
}

func meanAnd95(rtts []float64) (mean, p95 time.Duration) {
	if len(rtts) == 0 {
		return 0, 0
	}
	slices.Sort(rtts)
	total := 0.0
	for _, v := range rtts {
		total += v
	}
	at := func(us float64) time.Duration { return time.Duration(us * float64(time.Microsecond)) }
	return at(total / float64(len(rtts))), at(rtts[stats.Rank(0.95, uint64(len(rtts)))-1])
}

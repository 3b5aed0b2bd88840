package simulate

import (
	"math"
	"time"
)

// Queues is an air by a model of its queues: stations come to the medium in turn, and each access
// costs an overhead and as many frames as wait; behind it is a wire. There are no collisions. What
// it delivers approaches, with a time constant of the round-trip time, what windows W give in the
// long run. With a cycle of T in which all had their turn, a station whose packets are away from it
// for R (the path, and the wire's queue) sends in each turn
//
//	a = min(W / (1 + R/T), aggregate)
//
// frames, or one in each 1/a-th turn where that is less than one, and T is the sum of what the
// turns cost.
type Queues struct {
	// Wire is the capacity of the wire in bit/s of payload; 0 is without limit.
	Wire     float64
	stations []station
	now      time.Duration
	solveAt  time.Duration
}

// Station is a terminal at the model's medium.
type Station struct {
	// PHY is its rate in bit/s, Aggregate the most frames in an access, Base its RTT without
	// queues.
	PHY       float64
	Aggregate int
	Base      time.Duration
	// Demand in bit/s of payload; 0 is unlimited.
	Demand float64
}

type station struct {
	Station
	window       int
	rate, target float64 // bit/s
	rtt          time.Duration
	bits         float64 // payload since Drain
	limited      bool    // by the window
}

const (
	// accessOverhead is the time of an access besides its frames: contention, preambles, the
	// acknowledgement, and its part of the access point's accesses.
	accessOverhead = 300 * time.Microsecond
	// quietAccess is the time that the first packet of a transfer waits for both accesses.
	quietAccess = time.Millisecond
	// solveEvery is the interval at which the model is solved anew.
	solveEvery = 50 * time.Millisecond
)

// Alone is the rate of a station alone, in bit/s of payload.
func (s Station) Alone() float64 {
	bits := float64(s.Aggregate * packetBits)
	return bits / (accessOverhead.Seconds() + bits/s.PHY) * payloadBits / packetBits
}

// NewQueues makes one at time zero.
func NewQueues(wire float64, stations []Station) *Queues {
	q := &Queues{Wire: wire}
	for _, s := range stations {
		q.stations = append(q.stations, station{Station: s, rtt: s.Base})
	}
	return q
}

// SetWindow sets the window of a terminal's flow; flows are numbered as terminals.
func (q *Queues) SetWindow(flow int, w Window) { q.stations[flow].window = w.Packets }

// Drain returns the progress of a flow since the last call.
func (q *Queues) Drain(flow int) Progress {
	s := &q.stations[flow]
	p := Progress{
		Bits: s.bits, LeastRTT: min(s.Base+quietAccess, s.rtt), MeanRTT: s.rtt,
		Limited: s.limited && s.window > 0,
	}
	s.bits = 0
	if p.Bits == 0 {
		return Progress{}
	}
	return p
}

// SendReport is heard at once.
func (q *Queues) SendReport(_, _ int, heard func(time.Duration)) { heard(q.now) }

// Advance lets time pass.
func (q *Queues) Advance(now time.Duration) {
	for q.now < now {
		if q.now >= q.solveAt {
			q.solve()
			q.solveAt = q.now + solveEvery
		}
		step := min(now, q.solveAt) - q.now
		for i := range q.stations {
			s := &q.stations[i]
			toward := 1 - math.Exp(-step.Seconds()/s.rtt.Seconds())
			mean := s.rate + (s.target-s.rate)*toward/2
			s.rate += (s.target - s.rate) * toward
			s.bits += mean * step.Seconds()
		}
		q.now += step
	}
}

// solve finds the rates of the windows.
func (q *Queues) solve() {
	q.cycle(0)
	if q.Wire > 0 && q.total() > q.Wire {
		low := 0.0
		high := 60.0
		for range 40 {
			mid := (low + high) / 2
			q.cycle(mid)
			if q.total() > q.Wire {
				low = mid
			} else {
				high = mid
			}
		}
	}
}

func (q *Queues) total() (sum float64) {
	for i := range q.stations {
		sum += q.stations[i].target
	}
	return sum
}

// cycle sets the targets for a delay of the wire, in seconds. The turns' cost grows less than the
// cycle, so that there is one cycle in which they fit exactly.
func (q *Queues) cycle(wire float64) {
	low := 0.0
	high := 0.0
	for i := range q.stations {
		s := &q.stations[i]
		high += accessOverhead.Seconds() + float64(s.Aggregate*packetBits)/s.PHY
	}
	for range 40 {
		if mid := (low + high) / 2; q.turns(mid, wire) > mid {
			low = mid
		} else {
			high = mid
		}
	}
	q.turns(high, wire)
}

// turns is the time of the turns of a cycle, in seconds.
func (q *Queues) turns(cycle, wire float64) (cost float64) {
	for i := range q.stations {
		s := &q.stations[i]
		away := s.Base.Seconds() + wire
		frames := min(float64(s.window)/(1+away/cycle), float64(s.Aggregate))
		s.limited = true
		if s.Demand > 0 && s.Demand*cycle/payloadBits < frames {
			frames = s.Demand * cycle / payloadBits
			s.limited = false
		}
		cost += min(frames, 1)*accessOverhead.Seconds() + frames*packetBits/s.PHY
		s.target = frames * payloadBits / cycle
		s.rtt = time.Duration((away + cycle) * float64(time.Second))
		if s.target > 0 && s.limited {
			s.rtt = time.Duration(float64(s.window) * payloadBits / s.target * float64(time.Second))
		}
	}
	return cost
}

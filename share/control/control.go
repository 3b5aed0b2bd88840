package control

import (
	"fmt"
	"math"
	"time"

	"airtide/share/allocate"
)

// Terminal is what is known of one terminal of the cell, by its own report.
type Terminal struct {
	// Max is the rate that it reaches alone, in bit/s, and Rate what it delivers now.
	Max, Rate float64
	// Demand is the rate beyond which it has nothing to send, in bit/s, or allocate.Unlimited.
	Demand float64
	// Weight is what its utility counts for; 0 stands for 1.
	Weight float64
	// MinRTT is the smallest round-trip time of its flows, and RTT their mean now; 0 when it has none.
	MinRTT, RTT time.Duration
}

// Options are how to decide; the zero value is proportional fairness.
type Options struct {
	// Alpha says what is fair (package share/allocate); nil stands for allocate.Proportional.
	Alpha *float64
	// MinQueue and MaxQueue are the bounds of the queue target; 0 stands for DefaultMinQueue and DefaultMaxQueue.
	MinQueue, MaxQueue time.Duration
}

// Limits of the queue target, and what it is made of.
const (
	DefaultMinQueue = 8 * time.Millisecond
	DefaultMaxQueue = 150 * time.Millisecond
	// AggregatePackets of 1500 bytes are what the greatest share sends in the time of the queue target: an A-MPDU of 64 and
	// what is acknowledged while it waits. With 80 a cell of eight stations at 433 Mbit/s loses 3 %.
	AggregatePackets = 128

	packetBits = 8 * 1500
)

// Decision is what a terminal is to do.
type Decision struct {
	// Share is its rate in the allocation, in bit/s, and Total the sum of all shares.
	Share, Total float64
	// Capacity is what the wire is taken to carry, in bit/s, or allocate.Unlimited.
	Capacity float64
	// Airtime is the part of the time for which the delivered rates need the medium, by what each terminal reaches alone.
	Airtime float64
	// Binds is what limits the shares.
	Binds allocate.Limit
	// QueueTarget is the time for which packets may wait.
	QueueTarget time.Duration
	// Correction is what windows are multiplied by, so that the rate follows the share.
	Correction float64
}

// Window is the window in bytes of a flow that has a part of the terminal's share (1 for the only one).
func (d Decision) Window(part float64, minRTT time.Duration) float64 {
	return d.Correction * d.Share * part * (minRTT + d.QueueTarget).Seconds() / 8
}

// Controller is one terminal's. It is not for several goroutines at once.
type Controller struct {
	options    Options
	alpha      float64
	solver     allocate.Solver
	problem    []allocate.Terminal
	wire       wire
	correction float64
	queue      time.Duration
	last       time.Duration
}

// New makes a controller.
func New(o Options) *Controller {
	c := &Controller{options: o, alpha: allocate.Proportional, correction: 1}
	if o.Alpha != nil {
		c.alpha = *o.Alpha
	}
	if o.MinQueue == 0 {
		c.options.MinQueue = DefaultMinQueue
	}
	if o.MaxQueue == 0 {
		c.options.MaxQueue = max(DefaultMaxQueue, c.options.MinQueue)
	}
	c.queue = c.options.MinQueue
	return c
}

// Step decides anew. now is a monotonic time, own the terminal's place among all that are known, itself included. It is to
// be called every 50 to 500 ms.
func (c *Controller) Step(now time.Duration, own int, all []Terminal) (Decision, error) {
	c.problem = c.problem[:0]
	for i, t := range all {
		c.problem = append(c.problem, allocate.Terminal{Name: fmt.Sprint(i + 1), Max: t.Max, Weight: t.Weight, Demand: t.Demand})
	}
	state := stateOf(all)
	limits := allocate.Limits{Airtime: efficiency(state.active), Wire: c.wire.observe(now, state, c.queue)}
	r, err := c.solver.Solve(c.alpha, limits, c.problem)
	if err != nil {
		return Decision{}, fmt.Errorf("sharing the cell: %w", err)
	}
	c.queue = c.queueTarget(r.Shares)
	c.correct(now-c.last, all, r.Shares, own, state)
	c.last = now
	return Decision{
		Share: r.Shares[own], Total: r.Total, Capacity: limits.Wire, Airtime: state.airtime, Binds: r.Binds,
		QueueTarget: c.queue, Correction: c.correction,
	}, nil
}

// queueTarget is the time in which the greatest share sends AggregatePackets.
func (c *Controller) queueTarget(shares []float64) time.Duration {
	greatest := 0.0
	for _, x := range shares {
		greatest = max(greatest, x)
	}
	if greatest == 0 {
		return c.options.MaxQueue
	}
	queue := time.Duration(min(AggregatePackets*packetBits/greatest, 1) * float64(time.Second))
	return min(max(queue, c.options.MinQueue), c.options.MaxQueue)
}

// How fast and how far windows are corrected.
const (
	correctionTime = 1.0 // seconds in which a factor that is missing is made good, to 63 %
	maxCorrection  = 8.0 // a path whose RTT has grown for good by far more than the queue target
)

// correct moves the correction towards where this terminal gets the same part of its share as all together. A terminal whose
// demand is met, and a cell without queues, teach nothing.
func (c *Controller) correct(since time.Duration, all []Terminal, shares []float64, own int, s state) {
	var delivered, shared float64
	for i, t := range all {
		if shares[i] < t.Demand && t.Rate > 0 {
			delivered, shared = delivered+t.Rate, shared+shares[i]
		}
	}
	if t := all[own]; shares[own] < t.Demand && t.Rate > 0 && s.delay >= c.queue/2 {
		lag := delivered / shared * shares[own] / t.Rate
		step := math.Pow(lag, min(since.Seconds(), 0.5)/correctionTime)
		c.correction *= min(max(step, 0.9), 1.1)
		c.correction = min(max(c.correction, 1/maxCorrection), maxCorrection)
	}
}

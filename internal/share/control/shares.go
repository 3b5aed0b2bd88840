package control

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"time"

	"airtide/internal/share/allocate"
)

// Terminal is the state of one terminal of the cell, by its own report.
type Terminal struct {
	// Source identifies a peer. It may be invalid for this terminal itself.
	Source netip.AddrPort
	// Max is the standalone rate, and Rate the present delivery rate, in bit/s.
	Max, Rate float64
	// Demand is the rate in bit/s beyond which the terminal has nothing to carry, or
	// allocate.Unlimited.
	Demand float64
	// Weight is the terminal's weight in the allocation; 0 means 1.
	Weight float64
	// Single means that the radio sends each packet by itself.
	Single bool
	// MinRTT is the smallest RTT of its flows, and RTT their present mean; 0 without flows.
	MinRTT, RTT time.Duration
}

// carries reports whether the terminal carries something.
func (t *Terminal) carries() bool { return t.Rate > 0 && t.Demand != 0 }

// delay returns the mean RTT above the base RTT.
func (t *Terminal) delay() time.Duration { return max(t.RTT-t.MinRTT, 0) }

// Options configure the allocation. The zero value aims at DefaultIndex.
type Options struct {
	// Alpha is the fairness parameter (package internal/share/allocate); nil means that Index
	// decides.
	Alpha *float64 `json:"alpha,omitempty"`
	// Index is the least improved index of rates as parts of standalone rates, where airtime alone
	// limits: the shares have the greatest total with it. 0 means DefaultIndex, and 1 proportional
	// fairness.
	Index float64 `json:"index,omitempty"`
	// MinQueue and MaxQueue limit the queue target; 0 means DefaultMinQueue and DefaultMaxQueue.
	MinQueue time.Duration `json:"min_queue,omitempty"`
	MaxQueue time.Duration `json:"max_queue,omitempty"`
	// Disable switches rules off.
	Disable []Rule `json:"disable,omitempty"`
}

// Limits and parts of the queue target.
const (
	DefaultMinQueue = 8 * time.Millisecond
	DefaultMaxQueue = 150 * time.Millisecond
	// AggregatePackets is an A-MPDU in packets of 1500 bytes (see queuedPackets).
	AggregatePackets = 64
	// unlikeGap is the least difference between the mean and the greatest share, as a part of the
	// greatest, at which shares count as fully unlike.
	unlikeGap = 0.3
	// likeRatio is the least ratio of the mean to the greatest share at which shares count as
	// alike.
	likeRatio = 0.9
	// SinglePackets is the queue in packets if no radio aggregates: one in transmission, and one or
	// two that arrive meanwhile. More would wait as ACKs in the access point, which has as many
	// accesses as each terminal. Its queue must not overflow, because it also carries reports.
	SinglePackets = 3
	// receivedQueue is the part of the queue target that holds for received packets if radios
	// aggregate. In 24 random cells of downloads half of it carries 0.995 of the total of all of
	// it, and seven instead of three of nine RTTs are halved.
	receivedQueue = 0.5
	// minQueueDivisor: without aggregation the queue target is at least the base RTT divided by it,
	// because windows on a long path are never quite used.
	minQueueDivisor = 8

	// LeastWindow is the smallest window of a flow that is not greedy, in packets: a transfer that
	// begins is not to wait for delayed ACKs.
	LeastWindow = 2
	// LeastGreedyWindow is that of a greedy flow, unless the terminal is behind its share. With one
	// packet it waits for the delayed ACK each time. Two give several flows of a slow radio more
	// airtime than its share: each of its packets lasts as long as a fast radio's A-MPDU.
	LeastGreedyWindow = 1
	// satisfiedPart is the part of its share from which on a terminal is not behind it.
	satisfiedPart = 0.8

	// packetBits is TCP's payload in a packet of 1500 bytes. All rates are rates of payload.
	packetBits = 8 * 1448
)

// Decision is the result of a step.
type Decision struct {
	// Share is the terminal's rate in the allocation, and Total the sum of all shares, in bit/s.
	Share, Total float64
	// Capacity is the capacity of the wire in bit/s, or allocate.Unlimited.
	Capacity float64
	// Airtime is the sum of all delivery rates, each divided by its standalone rate.
	Airtime float64
	// Binds names the limit of the shares.
	Binds allocate.Limit
	// QueueTarget is the time that packets may wait.
	QueueTarget time.Duration
	// ReceivedTarget is the same for packets to this terminal.
	ReceivedTarget time.Duration
	// Correction is the factor of the windows that brings the rate to the share.
	Correction float64
	// PathSuspected means that the base RTTs may be outdated: RTTs are longer than windows explain,
	// or queues stand though little airtime is used. An RTT probe will tell.
	PathSuspected bool
	// Whole means that windows are to be rounded to whole A-MPDUs (WholeAggregates). Radios
	// aggregate and shares are alike; with unlike shares rounding would cost more exactness than it
	// gains.
	Whole bool
}

// Window returns the window in bytes of a flow with a part of the terminal's share (1: all of it).
func (d Decision) Window(part float64, minRTT time.Duration) float64 {
	return d.Correction * d.Share * part * (minRTT + d.QueueTarget).Seconds() / 8
}

// ShareController computes the shares and one terminal's correction. It is not for several
// goroutines at once.
type ShareController struct {
	options     Options
	alpha       float64 // fairness parameter of the last step
	solver      allocate.Solver
	problem     []allocate.Terminal
	wire        wire
	demandCaps  demandCap
	correction  float64
	queue       time.Duration
	crowdFactor float64 // 1 + the greatest part of the airtime
	whole       bool    // shares are alike, and radios aggregate
	last        time.Duration
	share       float64       // the last share that differed much from the one before
	changed     time.Duration // time at which share changed
	small       bool          // the window is below an A-MPDU, and others have far more
	suspectFor  time.Duration // time for which the path has been suspected
	foreign     bool          // foreign queues stand
	busy        float64       // busy part of the time; 0: it is not known
	air         foreignAir
	lost        bool // this terminal's packets were lost in the last step
	losses      losses
}

// LongestStep is the greatest time between two steps that counts.
const LongestStep = 500 * time.Millisecond

const (
	// longDelay is the delay in queue targets from which on it is no burst of contention. Then the
	// path may be longer, and a longer window of this terminal carries no more.
	longDelay = 3
	// A path is suspected after suspectTime with a long delay. An RTT probe after each shorter one
	// would cost throughput.
	suspectTime = 400 * time.Millisecond
)

// LongerPath resets the correction and forgets the wire: the longer path looked like its queue. A
// small window keeps a correction below 1. Peers that found the same at the same time say so only
// in their next reports.
func (c *ShareController) LongerPath() {
	if !c.small || c.correction > 1 {
		c.correction = 1
	}
	c.wire.forget()
	c.suspectFor = 0
}

// NewSender notes that a terminal joined that already sends. The wire's capacity was found without
// it, so it is forgotten.
func (c *ShareController) NewSender() { c.wire.forget() }

// SetForeign records whether foreign queues stand. If they do, unused airtime does not mean that
// the wire limits.
func (c *ShareController) SetForeign(stand bool) { c.foreign = stand }

// SetLost records whether packets of this terminal were lost since the last step.
func (c *ShareController) SetLost(lost bool) { c.lost = lost }

// SetBusy sets the part of the time in which the channel is busy; 0: it is not known.
func (c *ShareController) SetBusy(part float64) { c.busy = part }

// NewShareController returns a controller without history.
func NewShareController(o Options) *ShareController {
	c := &ShareController{options: o, alpha: allocate.Proportional, correction: 1}
	if o.Alpha != nil {
		c.alpha = *o.Alpha
	} else if o.Index == 0 {
		c.options.Index = DefaultIndex
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

// Step computes the next decision. now is a monotonic time, and all[own] is this terminal. Call it
// every 50 to 500 ms.
func (c *ShareController) Step(now time.Duration, own int, all []Terminal) (Decision, error) {
	elapsed := min(now-c.last, LongestStep)
	c.problem = c.problem[:0]
	for i := range all {
		t := &all[i]
		p := allocate.Terminal{Max: t.Max, Weight: t.Weight, Demand: t.Demand}
		if i != own {
			p.Demand = c.demandCaps.demand(t, elapsed)
		}
		c.problem = append(c.problem, p)
	}
	limitWeights(c.problem)
	state := cellStateOf(own, all)
	state.busy = c.busy
	c.air.update(elapsed, c.busy, c.foreign, &state)
	c.losses.update(elapsed, c.lost && !c.air.stretches() && !c.options.off(Losses))
	foreign := c.foreign || c.air.stretches()
	limits := allocate.Limits{
		Airtime: state.efficiency(), Wire: c.wire.update(now, state, state.contentionFloor(c.queue)/2, foreign),
	}
	if c.options.Alpha == nil {
		c.alpha = alphaOfIndex(c.options.Index, c.problem)
		for i := range c.problem { // airtime is in proportion to weights with any parameter
			c.problem[i].Weight = math.Pow(c.problem[i].Weight, c.alpha)
		}
	}
	r, err := c.solver.Solve(c.alpha, limits, c.problem)
	if err != nil {
		return Decision{}, fmt.Errorf("sharing the cell: %w", err)
	}
	c.demandCaps.record(all, own, r.Shares)
	short := state.delay <= longDelay*state.contentionFloor(c.queue)
	if state.active == 0 || c.air.stretches() && c.air.known || !c.wire.suspected && short {
		c.suspectFor = 0
	} else {
		c.suspectFor += min(now-c.last, suspectTime/2)
	}
	c.queue = c.queueTarget(r.Shares, state)
	c.correct(now, elapsed, all, r.Shares, own, state)
	c.last = now
	target := c.air.factor() * float64(c.queue)
	received := target
	if !state.single {
		received = receivedQueue * target
	}
	return Decision{
		Share: r.Shares[own], Total: r.Total, Capacity: limits.Wire, Airtime: state.airtime, Binds: r.Binds,
		QueueTarget: time.Duration(target), ReceivedTarget: time.Duration(received),
		Correction: c.correction, Whole: c.whole, PathSuspected: c.suspectFor >= suspectTime,
	}, nil
}

// queuedPackets returns how many packets the terminal with the greatest share may have waiting.
// part is the greatest part of the airtime, and mean is the mean share over the greatest share.
// docs/design/sharing.md explains the formula; the experiment share-windows confirms it.
func queuedPackets(part, mean float64) float64 {
	like := max(1, min(8*part, 1+4*part))
	unlike := 2 * (1 + part)
	return AggregatePackets * (like + max(unlike-like, 0)*min((1-mean)/unlikeGap, 1))
}

// WholeAggregates rounds a window in packets to whole A-MPDUs of AggregatePackets, from three
// quarters of one on. A station with a little more than an A-MPDU sends the rest in a second
// access, at nearly the same cost.
func WholeAggregates(packets float64) float64 {
	if packets < AggregatePackets*3/4 {
		return packets
	}
	return math.Round(packets/AggregatePackets) * AggregatePackets
}

// queueTarget returns the time in which the greatest share sends queuedPackets, or SinglePackets.
// Losses shorten it.
func (c *ShareController) queueTarget(shares []float64, s cellState) time.Duration {
	greatest := 0.0
	airtime := 0.0
	longest := 0.0
	for i, x := range shares {
		greatest = max(greatest, x)
		airtime += x / c.problem[i].Max
		longest = max(longest, x/c.problem[i].Max)
	}
	if greatest == 0 {
		return c.options.MaxQueue
	}
	part := longest / airtime
	c.crowdFactor = 1 + part
	mean := c.meanShare(shares, longest/2) / greatest
	packets := queuedPackets(part, mean)
	if c.options.off(UnlikeQueue) {
		packets = queuedPackets(part, 1)
	}
	c.whole = mean >= likeRatio && !s.single && !c.options.off(WholeAMPDUs)
	if s.single {
		packets = SinglePackets
	}
	queue := time.Duration(min(packets*packetBits/greatest, 1) * float64(time.Second))
	if s.single {
		queue = max(queue, s.base/minQueueDivisor)
	}
	queue = time.Duration(c.losses.factor() * float64(min(queue, c.options.MaxQueue)))
	return max(queue, c.options.MinQueue)
}

// meanShare returns the mean share of the terminals that use at least so much airtime.
func (c *ShareController) meanShare(shares []float64, airtime float64) float64 {
	sum := 0.0
	n := 0
	for i, x := range shares {
		if x/c.problem[i].Max >= airtime {
			sum += x
			n++
		}
	}
	return sum / float64(n)
}

// How fast and how far windows are corrected.
const (
	// correctionTime is the time constant of the correction in seconds. Rates are smoothed over 0.3
	// s and reported within 0.4 s; a faster loop would swing.
	correctionTime = 1.0
	// pullTime is that of the pull towards 1. It is slower, so that the pull does not undo what a
	// terminal needs.
	pullTime      = 3.0
	maxCorrection = 8.0 // limit that stops the feedback from running away
	// minCorrection is the least correction while this terminal's own packets wait longer than the
	// queue target. If they do not, only reports say that its windows are too long, and they shrink
	// to minCorrectionUnqueued at most. This costs a little index beside terminals without an
	// agent, and keeps a terminal above its floor beside a member that lies.
	minCorrection         = 1 / maxCorrection
	minCorrectionUnqueued = 1 / 2.0
	// Rates are smoothed. After a change of the share by shareChange they say nothing about the new
	// share for rateDelay.
	shareChange = 0.1
	rateDelay   = 700 * time.Millisecond
)

const (
	// A window is small if it is below one A-MPDU, and its share is below smallShare of the
	// greatest. It is sent in one access, so it needs only 0.7 to 1.0 of the window formula (0.7 to
	// 0.8 beside two fast terminals and another slow one). Its correction starts a little lower, to
	// avoid overshoot.
	smallShare           = 0.5
	smallStartCorrection = 0.8
	// smallHysteresis is the factor by which a small terminal must exceed the limits until it no
	// longer counts as small.
	smallHysteresis = 1.5
)

func (c *ShareController) isSmall(shares []float64, own int, minRTT time.Duration) bool {
	limit := 1.0
	if c.small {
		limit = smallHysteresis
	}
	window := shares[own] * (minRTT + c.queue).Seconds()
	if c.options.off(SmallStart) {
		return false
	}
	return window < limit*AggregatePackets*packetBits && shares[own] < limit*smallShare*slices.Max(shares)
}

// smallStart returns the correction at which a small terminal starts. A path longer than the queue
// target has to be filled whole. The rest is reduced: how long the terminal waits for the medium
// does not depend on the others' queues.
func (c *ShareController) smallStart(minRTT time.Duration) float64 {
	long := max(minRTT-c.queue, 0).Seconds()
	whole := (minRTT + c.queue).Seconds()
	return (long + smallStartCorrection/c.crowdFactor*(whole-long)) / whole
}

// busyAirtime is the part of the usable airtime from which on the medium determines the rates, even
// if queues are short.
const busyAirtime = 0.85

// correct moves the correction until this terminal gets the same part of its share as all together.
// Nothing can be learned from a terminal whose demand is met, or from a cell with short queues and
// free airtime.
func (c *ShareController) correct(
	now, elapsed time.Duration, all []Terminal, shares []float64, own int, s cellState,
) {
	var delivered, shared float64
	for i, t := range all {
		if shares[i] < t.Demand && t.Rate > 0 {
			delivered += t.Rate
			shared += shares[i]
		}
	}
	if small := c.isSmall(shares, own, all[own].MinRTT); small != c.small || all[own].Rate <= 0 {
		c.small = small
		c.correction = 1
		if small {
			c.correction = c.smallStart(all[own].MinRTT)
		}
	}
	if c.share == 0 || math.Abs(shares[own]/c.share-1) > shareChange {
		c.share = shares[own]
		c.changed = now
	}
	if now-c.changed < rateDelay || c.options.off(WindowCorrection) {
		return
	}
	since := elapsed.Seconds()
	full := c.air.stretches() || s.delay >= c.queue/2 || s.airtime >= busyAirtime*s.efficiency()
	lag := 1.0
	if t := all[own]; shares[own] < t.Demand && t.Rate > 0 {
		lag = delivered / shared * shares[own] / t.Rate
	}
	stretch := c.air.factor()
	// The medium gives a terminal whose packets wait for long no more if still more of them wait.
	waits := c.correction >= 1 && float64(all[own].delay()) > longDelay*stretch*float64(c.queue)
	if full && (lag < 1 || !waits) {
		c.correction *= min(max(math.Pow(lag, since/correctionTime), 0.9), 1.1)
	}
	c.pullToOne(since, s, lag > 1)
	least := minCorrectionUnqueued
	if all[own].delay() > c.queue*5/4 {
		least = minCorrection
	}
	// A longer queue target leaves the limits of windows as they are.
	c.correction = min(max(c.correction, least/stretch), max(maxCorrection/stretch, 1))
}

// pullToOne moves the correction towards 1 if it is above and queues are longer than their target,
// or if it is below, queues are shorter, and the terminal lags behind its share. Without it all
// terminals could drift together. A terminal that is ahead of its share keeps a correction below 1.
func (c *ShareController) pullToOne(since float64, s cellState, lags bool) {
	long := s.delay > c.queue*5/4
	short := (s.delay < c.queue*3/4 || c.air.stretches()) && s.active > 0
	if long && c.correction > 1 || short && c.correction < 1 && lags {
		c.correction *= math.Pow(c.correction, -since/pullTime)
	}
}

package control

import (
	"fmt"
	"math"
	"net/netip"
	"slices"
	"time"

	"airtide/internal/share/allocate"
)

// Terminal is what is known of one terminal of the cell, by its own report.
type Terminal struct {
	// Source tells the others apart; the terminal itself may have none.
	Source netip.AddrPort
	// Max is the rate that it reaches alone, in bit/s, and Rate what it delivers now.
	Max, Rate float64
	// Demand is the rate beyond which it has nothing to send, in bit/s, or allocate.Unlimited.
	Demand float64
	// Weight is what its utility counts for; 0 stands for 1.
	Weight float64
	// Measured says that nobody has told it Max: it may be that of a PHY rate that is no more.
	Measured bool
	// Single says that its radio sends each packet by itself.
	Single bool
	// MinRTT is the smallest round-trip time of its flows, and RTT their mean now; 0 when it has
	// none.
	MinRTT, RTT time.Duration
	// Period is the time between its reports: what is known of it may be as old.
	Period time.Duration
}

// Options are how to decide; the zero value is proportional fairness.
type Options struct {
	// Alpha says what is fair (package internal/share/allocate); nil stands for
	// allocate.Proportional.
	Alpha *float64 `json:"alpha,omitempty"`
	// MinQueue and MaxQueue are the bounds of the queue target; 0 stands for DefaultMinQueue and
	// DefaultMaxQueue.
	MinQueue time.Duration `json:"min_queue,omitempty"`
	MaxQueue time.Duration `json:"max_queue,omitempty"`
	// Disable switches rules off.
	Disable []Rule `json:"disable,omitempty"`
}

// Limits of the queue target, and what it is made of.
const (
	DefaultMinQueue = 8 * time.Millisecond
	DefaultMaxQueue = 150 * time.Millisecond
	// AggregatePackets of 1500 bytes are an A-MPDU (see queuedPackets).
	AggregatePackets = 64
	// quiteUnlike is how much the mean share lacks of the greatest where others are slow.
	quiteUnlike = 0.3
	// alike is from which part of the greatest on the mean share is that of like terminals.
	alike = 0.9
	// SinglePackets are that where no radio has aggregates: one that is sent, and one or two that
	// come meanwhile. What is queued there waits as ACKs in the access point, which has as many
	// accesses as each terminal, and its queue must not overflow: reports go through it too.
	SinglePackets = 3
	// singlePart: on a long path the queue is that part of a round trip at least, since windows are
	// never quite used.
	singlePart = 8
	// burstPart of a round trip is what queues may be for a moment while windows grow, which on a
	// long path takes seconds.
	burstPart = 8

	// LeastWindow is the smallest window of a flow, in packets. One alone would wait for its
	// receiver's delayed ACK each time. The greater it is, the more airtime a slow radio has beyond
	// its share: each of its packets lasts as long as an A-MPDU of a fast one.
	LeastWindow = 2

	// packetBits is TCP's payload of a packet of 1500 bytes: rates are of payload.
	packetBits = 8 * 1448
)

// Decision is what a terminal is to do.
type Decision struct {
	// Share is its rate in the allocation, in bit/s, and Total the sum of all shares.
	Share, Total float64
	// Capacity is what the wire is taken to carry, in bit/s, or allocate.Unlimited.
	Capacity float64
	// Airtime is the part of the time for which the delivered rates need the medium, by what each
	// terminal reaches alone.
	Airtime float64
	// Binds is what limits the shares.
	Binds allocate.Limit
	// QueueTarget is the time for which packets may wait.
	QueueTarget time.Duration
	// Correction is what windows are multiplied by, so that the rate follows the share.
	Correction float64
	// Doubt says that the smallest round-trip times may be those of a path that is no more: longer
	// ones than windows should lead to, or queues with little use of the airtime. They show when
	// all hold back (Turns).
	Doubt bool
	// Whole says that windows are better brought to whole A-MPDUs (WholeAggregates): radios have
	// them, and shares are alike. Where they are not it would take from the exactness of shares
	// more than it gives.
	Whole bool
}

// Window is the window in bytes of a flow that has a part of the terminal's share (1 for the only
// one).
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
	room       room
	correction float64
	queue      time.Duration
	more       float64 // by what factor windows are more in a small cell
	whole      bool    // shares are alike, and radios have aggregates
	last       time.Duration
	share      float64       // from which it has not changed by much
	changed    time.Duration // when it had
	begun      time.Duration // when the terminal carried nothing for the last time
	small      bool          // the window is less than an A-MPDU, and others have more
	doubt      time.Duration // how long there has been doubt
	doubtOf    float64       // the sum of what all reach alone, when it began
	others     bool          // others than those that are known have queues stand
}

// LongestStep is what counts of the time between two steps at most.
const LongestStep = 500 * time.Millisecond

// doubtAfter is for how long there must be a reason to doubt, and longQueue how many queue targets
// are one.
const (
	doubtAfter = 400 * time.Millisecond
	longQueue  = 3
)

// Restart forgets how windows were corrected: the terminal's maximum, or its path, has changed.
// What a small terminal has less stays.
func (c *Controller) Restart() {
	if !c.small || c.correction > 1 {
		c.correction = 1
	}
}

// LongerPath restarts, and forgets what the wire was taken to carry: what looked like its queue was
// the way. Others who have found the same at the same time say so only in their next reports.
func (c *Controller) LongerPath() {
	c.Restart()
	c.wire.forget()
	c.doubt = 0
}

// NewSender says that a terminal is known from now on that has sent before: what was found of the wire
// took it for somebody else, or for the wire.
func (c *Controller) NewSender() { c.wire.forget() }

// Others says whether others than the terminals that are known have queues stand: then it is not
// the wire that limits where there is airtime left.
func (c *Controller) Others(stand bool) { c.others = stand }

// NewController makes a controller.
func NewController(o Options) *Controller {
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
	c.wire.noDelay, c.wire.noDecay = o.off(WireDelay), o.off(WireDecay)
	return c
}

// Step decides anew. now is a monotonic time, own the terminal's place among all that are known,
// itself included. It is to be called every 50 to 500 ms.
func (c *Controller) Step(now time.Duration, own int, all []Terminal) (Decision, error) {
	c.problem = c.problem[:0]
	for i := range all {
		t := &all[i]
		p := allocate.Terminal{Max: t.Max, Weight: t.Weight, Demand: t.Demand}
		if i != own {
			p.Demand = c.room.demand(t, min(now-c.last, LongestStep))
		}
		c.problem = append(c.problem, p)
	}
	state := stateOf(all)
	if c.options.off(WireDelay) {
		state.measuring = 0
	}
	begins := now-c.begun < max(startTakes, startRounds*state.base)+min(state.late, latest) && !c.options.off(StartGate)
	limits := allocate.Limits{Airtime: state.efficiency(), Wire: c.wire.observe(now, state, c.noticeable(state, begins), c.others)}
	r, err := c.solver.Solve(c.alpha, limits, c.problem)
	if err != nil {
		return Decision{}, fmt.Errorf("sharing the cell: %w", err)
	}
	c.room.given(all, own, r.Shares)
	if begins || state.active == 0 || !c.wire.seems && state.delay <= longQueue*state.longer(c.queue) {
		c.doubt = 0
	} else {
		if c.doubt == 0 || state.measuring > 0 && otherMaxima(state.maxima, c.doubtOf) {
			c.doubt, c.doubtOf = 0, state.maxima
		}
		c.doubt += min(now-c.last, doubtAfter/2)
	}
	c.queue = c.queueTarget(r.Shares, state)
	c.correct(now, all, r.Shares, own, state, begins)
	c.last = now
	return Decision{
		Share: r.Shares[own], Total: r.Total, Capacity: limits.Wire, Airtime: state.airtime, Binds: r.Binds,
		QueueTarget: c.queue, Correction: c.correction, Doubt: c.doubt >= max(doubtAfter, state.measuring), Whole: c.whole,
	}, nil
}

// noticeable is the delay from which on queues are no accident: half of their target, and an eighth
// of a long path's round trip, for windows grow in bursts there. While the terminal begins, they
// are those of its beginning.
func (c *Controller) noticeable(s state, begins bool) time.Duration {
	if begins {
		return math.MaxInt64
	}
	if c.options.off(QueueFloor) {
		return s.longer(c.queue) / 2
	}
	return max(s.longer(c.queue)/2, s.base/burstPart)
}

// queuedPackets is what the greatest share sends in the time of the queue target, by the greatest
// part of the airtime that one terminal has, and by the mean of the shares as a part of the
// greatest. In a cell of eight like terminals and more it is an A-MPDU: with that each station goes
// in full A-MPDUs and waits for its ACKs with nothing to send, which leaves the access point the
// medium to send them, and what is more waits there as ACKs. Where few share the airtime the turn
// of each comes oftener, before its ACKs, so that more has to be there: two A-MPDUs with four,
// three with two. The experiment share-windows finds the same by hand. Where others are slow it is
// two and more with any number, for a fast one waits longer for its turn, and its ACKs come
// meanwhile.
func queuedPackets(part, mean float64) float64 {
	like, unlike := max(1, min(8*part, 1+4*part)), 2*(1+part)
	return AggregatePackets * (like + max(unlike-like, 0)*min((1-mean)/quiteUnlike, 1))
}

// WholeAggregates brings a window of so many packets to the nearest number of whole A-MPDUs of
// AggregatePackets, from three quarters of one on: a station whose window is a little more than one
// sends an A-MPDU and then what is left over in another, at nearly the same cost.
func WholeAggregates(packets float64) float64 {
	if packets < AggregatePackets*3/4 {
		return packets
	}
	return math.Round(packets/AggregatePackets) * AggregatePackets
}

// queueTarget is the time in which the greatest share sends queuedPackets, or SinglePackets.
func (c *Controller) queueTarget(shares []float64, s state) time.Duration {
	greatest, airtime, longest := 0.0, 0.0, 0.0
	for i, x := range shares {
		greatest = max(greatest, x)
		airtime, longest = airtime+x/c.problem[i].Max, max(longest, x/c.problem[i].Max)
	}
	if greatest == 0 {
		return c.options.MaxQueue
	}
	part := longest / airtime
	c.more = 1 + part
	mean := c.meanShare(shares, longest/2) / greatest
	packets := queuedPackets(part, mean)
	if c.options.off(UnlikeQueue) {
		packets = queuedPackets(part, 1)
	}
	c.whole = mean >= alike && !s.single && !c.options.off(WholeAMPDUs)
	if s.single {
		packets = SinglePackets
	}
	queue := time.Duration(min(packets*packetBits/greatest, 1) * float64(time.Second))
	if s.single {
		queue = max(queue, s.base/singlePart)
	}
	return min(max(queue, c.options.MinQueue), c.options.MaxQueue)
}

// meanShare is the mean share of the terminals that have so much of the airtime or more.
func (c *Controller) meanShare(shares []float64, airtime float64) float64 {
	sum, n := 0.0, 0
	for i, x := range shares {
		if x/c.problem[i].Max >= airtime {
			sum, n = sum+x, n+1
		}
	}
	return sum / float64(n)
}

// How fast and how far windows are corrected.
const (
	correctionTime = 1.0 // seconds in which a factor that is missing is made good, to 63 %
	anchorTime     = 3.0 // seconds in which a common factor is undone, to 63 %
	maxCorrection  = 8.0 // a path whose RTT has grown for good by far more than the queue target
	// Rates are smoothed: they say nothing of a share that has changed by so much less than so long
	// ago.
	muchChanged = 0.1
	ratesFollow = 700 * time.Millisecond
	// startTakes is what passes until the others have made room for a terminal that begins.
	startTakes = 1500 * time.Millisecond
	// startRounds is how many round trips a window takes to grow.
	startRounds = 10
	// latest is how old reports are waited for at most, before what others delivered when all began
	// is taken for what they deliver.
	latest = 5 * time.Second
)

// A window of less than AggregatePackets, while others have far more, goes in one access, of the
// others' windows a part. Such a terminal needs 0.7 to 1.0 of the window that its share would have:
// among two fast and two slow ones 0.7 to 0.8, its ACKs waiting for the access point's turn. Its
// correction begins a little below, from where it does not overshoot.
const (
	farSmaller      = 0.5
	smallCorrection = 0.8
	// stays is by how much more a small terminal has to have until it counts as another.
	stays = 1.5
)

func (c *Controller) isSmall(shares []float64, own int, minRTT time.Duration) bool {
	limit := 1.0
	if c.small {
		limit = stays
	}
	window := shares[own] * (minRTT + c.queue).Seconds()
	if c.options.off(SmallStart) {
		return false
	}
	return window < limit*AggregatePackets*packetBits && shares[own] < limit*farSmaller*slices.Max(shares)
}

// smallest is the correction at which a small terminal begins: a long path is filled whole, and the
// rest by smallCorrection of what it would be in a cell of many, for how long it waits for the
// medium does not depend on the queues of others. What of the path is no longer than the queue
// target passes meanwhile anyway.
func (c *Controller) smallest(minRTT time.Duration) float64 {
	long := max(minRTT-c.queue, 0).Seconds()
	whole := (minRTT + c.queue).Seconds()
	return (long + smallCorrection/c.more*(whole-long)) / whole
}

// saturated is the part of the airtime that there is from which on rates are what the medium makes
// of the windows, though queues are short.
const saturated = 0.85

// correct moves the correction towards where this terminal gets the same part of its share as all
// together. A terminal whose demand is met, and a cell with neither queues nor much of its airtime
// in use, teach nothing.
func (c *Controller) correct(now time.Duration, all []Terminal, shares []float64, own int, s state, begins bool) {
	var delivered, shared float64
	for i, t := range all {
		if shares[i] < t.Demand && t.Rate > 0 {
			delivered, shared = delivered+t.Rate, shared+shares[i]
		}
	}
	if small := c.isSmall(shares, own, all[own].MinRTT); small != c.small || all[own].Rate <= 0 {
		c.small, c.correction = small, 1
		if small {
			c.correction = c.smallest(all[own].MinRTT)
		}
	}
	if all[own].Rate <= 0 {
		c.begun = now
	}
	if c.share == 0 || math.Abs(shares[own]/c.share-1) > muchChanged {
		c.share, c.changed = shares[own], now
	}
	if now-c.changed < ratesFollow || begins || c.options.off(WindowCorrection) {
		return
	}
	since := min(now-c.last, LongestStep).Seconds()
	full := s.delay >= c.queue/2 || s.airtime >= saturated*s.efficiency()
	lag := 1.0
	if t := all[own]; shares[own] < t.Demand && t.Rate > 0 {
		lag = delivered / shared * shares[own] / t.Rate
	}
	if full && (s.measuring == 0 || c.doubt == 0) {
		c.correction *= min(max(math.Pow(lag, since/correctionTime), 0.9), 1.1)
	}
	c.anchor(since, s, lag > 1)
	c.correction = min(max(c.correction, 1/maxCorrection), maxCorrection)
}

// anchor draws the correction towards 1 while queues are longer than their target and it is above,
// or shorter and it is below: all follow each other, and would go anywhere together. A small one
// that does not lag behind has what it needs with less.
func (c *Controller) anchor(since float64, s state, lags bool) {
	long, short := s.delay > c.queue*5/4, s.delay < c.queue*3/4 && s.active > 0
	if long && c.correction > 1 || short && c.correction < 1 && (lags || !c.small) {
		c.correction *= math.Pow(c.correction, -since/anchorTime)
	}
}

package control

import (
	"cmp"
	"fmt"
	"math"
	"time"

	"airtide/internal/share/flow"
	"airtide/internal/share/message"
	"airtide/internal/share/probe"
)

// Core makes every decision of one terminal's agent. It is pure: time and measurements come in as
// Inputs. It is not for several goroutines at once.
type Core struct {
	config Config
	radio  Radio

	flows    flow.Set        // estimates of own flows
	host     flow.HostSample // sample of the last step
	counts   message.Counts  // counts since the session began
	members  membership      // terminals that bound their windows
	schedule *probe.Schedule // agreed probes
	probe    probeState
	baseRTT  rttProbe // base RTTs and foreign queues
	benefit  benefit
	shares   *ShareController
	decision Decision // the last one
	windows  windowController
	floor    floor
	carried  delivered

	bounded bool          // the last step bounded windows
	share   float64       // share of the last step in bit/s; 0: none
	idleAt  time.Duration // time at which the terminal last carried next to nothing
	decided time.Duration // time of the last decision
	elapsed time.Duration // time since the decision before; LongestStep at most
	clock   coreClock

	notices   []string // notices of this step
	reportNow bool     // this step asks for a report at once
}

// probeState is the probe of the last step, and the state before it.
type probeState struct {
	active  probe.Active
	ended   time.Duration // end of the last one; 0: never
	meanRTT time.Duration // greatest mean RTT of all terminals outside probes
	baseRTT time.Duration // least base RTT of this terminal
}

const (
	// settleTime plus settleRTTs base RTTs pass after a probe until rates are those of the shares
	// again. Windows that are restored at once send a burst, which is answered a round trip later.
	settleTime = 600 * time.Millisecond
	settleRTTs = 3
)

// New returns the core of a terminal.
func New(c Config) *Core {
	core := &Core{config: c, shares: NewShareController(c.Options), schedule: probe.New(c.Session)}
	core.windows = windowController{flows: &core.flows}
	return core
}

// FirstReport returns the report before the first step.
func (c *Core) FirstReport(r Radio) message.Report {
	c.updateRadio(r)
	return c.report()
}

func (c *Core) updateRadio(r Radio) {
	c.radio = r
	c.radio.SingleFrames = r.SingleFrames || c.config.SingleFrames
	if c.config.Options.off(ForeignAirtime) {
		c.radio.Busy = 0
	}
}

// Step computes the outputs of one step. now is a monotonic time. Call it every 50 to 500 ms, and
// when a probe begins or ends.
func (c *Core) Step(now time.Duration, in Inputs) (out Outputs) {
	c.clock.start(now)
	out = c.step(c.clock.internal(now), c.clock.inputs(in))
	c.clock.outputs(&out)
	return out
}

func (c *Core) step(now time.Duration, in Inputs) (out Outputs) {
	c.notices = nil
	c.reportNow = false
	c.updateRadio(in.Radio)
	if in.NewAccessPoint {
		c.reset()
	}
	c.updateFlows(now, in)
	if in.Ready {
		c.measure(now, in)
		c.view(&out.View)
		var b bounds
		b, out.Reason = c.decide(now, in, &out.View)
		if c.config.Policy == Observe {
			b = noBounds
			out.Reason = "this terminal only observes"
		}
		c.list(b, &out)
		c.bounded = out.Reason == ""
	}
	out.Report = c.report()
	out.Probe = c.schedule.Announced(now)
	out.NextProbe, _ = c.schedule.NextChange(now)
	out.ReportNow = c.reportNow
	out.Notices = c.notices
	return out
}

// reset forgets the state of a cell that the terminal left. Base RTTs are measured anew.
func (c *Core) reset() {
	c.shares = NewShareController(c.config.Options)
	c.decision = Decision{}
	c.schedule = probe.New(c.config.Session)
	c.probe = probeState{}
	c.members = nil
	c.benefit = benefit{}
	c.floor = floor{}
	c.carried = delivered{}
	c.baseRTT = rttProbe{}
	c.windows.reset()
}

func (c *Core) updateFlows(now time.Duration, in Inputs) {
	c.flows.Update(now, in.Flows, &in.Host)
	c.baseRTT.prune(&c.flows)
	c.carried.update(min(c.flows.Elapsed(), LongestStep), c.flows.Rate(), c.radio.StandaloneBps)
	c.host = in.Host
	c.counts.Retransmissions += uint32(in.Host.Retransmits)
	for code := range c.counts.Errors {
		c.counts.Errors[code] += uint32(in.Host.Errors[code+1])
	}
}

// measure updates the schedule and every estimate with the samples since the last step, in a probe
// or without one.
func (c *Core) measure(now time.Duration, in Inputs) {
	before := c.probe.active
	step := c.flows.Elapsed()
	c.schedule.AgreeToRelease(c.benefit.agrees(now))
	c.schedule.Update(now, in.Peers)
	if !c.config.Options.off(ForeignReports) {
		c.baseRTT.reported.update(now, in.Peers)
	}
	joined, sends := c.members.update(now, in.Peers)
	if joined {
		c.baseRTT.joinedAt = now
		if c.baseRTT.countMiss() {
			c.baseRTT.interval.every = 0 // at once
		}
	}
	if sends {
		c.shares.NewSender()
	}
	c.shares.SetForeign(c.baseRTT.foreign() || foreignSender(in.Peers))
	c.shares.SetBusy(c.radio.Busy)
	c.shares.SetLost(c.flows.Lost())
	c.benefit.trackForeign(now, &c.baseRTT)
	base, mean := c.flows.RTTs()
	c.probe.baseRTT = base
	if before.Kind == message.RTTProbe {
		c.baseRTT.sample(now, step, before.Begin, c.probe.meanRTT, &c.flows)
	} else if c.probe.settled(now) { // queues that fill again after a probe would say nothing
		c.probe.meanRTT = mean
		for i := range in.Peers {
			c.probe.meanRTT = max(c.probe.meanRTT, time.Duration(in.Peers[i].Report.SmoothedRTTUs)*time.Microsecond)
		}
	}
	c.probe.active = c.schedule.Active(now)
	if before.Kind != message.NoProbe && c.probe.active.Kind != before.Kind {
		c.probe.ended = now
		if before.Kind == message.RTTProbe {
			c.concludeRTTProbe(now, in)
		}
	}
}

func (c *Core) concludeRTTProbe(now time.Duration, in Inputs) {
	foreignBefore := c.baseRTT.foreignHere()
	own := c.probeQueue(in.Peers)
	if in.UnboundFlows > 0 || c.radio.Busy > 0 {
		// Any queue may be that of an own flow, or busy time tells of foreign traffic.
		own = math.MaxInt64 / 2
	}
	longer := c.baseRTT.conclude(&c.flows, own)
	if longer {
		c.shares.LongerPath()
		c.decision = Decision{} // it is made anew at once, while windows may come back at once
	}
	foreign := c.baseRTT.foreignHere()
	missed := c.baseRTT.missed()
	c.baseRTT.reported.endProbe()
	c.baseRTT.interval.setNext(now, longer || missed, foreign != foreignBefore, foreign && !missed)
}

// probeQueue returns the time that the medium takes for all participants' packets in flight in an
// RTT probe. This queue of their own is long if a slow radio has many flows.
func (c *Core) probeQueue(peers []message.Peer) time.Duration {
	seconds := 0.0
	add := func(flows int, standalone float64) {
		if standalone > 0 {
			seconds += float64(flows*rttProbePackets) * packetBits / standalone
		}
	}
	add(c.flows.Send.Flows+c.flows.Receive.Flows, c.standaloneRate())
	for i := range peers {
		p := &peers[i].Report
		add(int(p.FlowsUp)+int(p.FlowsDown), p.MaxKbps.Bps())
	}
	return time.Duration(seconds * float64(time.Second))
}

// settled reports whether no probe runs, and rates are those of the shares.
func (p *probeState) settled(now time.Duration) bool {
	return p.active.Kind == message.NoProbe && (p.ended == 0 || now-p.ended >= settleTime+settleRTTs*p.baseRTT)
}

// decide returns the bounds of the flows, or the reason why there are none.
func (c *Core) decide(now time.Duration, in Inputs, v *View) (b bounds, reason string) {
	c.share = 0
	c.elapsed = min(now-c.decided, LongestStep)
	c.decided = now
	defer func() {
		if reason != "" {
			c.benefit.boundSince = 0
		}
		if reason != "" && c.probe.active.Kind != message.ReleaseProbe {
			c.benefit.sharedSince = 0
		}
	}()
	switch {
	case len(in.Peers) == 0:
		return b, "no other terminal is heard"
	case in.Silence > in.SilenceLimit:
		return b, "no report for longer than the silence limit"
	}
	switch c.config.Policy {
	case EqualCapPolicy:
		c.setEqualShare(in, v)
		return c.windows.equalCap(c.windowStep(now), c.host.MeanRTT), ""
	case EqualRangePolicy:
		c.setEqualShare(in, v)
		return c.windows.equalRange(c.windowStep(now), c.host.MeanRTT), ""
	}
	var all []Terminal // nil: this terminal's rate is unknown, so it has no share
	if c.standaloneRate() > 0 {
		all = c.terminals(now, in)
		c.compareBenefit(now, in, all)
	}
	if c.probe.active.Kind == message.ReleaseProbe {
		return b, c.benefit.releaseReason(now)
	}
	if all == nil {
		b = c.windows.ofQueue(now, c.radio.SingleFrames)
	} else {
		var err error
		b, err = c.boundShare(now, in, all, v)
		if err != nil {
			return noBounds, err.Error()
		}
	}
	c.probe.override(now, &b)
	if !c.probe.holdsBack() {
		c.raiseToFloor(now, len(in.Peers), &b)
	}
	return b, ""
}

// boundShare returns the bounds of this terminal's share.
func (c *Core) boundShare(now time.Duration, in Inputs, all []Terminal, v *View) (bounds, error) {
	if c.decision.Share == 0 || c.probe.settled(now) {
		var err error
		c.decision, err = c.shares.Step(now, 0, all)
		if err != nil {
			return noBounds, err
		}
		c.proposeProbe(now, in)
	}
	d := c.decision
	c.share = d.Share
	v.Limit = d.Binds.String()
	v.ShareBps = d.Share
	v.TotalBps = d.Total
	v.QueueTargetUs = d.QueueTarget.Microseconds()
	v.Correction = d.Correction
	if !math.IsInf(d.Capacity, 1) {
		v.WireBps = d.Capacity
	}
	return c.windows.ofShare(c.windowStep(now), d, c.standaloneRate()), nil
}

// raiseToFloor raises bounds to the floor, which no report of others lowers.
func (c *Core) raiseToFloor(now time.Duration, peers int, b *bounds) {
	rate := c.floor.part() * FloorRate(c.standaloneRate(), c.config.Weight, peers+1)
	if c.shares.alpha < leastFloorAlpha || rate <= 0 {
		return
	}
	base, mean := c.flows.RTTs()
	delay := max(mean-base, 0)
	wait := min(max(delay, c.shares.options.MinQueue), floorDelay)
	raised := c.windows.raise(c.windowStep(now), b, rate*c.floor.factor(), wait)
	if c.probe.settled(now) {
		missed := 0.0
		if carried := c.flows.Rate(); c.flows.Greedy() && carried > 0 {
			missed = rate / carried
		}
		c.floor.update(c.elapsed, delay, raised, missed)
	}
}

// windowStep returns the inputs of the windows. They follow the share of this step.
func (c *Core) windowStep(now time.Duration) windowStep {
	return windowStep{now: now, elapsed: c.elapsed, share: c.share}
}

// setEqualShare divides the capacity equally among the sending terminals.
func (c *Core) setEqualShare(in Inputs, v *View) {
	n := 1
	for i := range in.Peers {
		if in.Peers[i].Report.UploadKbps > 0 {
			n++
		}
	}
	c.share = c.config.CapacityBps / float64(n)
	v.ShareBps = c.share
	v.TotalBps = c.config.CapacityBps
	v.Correction = 1
}

// proposeProbe asks the peers for a probe if one is needed: an RTT probe or a release probe. It is
// called while windows are bounded. An observer asks for none, because it holds nothing back
// itself.
func (c *Core) proposeProbe(now time.Duration, in Inputs) {
	if c.benefit.boundSince == 0 {
		c.benefit.boundSince = now
	}
	if c.benefit.sharedSince == 0 {
		c.benefit.sharedSince = now
	}
	lead := leadTime(in)
	proposed := false
	switch {
	case c.decision.PathSuspected && c.config.Policy != Observe && now-c.baseRTT.interval.at >= c.baseRTT.pause(now):
		proposed = c.proposeRTTProbe(now, lead)
	case c.asksForReleases(now, in.Peers) && c.benefit.wantsSecondRTTProbe(c.baseRTT.interval.at):
		proposed = c.proposeRTTProbe(now, lead)
	case c.asksForReleases(now, in.Peers) && c.benefit.wantsReleaseProbe(now):
		length := releaseProbeLength
		if c.benefit.foreignSince > 0 {
			length = foreignReleaseProbeLength
		}
		proposed = c.schedule.Propose(now, message.ReleaseProbe, length, lead)
		if proposed {
			c.benefit.probedAt = now
			c.benefit.standsIn = !c.isCoordinator(in.Peers)
		}
	}
	if proposed {
		c.reportNow = in.MayReportEarly
	}
}

func (c *Core) proposeRTTProbe(now, lead time.Duration) bool {
	proposed := c.schedule.Propose(now, message.RTTProbe, rttProbeLength(c.probe.meanRTT), lead)
	if proposed {
		c.baseRTT.interval.at = now
	}
	return proposed
}

// compareBenefit compares the cell with and without bounds, and releases all windows if bounds do
// not help. All terminals see that; one asks for the release.
func (c *Core) compareBenefit(now time.Duration, in Inputs, all []Terminal) {
	reason := c.benefit.compare(now, c.probe.active, now-c.probe.ended, all)
	if reason == "" || !c.asksForReleases(now, in.Peers) || c.config.Options.off(ReleaseComparison) {
		return
	}
	c.schedule.ReleaseUntil(now + releaseTime)
	c.benefit.boundSince = 0
	c.benefit.probedAt = 0
	notice := fmt.Sprintf("bounds do not help: %s; windows are released for %s", reason, releaseTime)
	c.notices = append(c.notices, notice)
}

// asksForReleases reports whether this terminal asks for release probes: as the coordinator, or in
// its place.
func (c *Core) asksForReleases(now time.Duration, peers []message.Peer) bool {
	standsIn := c.benefit.standsIn || c.benefit.neglected(now)
	return c.isCoordinator(peers) || standsIn && c.config.Policy != Observe
}

// isCoordinator reports whether this terminal's session is the lowest of those that do not only
// observe and whose standalone rates are known: the others compare nothing.
func (c *Core) isCoordinator(peers []message.Peer) bool {
	if c.config.Policy == Observe {
		return false
	}
	for i := range peers {
		r := &peers[i].Report
		if r.State != message.Observing && r.MaxKbps > 0 && r.Session < c.config.Session {
			return false
		}
	}
	return true
}

// leadTime returns how long before a probe its announcement is sent, so that all peers receive it:
// two reports, of which one may go at once. It is not longer than reports can announce.
func leadTime(in Inputs) time.Duration {
	period := time.Duration(0)
	for i := range in.Peers {
		period = max(period, time.Duration(in.Peers[i].Report.PeriodMs)*time.Millisecond)
	}
	reports := time.Duration(2)
	if in.MayReportEarly {
		reports = 1
	}
	return min(reports*period+100*time.Millisecond, message.LatestProbe-100*time.Millisecond)
}

// standaloneRate returns the terminal's standalone rate in bit/s by the best source; 0: not known.
func (c *Core) standaloneRate() float64 {
	return cmp.Or(c.config.StandaloneBps, c.radio.StandaloneBps*c.carried.factor())
}

// view copies measurements to the status before the step decides.
func (c *Core) view(v *View) {
	v.ForeignQueues = c.baseRTT.foreign()
	v.Busy = c.radio.Busy
	v.ForeignAirtime = max(c.shares.air.part, 0)
	v.Probe = c.probe.active.Kind
	if e := c.benefit.last; e != nil {
		effect := *e
		v.Benefit = &effect
	}
}

package control

import (
	"slices"
	"time"

	"airtide/internal/share/flow"
	"airtide/internal/share/message"
)

const (
	// rttProbeMin is the least time between RTT probes. It doubles up to rttProbeMax while nothing
	// changes: foreign queues do not show in every probe.
	rttProbeMin, rttProbeMax = 2500 * time.Millisecond, 5 * time.Minute
	// rttProbeAfterChange is the time after a change, and rttProbeForeign the time beside foreign
	// queues.
	rttProbeAfterChange, rttProbeForeign = 10 * time.Second, 30 * time.Second
	// longestRTTProbe is how long an RTT probe may last.
	longestRTTProbe = 800 * time.Millisecond
	// foreignQueue is the delay in an RTT probe from which on a foreign queue stands.
	foreignQueue = 10 * time.Millisecond
)

// rttProbe finds base RTTs and foreign queues: delay that remains while all participants keep a few
// packets in flight. The zero value is ready.
type rttProbe struct {
	paths    map[flow.Key]*path
	reported reportedForeign
	interval probeInterval
	joinedAt time.Duration // time at which a terminal last began to bound its windows
}

// path holds the results of RTT probes for one direction of a flow.
type path struct {
	probeMin   time.Duration   // least RTT in the present probe; 0 without
	probeMeans []time.Duration // the mean RTT of each step in it
	foreign    bool            // a probe found a foreign queue
	missed     bool            // the last one did not
}

// reportedForeign holds the foreign queues that peers report.
type reportedForeign struct {
	counts bool          // a queue stands, by the reports until the last RTT probe
	at     time.Duration // time of the last such report
	stands bool          // a peer reports one now
}

// probeInterval decides when this terminal may ask for the next RTT probe.
type probeInterval struct {
	at, every time.Duration // time of the last request, and least time until the next
}

func (r *rttProbe) path(key flow.Key) *path {
	if r.paths == nil {
		r.paths = map[flow.Key]*path{}
	}
	if r.paths[key] == nil {
		r.paths[key] = &path{}
	}
	return r.paths[key]
}

func (r *rttProbe) prune(flows *flow.Set) {
	for key := range r.paths {
		if flows.Flow(key.ID) == nil {
			delete(r.paths, key)
		}
	}
}

// drainTime is how long queues with a mean RTT take to drain in an RTT probe.
func drainTime(mean time.Duration) time.Duration { return max(60*time.Millisecond, mean*3/2) }

// rttProbeLength is how long an RTT probe lasts if the mean RTT before it is mean.
func rttProbeLength(mean time.Duration) time.Duration {
	return min((drainTime(mean) + 3*message.ProbeLengthStep/2).Truncate(message.ProbeLengthStep), longestRTTProbe)
}

// sample takes the RTTs of a step in an RTT probe that began at begin. mean is the mean RTT before
// the probe.
func (r *rttProbe) sample(now, step, begin, mean time.Duration, flows *flow.Set) {
	if now-step < begin+drainTime(mean) {
		return
	}
	for _, f := range flows.All() {
		for _, receive := range []bool{false, true} {
			d := f.Direction(receive)
			p := r.path(flow.Key{ID: f.ID, Receive: receive})
			if d.LeastRTT > 0 && (p.probeMin == 0 || d.LeastRTT < p.probeMin) {
				p.probeMin = d.LeastRTT
			}
			// The packets were sent in the probe.
			if d.MeanRTT > 0 && now-step-d.MeanRTT >= begin {
				p.probeMeans = append(p.probeMeans, d.MeanRTT)
			}
		}
	}
}

// conclude takes the result of an RTT probe for every path, and reports whether any path has become
// longer. own is the time that the medium takes for all participants' packets in flight in it.
func (r *rttProbe) conclude(flows *flow.Set, own time.Duration) (longer bool) {
	for _, f := range flows.All() {
		for _, receive := range []bool{false, true} {
			if r.path(flow.Key{ID: f.ID, Receive: receive}).conclude(f.Direction(receive), own) {
				longer = true
			}
		}
	}
	return longer
}

func (p *path) conclude(d *flow.Direction, own time.Duration) (longer bool) {
	if p.probeMin > 0 {
		longer = LongerPath(d.BaseRTT, p.probeMin)
		if longer || p.probeMin < d.BaseRTT {
			d.BaseRTT = p.probeMin
		}
	}
	if n := len(p.probeMeans); n > 0 {
		// The median, since windows may have been cut late.
		slices.Sort(p.probeMeans)
		switch median := p.probeMeans[(n-1)/2]; {
		case median >= d.BaseRTT+max(d.BaseRTT/5+foreignQueue, own): // paths are not steady
			p.foreign = true
			p.missed = false
		case p.foreign && !p.missed:
			p.missed = true
		default:
			p.foreign = false
			p.missed = false
		}
	}
	p.probeMin = 0
	p.probeMeans = p.probeMeans[:0]
	return longer
}

// foreignHere reports whether this terminal found a foreign queue.
func (r *rttProbe) foreignHere() bool { return r.any(func(p *path) bool { return p.foreign }) }

// missed reports whether a foreign queue stood, and the last RTT probe did not find it.
func (r *rttProbe) missed() bool { return r.any(func(p *path) bool { return p.missed }) }

// foreign reports whether a foreign queue stands, by this terminal's probes or by reports.
func (r *rttProbe) foreign() bool { return r.foreignHere() || r.reported.counts }

// countMiss counts a miss for every foreign queue, and reports whether there are any. The queue may
// have been that of a terminal that has just joined.
func (r *rttProbe) countMiss() bool {
	for _, p := range r.paths {
		p.missed = p.foreign
	}
	return r.missed()
}

func (r *rttProbe) any(is func(*path) bool) bool {
	for _, p := range r.paths {
		if is(p) {
			return true
		}
	}
	return false
}

// pause is the time until this terminal may ask for the next RTT probe. Foreign queues do not show
// to every terminal in every probe: while a peer reports one, the time is that beside foreign
// queues, but not just after a terminal has joined: the queue may have been its own.
func (r *rttProbe) pause(now time.Duration) time.Duration {
	if r.reported.stands && now-r.joinedAt >= joinTime {
		return max(r.interval.every, rttProbeForeign)
	}
	return r.interval.every
}

// update takes the newest reports. A report counts until the next RTT probe has ended, or should
// have.
func (f *reportedForeign) update(now time.Duration, peers []message.Peer) {
	f.stands = slices.ContainsFunc(peers, func(p message.Peer) bool { return p.Report.ForeignQueues })
	if f.stands || now-f.at >= 2*rttProbeMin {
		f.counts = f.stands
		f.at = now
	}
}

// endProbe forgets foreign queues that nobody reports after an RTT probe.
func (f *reportedForeign) endProbe() {
	f.counts = f.stands
}

// setNext sets the time until the next RTT probe. soon: the path seems longer, or a probe missed
// foreign queues once. changed: foreign queues came or went. foreign: they stand, so a probe costs
// throughput.
func (p *probeInterval) setNext(now time.Duration, soon, changed, foreign bool) {
	p.at = now
	p.every = min(max(2*p.every, rttProbeMin), rttProbeMax)
	switch {
	case changed:
		p.every = rttProbeAfterChange
	case soon:
		p.every = rttProbeMin
	}
	if foreign {
		p.every = max(p.every, rttProbeForeign)
	}
}

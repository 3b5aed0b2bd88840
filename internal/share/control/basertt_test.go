package control

import (
	"testing"
	"time"

	"airtide/internal/share/flow"
	"airtide/internal/share/message"
	"airtide/internal/share/probe"
)

// TestALongerPathShowsWhileAllHoldBack: of the round-trip times only those count that came when
// queues were empty, and a path is longer when they are.
func TestALongerPathShowsWhileAllHoldBack(t *testing.T) {
	for _, c := range []struct {
		what    string
		drained time.Duration
		base    time.Duration
		longer  bool
	}{
		{"a queue", 3 * time.Millisecond, 2 * time.Millisecond, false},
		{"a longer path", 50 * time.Millisecond, 50 * time.Millisecond, true},
		{"a shorter path", time.Millisecond, time.Millisecond, false},
		{"nothing was sent", 0, 2 * time.Millisecond, false},
	} {
		f := &flow.Flow{ID: 1, Send: flow.Direction{BaseRTT: 2 * time.Millisecond}}
		var r rttProbe
		var flows flow.Set
		flows.Add(f)
		const begin, step = time.Minute, 50 * time.Millisecond
		f.Send.LeastRTT = 500 * time.Microsecond // from before the probe
		r.sample(begin+step, step, begin, 0, &flows)
		f.Send.LeastRTT = c.drained
		f.Send.MeanRTT = c.drained + 2*time.Millisecond
		r.sample(begin+4*step, step, begin, 0, &flows)
		if longer := r.conclude(&flows, 0); longer != c.longer || f.Send.BaseRTT != c.base {
			t.Errorf("%s: longer %v, smallest round-trip time %s", c.what, longer, f.Send.BaseRTT)
		}
		if r.foreignHere() {
			t.Errorf("%s: taken for somebody else's queue", c.what)
		}
	}
}

// Packets from before a probe that return in its first steps are no foreign queue.
func TestLatePacketsAreNoForeignQueue(t *testing.T) {
	f := &flow.Flow{ID: 1, Send: flow.Direction{BaseRTT: 2 * time.Millisecond}}
	var r rttProbe
	var flows flow.Set
	flows.Add(f)
	for i, ms := range []time.Duration{80, 45, 4, 5, 4} {
		f.Send.LeastRTT = ms * time.Millisecond
		f.Send.MeanRTT = ms * time.Millisecond
		r.sample(time.Minute+time.Duration(200+50*i)*time.Millisecond, 50*time.Millisecond, time.Minute, 0, &flows)
	}
	if longer := r.conclude(&flows, 0); longer || r.foreignHere() {
		t.Errorf("got longer %v and foreign %v, want neither", longer, r.foreignHere())
	}
}

// TestQueuesOfOthersShowWhileAllHoldBack: round-trip times are short now and then, and long in the
// mean.
func TestQueuesOfOthersShowWhileAllHoldBack(t *testing.T) {
	f := &flow.Flow{ID: 1, Send: flow.Direction{BaseRTT: 2 * time.Millisecond, Rate: 20e6}}
	var r rttProbe
	var flows flow.Set
	flows.Add(f)
	for i, ms := range []time.Duration{30, 50, 40} {
		f.Send.LeastRTT = 4 * time.Millisecond
		f.Send.MeanRTT = ms * time.Millisecond
		r.sample(time.Minute+time.Duration(200+100*i)*time.Millisecond, 50*time.Millisecond, time.Minute, 0, &flows)
	}
	if longer := r.conclude(&flows, 0); longer || f.Send.BaseRTT != 2*time.Millisecond || !r.foreignHere() {
		t.Errorf("longer %v, smallest round-trip time %s, foreign %v", longer, f.Send.BaseRTT, r.foreignHere())
	}
}

// TestOneLookWithoutQueuesIsNotBelieved: others' queues come and go.
func TestOneLookWithoutQueuesIsNotBelieved(t *testing.T) {
	d := &flow.Direction{BaseRTT: 2 * time.Millisecond}
	p := &path{}
	look := func(rtt time.Duration) {
		p.probeMeans = []time.Duration{rtt}
		p.conclude(d, 0)
	}
	for i, step := range []struct {
		rtt             time.Duration
		foreign, missed bool
	}{
		{3 * time.Millisecond, false, false},
		{40 * time.Millisecond, true, false},
		{3 * time.Millisecond, true, true},
		{50 * time.Millisecond, true, false},
		{3 * time.Millisecond, true, true},
		{3 * time.Millisecond, false, false},
	} {
		look(step.rtt)
		if p.foreign != step.foreign || p.missed != step.missed {
			t.Errorf("look %d: foreign %v, missed %v", i+1, p.foreign, p.missed)
		}
	}
}

// TestADoubtIsSettledSoon: others' queues that did not stand once are looked for again as soon as
// may be, for meanwhile windows are those beside others.
func TestADoubtIsSettledSoon(t *testing.T) {
	for _, c := range []struct {
		rtt, want time.Duration
	}{
		{3 * time.Millisecond, rttProbeMin},
		{60 * time.Millisecond, rttProbeForeign},
	} {
		core := New(Config{Session: 1})
		core.flows.Add(&flow.Flow{ID: 1, Send: flow.Direction{BaseRTT: 2 * time.Millisecond}})
		*core.baseRTT.path(flow.Key{ID: 1}) = path{
			foreign: true, probeMeans: []time.Duration{c.rtt},
		}
		core.probe.active = probe.Active{Kind: message.RTTProbe}
		core.measure(time.Minute, Inputs{})
		if core.baseRTT.interval.every != c.want {
			t.Errorf("RTTs of %s: next probe after %s, want %s", c.rtt, core.baseRTT.interval.every, c.want)
		}
	}
}

// TestWhoSeesOthersQueuesIsEnough: one that has not seen them once has all hold back no sooner for
// it while another has, but when nobody has; who goes by what others see does so until all have
// held back once more.
func TestWhoSeesOthersQueuesIsEnough(t *testing.T) {
	const begun = time.Minute
	peers := func(sees bool) []message.Peer {
		return []message.Peer{{Report: message.Report{ForeignQueues: sees, MinRTTUs: 1000, SmoothedRTTUs: 61000}}}
	}
	for _, c := range []struct {
		name         string
		sees         bool
		now, pause   time.Duration
		counts       bool
		doubted, own bool // this terminal's doubt, and its report to the others
	}{
		{"a terminal has just joined", true, begun + joinTime/2, rttProbeMin, true, false, true},
		{"another has seen them", true, begun + joinTime, rttProbeForeign, true, true, false},
		{"a probe found none", false, begun + joinTime + rttProbeMin, rttProbeMin, true, true, false},
		{"two probes found none", false, begun + joinTime + 2*rttProbeMin, rttProbeMin, false, true, false},
	} {
		core := New(Config{Weight: 1})
		r := &core.baseRTT
		r.joinedAt = begun
		r.interval.every = rttProbeMin
		r.reported = reportedForeign{true, begun + joinTime, true}
		r.reported.update(c.now, peers(c.sees))
		if got := r.pause(c.now); got != c.pause || r.reported.counts != c.counts {
			t.Errorf("%s: next probe after %s, want %s; counts %v, want %v",
				c.name, got, c.pause, r.reported.counts, c.counts)
		}
		*r.path(flow.Key{ID: 1}) = path{foreign: true, missed: c.doubted}
		if got := core.report().ForeignQueues; got != c.own {
			t.Errorf("%s: says %v", c.name, got)
		}
	}
}

// TestAllHoldBackMoreAndMoreRarely while nothing changes.
func TestAllHoldBackMoreAndMoreRarely(t *testing.T) {
	var s probeInterval
	next := func(longer, changed, foreign bool) time.Duration {
		s.setNext(time.Minute, longer, changed, foreign)
		return s.every
	}
	for _, want := range []time.Duration{rttProbeMin, 2 * rttProbeMin, 4 * rttProbeMin} {
		if got := next(false, false, false); got != want {
			t.Errorf("%s until the next time, want %s", got, want)
		}
	}
	if got := next(true, false, false); got != rttProbeMin {
		t.Errorf("%s when the path seems to be longer", got)
	}
	if got := next(true, true, false); got != rttProbeAfterChange {
		t.Errorf("%s after a change", got)
	}
	if got := next(false, true, true); got != rttProbeForeign {
		t.Errorf("%s where others' queues are found", got)
	}
	for range 10 {
		next(false, false, false)
	}
	if s.every != rttProbeMax {
		t.Errorf("%s when nothing has changed ten times", s.every)
	}
}

// Packets that participants themselves keep in flight in an RTT probe are no foreign queue, though
// a slow radio takes long for them.
func TestOwnPacketsInAnRTTProbeAreNoForeignQueue(t *testing.T) {
	c := New(Config{StandaloneBps: 4e6})
	peers := []message.Peer{{Report: message.Report{MaxKbps: 4000, FlowsUp: 1, FlowsDown: 2}}, {}}
	// 12 packets of a peer of 4 Mbit/s; the other peer's rate is not known.
	own := c.probeQueue(peers)
	if want := 34752 * time.Microsecond; own != want {
		t.Errorf("%s of own packets, want %s", own, want)
	}
	for _, rtt := range []time.Duration{30 * time.Millisecond, 40 * time.Millisecond} {
		d := &flow.Direction{BaseRTT: 2 * time.Millisecond}
		p := &path{probeMeans: []time.Duration{rtt}}
		p.conclude(d, own)
		if p.foreign != (rtt > d.BaseRTT+own) {
			t.Errorf("with an RTT of %s a foreign queue: %v", rtt, p.foreign)
		}
	}
}

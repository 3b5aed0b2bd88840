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
		if rtt, _ := r.foreignRTT(flow.Key{ID: 1}, &f.Send); r.foreignHere() || rtt > 0 {
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
	key := flow.Key{ID: 1}
	var w foreignWindow
	update := func(elapsed time.Duration) float64 {
		foreignRTT, missed := r.foreignRTT(key, &f.Send)
		return w.update(elapsed, 10*time.Millisecond, &f.Send, foreignRTT, missed, 1e4)
	}
	for i, ms := range []time.Duration{30, 50, 40} {
		f.Send.LeastRTT = 4 * time.Millisecond
		f.Send.MeanRTT = ms * time.Millisecond
		r.sample(time.Minute+time.Duration(200+100*i)*time.Millisecond, 50*time.Millisecond, time.Minute, 0, &flows)
	}
	if longer := r.conclude(&flows, 0); longer || f.Send.BaseRTT != 2*time.Millisecond || !r.foreignHere() {
		t.Errorf("longer %v, smallest round-trip time %s, foreign %v", longer, f.Send.BaseRTT, r.foreignHere())
	}
	window := func(recent time.Duration) (bytes float64) {
		f.Send.LastRTT = recent
		for range 50 {
			bytes = update(100 * time.Millisecond)
		}
		return bytes
	}
	if first := update(0); first != 20e6*0.050/8 {
		t.Errorf("a window of %.0f bytes at first", first)
	}
	if most := window(120 * time.Millisecond); most != foreignMost*20e6*foreignRTTTarget.Seconds()/8 {
		t.Errorf("a window of %.0f bytes where it is not enough for a long round-trip time", most)
	}
	if least := window(time.Second); least != 1e4 {
		t.Errorf("a window of %.0f bytes where the queue is its own", least)
	}
	r.path(key).foreignRTT = 0
	if none := window(time.Second); none != 0 {
		t.Errorf("a window of %.0f bytes when the others are gone", none)
	}
}

// TestWindowsBesideOthersBeginWithWhatTheyWere: others' queues show in a turn, in which next to
// nothing is carried. Through a turn they stay as they are.
func TestWindowsBesideOthersBeginWithWhatTheyWere(t *testing.T) {
	const inTurn, usual, before = 1e6, 20e6, 600e3
	const foreign = 60 * time.Millisecond
	f := &flow.Flow{ID: 1, MSS: 1448, Send: flow.Direction{
		BaseRTT: 2 * time.Millisecond, Rate: usual, LastRTT: 200 * time.Millisecond,
	}}
	c := New(Config{})
	c.flows.Add(f)
	c.elapsed = 100 * time.Millisecond
	c.share = usual
	p := c.baseRTT.path(flow.Key{ID: 1})
	window := func(share float64) float64 {
		f.Send.ActiveUntil = time.Minute
		bytes := func(float64, time.Duration) float64 { return share }
		all := c.windows.ofDirection(c.windowStep(time.Second), false, 1, false, bytes)
		return all[0].bytes
	}
	if got := window(before); got != before {
		t.Fatalf("a window of %.0f bytes with nobody else", got)
	}
	c.probe.active = probe.Active{Kind: message.RTTProbe}
	p.foreignRTT = foreign
	f.Send.Rate = inTurn
	for range 3 {
		if got := window(before / 10); got != before {
			t.Errorf("%.0f bytes after the probe that found foreign queues, want %.0f", got, float64(before))
		}
	}
	p.missed = true
	if got, want := window(before/10), foreignMost*inTurn*foreignRTTTarget.Seconds()/8; got != want {
		t.Errorf("a window of %.0f bytes after a probe that did not, want %.0f", got, want)
	}
}

// TestWhatOthersFoundOfQueuesCounts: the least reported value counts.
func TestWhatOthersFoundOfQueuesCounts(t *testing.T) {
	peer := func(foreign bool, base, rtt uint32) message.Peer {
		return message.Peer{Report: message.Report{ForeignQueues: foreign, MinRTTUs: base, SmoothedRTTUs: rtt}}
	}
	delay := foreignDelay([]message.Peer{peer(false, 2000, 9000), peer(true, 2000, 62000), peer(true, 4000, 44000)})
	if delay != 40*time.Millisecond {
		t.Fatalf("%s heard", delay)
	}
	for _, short := range []message.Peer{peer(true, 2000, 3000), peer(true, 2000, 1000), peer(true, 0, 0)} {
		if got := foreignDelay([]message.Peer{peer(true, 2000, 62000), short}); got != foreignQueue {
			t.Errorf("%s heard of one whose round-trip times are short just now", got)
		}
	}
	if none := foreignDelay([]message.Peer{peer(false, 2000, 9000)}); none != 0 {
		t.Errorf("%s heard of nobody", none)
	}
	d := &flow.Direction{BaseRTT: 2 * time.Millisecond, Rate: 20e6}
	window := func(reported reportedForeign) float64 {
		r := rttProbe{reported: reported}
		foreignRTT, missed := r.foreignRTT(flow.Key{ID: 1}, d)
		return new(foreignWindow).update(0, 8*time.Millisecond, d, foreignRTT, missed, 10)
	}
	if bytes := window(reportedForeign{delay: delay, stands: true}); bytes != 20e6*0.050/8 {
		t.Errorf("a window of %.0f bytes", bytes)
	}
	if bytes := window(reportedForeign{}); bytes != 0 {
		t.Errorf("a window of %.0f bytes when nobody finds any", bytes)
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
		rtt, want time.Duration
		doubted   bool
	}{
		{3 * time.Millisecond, 0, false},
		{40 * time.Millisecond, 40 * time.Millisecond, false},
		{3 * time.Millisecond, 40 * time.Millisecond, true},
		{50 * time.Millisecond, 50 * time.Millisecond, false},
		{3 * time.Millisecond, 50 * time.Millisecond, true},
		{3 * time.Millisecond, 0, false},
	} {
		look(step.rtt)
		if p.foreignRTT != step.want || p.missed != step.doubted {
			t.Errorf("look %d: queues of %s, doubted %v", i+1, p.foreignRTT, p.missed)
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
			foreignRTT: 60 * time.Millisecond, probeMeans: []time.Duration{c.rtt},
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
		delay        time.Duration
		doubted, own bool // this terminal's doubt, and its report to the others
	}{
		{"a terminal has just joined", true, begun + joinTime/2, rttProbeMin, 60 * time.Millisecond, false, true},
		{"another has seen them", true, begun + joinTime, rttProbeForeign, 60 * time.Millisecond, true, false},
		{"a probe found none", false, begun + joinTime + rttProbeMin, rttProbeMin, 60 * time.Millisecond, true, false},
		{"two probes found none", false, begun + joinTime + 2*rttProbeMin, rttProbeMin, 0, true, false},
	} {
		core := New(Config{Weight: 1})
		r := &core.baseRTT
		r.joinedAt = begun
		r.interval.every = rttProbeMin
		r.reported = reportedForeign{60 * time.Millisecond, begun + joinTime, true}
		r.reported.update(c.now, peers(c.sees))
		if got := r.pause(c.now); got != c.pause || r.reported.delay != c.delay {
			t.Errorf("%s: next probe after %s, want %s; delay %s, want %s",
				c.name, got, c.pause, r.reported.delay, c.delay)
		}
		*r.path(flow.Key{ID: 1}) = path{foreignRTT: time.Second, missed: c.doubted}
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
		if foreign := p.foreignRTT > 0; foreign != (rtt > d.BaseRTT+own) {
			t.Errorf("with an RTT of %s a foreign queue: %v", rtt, foreign)
		}
	}
}

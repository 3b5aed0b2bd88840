package share

import (
	"fmt"
	"maps"
	"math"
	"time"

	"airtide/share/control"
	"airtide/share/message"
	"airtide/tcp"
)

// together is what the terminal does with the others at agreed times, and what comes of it.
type together struct {
	turns   *control.Turns
	phase   control.Phase // of the last step
	resumed time.Duration // when bounds were as usual again
	trial   control.Trial
	effect  *control.Effect
	judged  control.Judgement
	why     string        // bounds were found not to help
	whyAt   time.Duration // when

	heldSince time.Duration // 0 while nothing is held
	triedAt   time.Duration // when bounds were lifted last to compare
	besideAt  time.Duration // since when the queues of others who do not take part stand; 0 without
	still     stillness
	before    time.Duration // mean round-trip time outside such a time: the longest of all terminals'
	base      time.Duration // the smallest of this terminal
	wire      bool          // it was taken to limit
	fall      control.Fall
	heard     heard
	joinedAt  time.Duration   // somebody has begun to take part
	keep      map[uint64]kept // by session, the terminals that keep to their shares
}

// stillness is when all were asked to hold back last, and how soon they may be again.
type stillness struct {
	at, every time.Duration
}

// heard is what other terminals have found of queues of those who do not take part.
type heard struct {
	delay time.Duration // that they make for; 0 without
	at    time.Duration // somebody said so last
	stand bool          // somebody says so, and has seen them the last time
}

// looked ends what nobody has seen the time before.
func (h *heard) looked() {
	if !h.stand {
		h.delay = 0
	}
}

// hears takes in a step. What somebody saw the time before counts until all have held back once more, or should have.
func (h *heard) hears(now time.Duration, peers []message.Peer) {
	delay := foreignDelay(peers)
	if h.stand = delay > 0; h.stand || now-h.at >= 2*stillFirst {
		h.delay, h.at = delay, now
	}
}

const (
	// firstTrial is how long bounds are held before they are lifted to compare, tryEvery how often from then on, trialLength how long: 1 % of the
	// time. releaseFor is how long all let go where bounds do not help.
	firstTrial  = time.Minute
	tryEvery    = 200 * time.Second
	trialLength = 2 * time.Second
	releaseFor  = 5 * time.Minute
	// Beside others who do not take part it is tried sooner and for longer, for they take what those who hold back leave: when their queues have
	// stood for firstBeside, again after as long when a terminal was found to have less, and else every tryBeside.
	firstBeside, tryBeside = 10 * time.Second, time.Minute
	besideLength           = 3 * time.Second
	// All hold back no more often than stillFirst, and less and less often while the path turns out to be as it was: others' queues do not show
	// each time. When something has changed it is stillChanged until the next time, and stillForeign where others' queues stand.
	stillFirst, stillRarest    = 2500 * time.Millisecond, 5 * time.Minute
	stillChanged, stillForeign = 10 * time.Second, 30 * time.Second
	longestStill               = 800 * time.Millisecond
	// stillPackets is the window while all hold back: a loss is still found without timeout.
	stillPackets = 4
	// settleAfter is for how long after a turn rates are not those of the shares, beside settleRounds round trips: windows that are brought back at once
	// come as a burst, which is answered a round trip later, and only what comes after that is as before.
	settleAfter  = 600 * time.Millisecond
	settleRounds = 3
	// resumeFor is for how long windows are brought back at once after a turn.
	resumeFor = 200 * time.Millisecond
)

// hears takes in what the others ask for, and what came of a step in the phase that held.
func (t *together) hears(now time.Duration, a *agent) {
	before, step := t.phase, a.self.since
	all := make([]control.Heard, len(a.peers))
	others, oldest := 0.0, now
	for i, p := range a.peers {
		all[i] = control.Heard{Session: p.Report.Session, Turn: p.Report.Turn, At: time.Duration(p.HeardNs)}
		oldest = min(oldest, time.Duration(p.HeardNs))
		others += p.Report.UploadKbps.Bps() + p.Report.DownloadKbps.Bps()
	}
	t.turns.Hear(now, all)
	t.heard.hears(now, a.peers)
	joined, sent := t.joined(now, a.peers)
	if joined {
		t.joinedAt = now
		if a.self.doubtForeign() {
			t.still.every = 0 // at once
		}
	}
	if sent {
		a.control.Met()
	}
	a.control.Others(a.self.foreign() || t.heard.delay > 0)
	t.beside(now, &a.self)
	base, mean := a.self.rtts()
	t.base = base
	found := a.self.found.Step(now, step, before, control.Own{
		Rate: a.self.state.Up + a.self.state.Down, Smooth: a.self.rate(), Greedy: a.self.up.greedy || a.self.down.greedy,
		Delay: mean - base, RTT: base, Mean: t.before, Others: others, Heard: len(a.peers) > 0 && now-oldest < a.patience,
	})
	if found {
		a.control.Restart()
	}
	if before.Kind == message.Still {
		a.self.still(now, step, before.Begin, t.before)
	} else if t.usual(now) { // queues that are about to fill again after a turn would say nothing
		t.before = mean
		for i := range a.peers {
			t.before = max(t.before, time.Duration(a.peers[i].Report.SmoothedRTTUs)*time.Microsecond)
		}
	}
	t.phase = t.turns.Phase(now)
	if before.Kind != message.NoTurn && t.phase.Kind != before.Kind {
		t.resumed = now
		if before.Kind == message.Still {
			stood := a.self.foreign()
			longer := a.self.renewBases()
			if longer {
				a.control.LongerPath()
				a.decision = control.Decision{} // it is made anew at once, while windows may be brought back at once
			}
			stand, doubted := a.self.foreign(), a.self.doubted()
			t.heard.looked()
			t.still.concluded(now, longer || doubted, stand != stood, stand && !doubted)
		}
	}
}

const (
	// metFor is for how long after a terminal has begun to take part what it sends is what it sent before.
	metFor = 2 * time.Second
	// leftFor is after how long a terminal that lets go takes part no more: where queues are long it hears nobody for a second now and then, and in
	// a comparison all let go.
	leftFor = 5 * time.Second
	// beginFor is for how long a terminal begins to take part: what it had queued without bounds may be taken for others' queues, and each time that it
	// is free again may have added to that.
	beginFor = 10 * time.Second
)

// joined says whether a terminal keeps to its share that did not a step ago, and whether one of those that have just begun sends already.
func (t *together) joined(now time.Duration, peers []message.Peer) (joined, sent bool) {
	if t.keep == nil {
		t.keep = make(map[uint64]kept, len(peers))
	}
	if len(t.keep) > 2*len(peers)+16 { // most of them are gone
		there := make(map[uint64]bool, len(peers))
		for i := range peers {
			there[peers[i].Report.Session] = true
		}
		maps.DeleteFunc(t.keep, func(session uint64, _ kept) bool { return !there[session] })
	}
	for i := range peers {
		r := &peers[i].Report
		k, known := t.keep[r.Session]
		if r.State != message.Controlling {
			switch {
			case known && k.left == 0:
				k.left = now
				t.keep[r.Session] = k
			case now-k.left >= leftFor:
				delete(t.keep, r.Session)
			}
			continue
		}
		switch {
		case !known:
			k, joined = kept{since: now}, true
		case k.left > 0:
			joined = joined || now-k.since < beginFor
			k.left = 0
		}
		if !k.sent && now-k.since <= metFor && r.UploadKbps.Bps()+r.DownloadKbps.Bps() >= leastDemand {
			k.sent, sent = true, true
		}
		t.keep[r.Session] = k
	}
	return joined, sent
}

// kept is a terminal that keeps to its share.
type kept struct {
	since time.Duration
	sent  bool          // soon after it had begun to
	left  time.Duration // since when it does not; 0 while it does
}

// foreignDelay is the delay by others' queues of which terminals have found that they stand: the least of theirs, since their own are
// in it. Round-trip times are short now and then all the same.
func foreignDelay(peers []message.Peer) (delay time.Duration) {
	for i := range peers {
		if !peers[i].Report.ForeignQueues {
			continue
		}
		t := control.TerminalOf(&peers[i])
		if d := max(t.RTT-t.MinRTT, foreignQueue); delay == 0 || d < delay {
			delay = d
		}
	}
	return delay
}

// concluded sets when all may be asked to hold back again: soon when the path seems to be longer, which others' queues look like for a
// moment, and when others' queues that stood did not this once; later when something else has changed, and latest where others' queues stand, which
// costs those who hold back.
func (s *stillness) concluded(now time.Duration, soon, changed, foreign bool) {
	s.at = now
	s.every = min(max(2*s.every, stillFirst), stillRarest)
	switch {
	case changed:
		s.every = stillChanged
	case soon:
		s.every = stillFirst
	}
	if foreign {
		s.every = max(s.every, stillForeign)
	}
}

// pause is how long all are not asked to hold back again. Others' queues do not show to each terminal each time: while another has seen them it is
// that of one that has, but not just after somebody has begun to take part, whose queues they may have been.
func (t *together) pause(now time.Duration) time.Duration {
	if t.heard.stand && now-t.joinedAt >= beginFor {
		return max(t.still.every, stillForeign)
	}
	return t.still.every
}

// usual says whether windows are and have been those of the shares.
func (t *together) usual(now time.Duration) bool {
	return t.phase.Kind == message.NoTurn && (t.resumed == 0 || now-t.resumed >= settleAfter+settleRounds*t.base)
}

// asks asks the others for what the terminal needs. It is called while bounds are held.
func (t *together) asks(now time.Duration, a *agent, d control.Decision) {
	if t.heldSince == 0 {
		t.heldSince = now
	}
	wire := !math.IsInf(d.Capacity, 1)
	if wire && !t.wire {
		a.self.found.Suspect(now)
	}
	t.wire = wire
	lead := a.lead()
	base, mean := a.self.rtts()
	greedy := a.self.up.greedy || a.self.down.greedy
	if d.Share > 0 && t.fall.Step(a.since, a.self.rate()/d.Share, greedy && mean-base >= d.QueueTarget && t.besideAt == 0) {
		a.self.found.Fell(now)
	}
	asked := false
	switch {
	case d.Doubt && now-t.still.at >= t.pause(now):
		if asked = t.turns.Ask(now, message.Still, stillLength(t.before), lead); asked {
			t.still.at = now
		}
	case a.self.searches() && greedy && othersCarry(a.peers) && a.self.found.Wants(now, 1+len(a.peers), d):
		asked = t.turns.Ask(now, message.Solo, control.SoloLength(base, t.before), lead)
	case t.leads(a) && t.looksAgain():
		if asked = t.turns.Ask(now, message.Still, stillLength(t.before), lead); asked {
			t.still.at = now
		}
	case t.leads(a) && t.triesNow(now):
		length := trialLength
		if t.besideAt > 0 {
			length = besideLength
		}
		if asked = t.turns.Ask(now, message.Free, length, lead); asked {
			t.triedAt = now
		}
	}
	if asked {
		a.sender.Hurry()
	}
}

// beside notes whether the queues of others who do not take part stand, without a doubt of this terminal.
func (t *together) beside(now time.Duration, self *self) {
	switch {
	case self.doubted() || !self.foreign() && t.heard.delay == 0:
		t.besideAt = 0
	case t.besideAt == 0:
		t.besideAt = now
	}
}

// looksAgain says whether all are to hold back once more before the next trial: that a terminal has less counts only where others' queues still
// stand.
func (t *together) looksAgain() bool {
	return t.besideAt > 0 && t.judged.Doubts() && t.still.at < t.triedAt
}

// triesNow says whether bounds are to be lifted to compare.
func (t *together) triesNow(now time.Duration) bool {
	first, every := firstTrial, tryEvery
	since := t.heldSince
	if t.besideAt > 0 {
		first, every, since = firstBeside, tryBeside, max(since, t.besideAt)
		if t.judged.Doubts() {
			every = first
		}
	}
	return now-since >= first && (t.triedAt == 0 || now-t.triedAt >= every)
}

// compare notes what the cell delivers, and lets all go for a while when bounds are found not to help. All see that, and the one that leads asks
// for it.
func (t *together) compare(now time.Duration, a *agent, all []control.Terminal) {
	e, found := t.trial.Step(now, t.phase, now-t.resumed, all)
	if !found {
		return
	}
	t.effect = &e
	why := t.judged.Take(e, t.besideAt > 0)
	if why == "" {
		return
	}
	t.why, t.whyAt = why, now
	if !t.leads(a) {
		return
	}
	t.turns.Release(now + releaseFor)
	t.heldSince, t.triedAt = 0, 0
	a.config.Notice(fmt.Sprintf("sharing does not help: %s; letting go for %s", why, releaseFor))
}

// free is what the status says while nobody is bound.
func (t *together) free(now time.Duration) string {
	const free = "all have let go for a while"
	if t.why == "" || now-t.whyAt > releaseFor {
		return free
	}
	return free + ": sharing does not help, " + t.why
}

// leads says whether this terminal is the one that has bounds lifted to compare: the lowest session.
func (t *together) leads(a *agent) bool {
	for _, p := range a.peers {
		if p.Report.State != message.Observing && p.Report.Session < a.session {
			return false
		}
	}
	return true
}

// lead is in which time all others should hear of a turn, where it may be told that long before: in two reports, of which one goes at once if it
// may.
func (a *agent) lead() time.Duration {
	period := time.Duration(0)
	for _, p := range a.peers {
		period = max(period, time.Duration(p.Report.PeriodMs)*time.Millisecond)
	}
	reports := time.Duration(2)
	if a.sender.MayHurry() {
		reports = 1
	}
	return min(reports*period+100*time.Millisecond, max(period, message.LatestTurn-100*time.Millisecond))
}

func othersCarry(peers []message.Peer) bool {
	for _, p := range peers {
		if p.Report.UploadKbps+p.Report.DownloadKbps > 0 {
			return true
		}
	}
	return false
}

// stillLength is how long all have to hold back for queues that make for such a mean round-trip time to be empty for a while.
func stillLength(mean time.Duration) time.Duration {
	return min((stillAfter(mean) + 3*message.TurnLengthStep/2).Truncate(message.TurnLengthStep), longestStill)
}

// unknownPackets is what all windows of a terminal have together at least while it is not known what it reaches alone: an A-MPDU.
const unknownPackets = control.AggregatePackets

// atLeast raises bounds to so many packets for all together.
func (b *bounds) atLeast(packets float64, flows map[tcp.FlowID]*flow) {
	each := packets / float64(max(len(b.up)+len(b.down), 1))
	for i := range b.up {
		b.up[i].Packets = max(b.up[i].Packets, uint32(each))
	}
	for id, bytes := range b.down {
		b.down[id] = max(bytes, uint32(each*float64(flows[id].mss)))
	}
}

// adapt changes bounds to what they are in a turn, and just after one.
func (t *together) adapt(now time.Duration, b *bounds, self *self) {
	flows, solo := self.flows, self.found.Window()
	if self.searches() && !self.found.Known() {
		b.atLeast(unknownPackets, flows)
	}
	switch {
	case t.phase.Kind == message.Solo && t.phase.Own:
		for i := range b.up {
			b.up[i].Packets = uint32(min(solo*float64(b.up[i].Packets), math.MaxInt32))
		}
		for id, bytes := range b.down {
			b.down[id] = uint32(min(solo*float64(bytes), math.MaxInt32))
		}
		b.atLeast(control.SoloPackets, flows)
		for i := range b.up {
			b.up[i].Least = b.up[i].Packets
		}
	case t.phase.Kind == message.Solo:
		for i := range b.up {
			b.up[i].Pause = true
		}
		for id := range b.down {
			b.down[id] = uint32(flows[id].mss)
		}
	case t.phase.Kind == message.Still:
		for i := range b.up {
			b.up[i].Packets = min(b.up[i].Packets, stillPackets)
		}
		for id := range b.down {
			b.down[id] = min(b.down[id], uint32(stillPackets*flows[id].mss))
		}
	case t.resumed > 0 && now-t.resumed < resumeFor:
		for i := range b.up {
			b.up[i].Least = b.up[i].Packets
		}
	}
}

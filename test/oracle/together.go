package oracle

import (
	"fmt"
	"math"
	"time"

	"airtide/internal/share/message"
	"airtide/test/oracle/control"
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
	joinedAt  time.Duration // somebody has begun to take part
	keeping   participants
}

const (
	// firstTrial is how long bounds are held before they are lifted to compare, tryEvery how often
	// from then on, trialLength how long: 1 % of the time. releaseFor is how long all let go where
	// bounds do not help.
	firstTrial  = time.Minute
	tryEvery    = 200 * time.Second
	trialLength = 2 * time.Second
	releaseFor  = 5 * time.Minute
	// Beside others who do not take part it is tried sooner and for longer, for they take what
	// those who hold back leave: when their queues have stood for firstBeside, again after as long
	// when a terminal was found to have less, and else every tryBeside.
	firstBeside, tryBeside = 10 * time.Second, time.Minute
	besideLength           = 3 * time.Second
	// settleAfter is for how long after a turn rates are not those of the shares, beside
	// settleRounds round trips: windows that are brought back at once come as a burst, which is
	// answered a round trip later, and only what comes after that is as before.
	settleAfter  = 600 * time.Millisecond
	settleRounds = 3
)

// hears takes in what the others ask for, and what came of a step in the phase that held.
func (t *together) hears(now time.Duration, a *agent) {
	before, step := t.phase, a.self.since
	all := make([]control.Heard, len(a.peers))
	others, oldest := 0.0, now
	for i, p := range a.peers {
		all[i] = control.Heard{Session: p.Report.Session, Turn: p.Report.Probe, At: time.Duration(p.HeardNs)}
		oldest = min(oldest, time.Duration(p.HeardNs))
		others += p.Report.UploadKbps.Bps() + p.Report.DownloadKbps.Bps()
	}
	t.turns.Hear(now, all)
	t.heard.hears(now, a.peers)
	joined, sent := t.keeping.joined(now, a.peers)
	if joined {
		t.joinedAt = now
		if a.self.doubtForeign() {
			t.still.every = 0 // at once
		}
	}
	if sent {
		a.control.Met()
	}
	a.control.Others(t.foreign(&a.self))
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
	if before.Kind == message.RTTProbe {
		a.self.still(now, step, before.Begin, t.before)
	} else if t.usual(now) { // queues that are about to fill again after a turn would say nothing
		t.before = mean
		for i := range a.peers {
			t.before = max(t.before, time.Duration(a.peers[i].Report.SmoothedRTTUs)*time.Microsecond)
		}
	}
	t.phase = t.turns.Phase(now)
	if before.Kind != message.NoProbe && t.phase.Kind != before.Kind {
		t.resumed = now
		if before.Kind == message.RTTProbe {
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

// usual says whether windows are and have been those of the shares.
func (t *together) usual(now time.Duration) bool {
	return t.phase.Kind == message.NoProbe && (t.resumed == 0 || now-t.resumed >= settleAfter+settleRounds*t.base)
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
	// F1 was mended after the copy was made.
	case a.config.Policy != control.Observe && d.Doubt && now-t.still.at >= t.pause(now):
		if asked = t.turns.Ask(now, message.RTTProbe, stillLength(t.before), lead); asked {
			t.still.at = now
		}
	case a.self.searches() && greedy && othersCarry(a.peers) && a.self.found.Wants(now, 1+len(a.peers), d):
		asked = t.turns.Ask(now, message.RateProbe, control.SoloLength(base, t.before), lead)
	case t.leads(a) && t.looksAgain():
		if asked = t.turns.Ask(now, message.RTTProbe, stillLength(t.before), lead); asked {
			t.still.at = now
		}
	case t.leads(a) && t.triesNow(now):
		length := trialLength
		if t.besideAt > 0 {
			length = besideLength
		}
		if asked = t.turns.Ask(now, message.ReleaseProbe, length, lead); asked {
			t.triedAt = now
		}
	}
	if asked {
		a.sender.SendEarly()
	}
}

// beside notes whether the queues of others who do not take part stand, without a doubt of this
// terminal.
func (t *together) beside(now time.Duration, self *self) {
	switch {
	case self.doubted() || !t.foreign(self):
		t.besideAt = 0
	case t.besideAt == 0:
		t.besideAt = now
	}
}

// looksAgain says whether all are to hold back once more before the next trial: that a terminal has
// less counts only where others' queues still stand.
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

// compare notes what the cell delivers, and lets all go for a while when bounds are found not to
// help. All see that, and the one that leads asks for it.
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

// leads says whether this terminal is the one that has bounds lifted to compare: the lowest
// session.
func (t *together) leads(a *agent) bool {
	if a.config.Policy == control.Observe {
		return false // F1, mended after the copy was made
	}
	for _, p := range a.peers {
		if p.Report.State != message.Observing && p.Report.Session < a.session {
			return false
		}
	}
	return true
}

// lead is in which time all others should hear of a turn, where it may be told that long before: in
// two reports, of which one goes at once if it may.
func (a *agent) lead() time.Duration {
	period := time.Duration(0)
	for _, p := range a.peers {
		period = max(period, time.Duration(p.Report.PeriodMs)*time.Millisecond)
	}
	reports := time.Duration(2)
	if a.sender.MaySendEarly() {
		reports = 1
	}
	return min(reports*period+100*time.Millisecond, max(period, message.LatestProbe-100*time.Millisecond))
}

func othersCarry(peers []message.Peer) bool {
	for _, p := range peers {
		if p.Report.UploadKbps+p.Report.DownloadKbps > 0 {
			return true
		}
	}
	return false
}

package probe

import (
	"cmp"
	"time"

	"airtide/internal/share/message"
)

// Schedule holds the probes that the terminals of a cell have agreed on. A terminal announces a
// probe in its reports before it begins. If two overlap, the probe of the lower session counts and
// the other terminal proposes again. A Schedule is not for several goroutines at once.
type Schedule struct {
	session      uint64
	planned      slot             // of this terminal
	announced    map[uint64]*slot // of peers, by session
	budget       time.Duration    // left for probes that hold somebody back
	budgetAt     time.Duration    // when it was computed; 0: not yet
	releaseUntil time.Duration    // this terminal asks its peers to lift bounds until then
	ended        time.Duration    // end of the last probe
	rttEnded     time.Duration    // end of the last RTT probe; 0: never
	waitingSince time.Duration    // for an RTT probe that peers announced; 0: not waiting
}

// slot is one probe with its times. Its kind is message.NoProbe if there is none.
type slot struct {
	kind       message.ProbeKind
	begin, end time.Duration
}

const (
	// holdBackShare is the part of the time that probes may take in which somebody is held back. It
	// holds for all terminals together, so that a hostile member gets no more under any sessions.
	holdBackShare = 0.1
	// holdBackSaved is how much of that time may be saved up.
	holdBackSaved = 3 * time.Second
	// gap is the least time between two probes, in which windows and rates become normal again.
	gap = 200 * time.Millisecond
	// rttProbeReuse is how long the result of an RTT probe answers every proposal of another one.
	rttProbeReuse = time.Second
	// sameProbe is how much the beginning of one probe may differ from report to report.
	sameProbe = 150 * time.Millisecond
)

// New makes the schedule of a terminal with a session.
func New(session uint64) *Schedule {
	return &Schedule{session: session, announced: map[uint64]*slot{}, budget: holdBackSaved}
}

// Update takes the newest reports of all peers.
func (s *Schedule) Update(now time.Duration, peers []message.Peer) {
	s.refill(now)
	present := map[uint64]bool{}
	for i := range peers {
		session := peers[i].Report.Session
		present[session] = true
		if s.announced[session] == nil {
			s.announced[session] = &slot{}
		}
		s.updateSlot(now, s.announced[session], &peers[i])
	}
	for session, a := range s.announced {
		s.endSlot(now, a)
		if !present[session] && now >= a.end {
			delete(s.announced, session)
		}
	}
	s.endSlot(now, &s.planned)
	if s.isAnswered(s.planned) {
		s.planned = slot{}
	}
	for session, a := range s.announced {
		if s.isAnswered(*a) {
			*a = slot{}
		}
		if session < s.session && now < s.planned.begin && a.overlaps(s.planned) {
			s.planned = slot{}
		}
	}
}

// endSlot clears a probe that is over.
func (s *Schedule) endSlot(now time.Duration, a *slot) {
	if a.kind == message.NoProbe || now < a.end {
		return
	}
	s.ended = max(s.ended, a.end)
	if a.kind == message.RTTProbe {
		s.rttEnded, s.waitingSince = max(s.rttEnded, a.end), 0
	}
	*a = slot{}
}

// isAnswered says whether a slot is an RTT probe that would follow another one too soon.
func (s *Schedule) isAnswered(a slot) bool {
	return a.kind == message.RTTProbe && s.rttEnded > 0 &&
		a.begin >= s.rttEnded && a.begin < s.rttEnded+rttProbeReuse
}

func (s *Schedule) refill(now time.Duration) {
	if s.budgetAt > 0 {
		s.budget = min(s.budget+time.Duration(holdBackShare*float64(now-s.budgetAt)), holdBackSaved)
	}
	s.budgetAt = now
}

// updateSlot takes one report. A probe that has begun goes on, whatever a later report says.
func (s *Schedule) updateSlot(now time.Duration, a *slot, p *message.Peer) {
	turn := p.Report.Probe
	begin := time.Duration(p.HeardNs) + time.Duration(turn.InMs)*time.Millisecond
	fresh := slot{turn.Kind, begin, begin + time.Duration(turn.ForMs)*time.Millisecond}
	switch {
	case fresh.kind == message.NoProbe:
		if now < a.begin {
			*a = slot{}
		}
	case now >= fresh.end || s.isAnswered(fresh):
	case fresh.kind == message.ReleaseProbe:
		*a = fresh
	case a.kind == fresh.kind && now < a.end && fresh.begin-a.begin < sameProbe && a.begin-fresh.begin < sameProbe:
		if now < a.begin && fresh.begin < a.begin { // this report was faster
			*a = fresh
		}
	case a.kind != message.NoProbe && now >= a.begin && now < a.end:
	case s.charge(fresh):
		*a = fresh
	}
}

// charge takes the length of a probe from the budget, and says whether there was enough.
func (s *Schedule) charge(a slot) bool {
	length := a.end - a.begin
	if a.kind == message.ReleaseProbe {
		return true
	}
	if length > s.budget {
		return false
	}
	s.budget -= length
	return true
}

func (a slot) overlaps(b slot) bool {
	return a.kind != message.NoProbe && b.kind != message.NoProbe && a.begin < b.end && b.begin < a.end
}

// Propose plans a probe of this terminal. It begins after a lead time in which all peers should
// hear of it, and after the probes that are known. It returns whether a new probe is planned now:
// if a peer has announced an RTT probe, that one serves.
func (s *Schedule) Propose(now time.Duration, kind message.ProbeKind, length, lead time.Duration) bool {
	if s.planned.kind != message.NoProbe || kind == message.RTTProbe && s.peersWillProbe(now) {
		return false
	}
	begin := max(now+lead, s.ended+gap)
	for moved := true; moved; {
		moved = false
		for _, a := range s.announced {
			if (slot{kind, begin - gap, begin + length + gap}).overlaps(*a) {
				begin, moved = a.end+gap, true
			}
		}
	}
	if message.ProbeIn(kind, begin-now, length) == (message.Probe{}) {
		return false
	}
	proposed := slot{kind, begin, begin + length}
	if s.isAnswered(proposed) || !s.charge(proposed) {
		return false
	}
	s.planned, s.waitingSince = proposed, 0
	return true
}

// peersWillProbe says whether a peer has announced an RTT probe, so that this terminal need not. It
// waits no longer than a probe may be announced before: a peer that moves its probe again and again
// keeps nobody from having one.
func (s *Schedule) peersWillProbe(now time.Duration) bool {
	for _, a := range s.announced {
		if a.kind == message.RTTProbe && now < a.end {
			s.waitingSince = cmp.Or(s.waitingSince, now)
			return now-s.waitingSince < message.LatestProbe
		}
	}
	return false
}

// ReleaseUntil asks all peers to lift their bounds until a time. Every report repeats it.
func (s *Schedule) ReleaseUntil(t time.Duration) { s.releaseUntil = t }

// Announced returns what this terminal announces until the next step.
func (s *Schedule) Announced(now time.Duration) Proposal {
	switch {
	case now < s.releaseUntil:
		return Proposal{Kind: message.ReleaseProbe, End: s.releaseUntil, Repeat: true}
	case now < s.planned.begin:
		return Proposal{Kind: s.planned.kind, Begin: s.planned.begin, End: s.planned.end}
	}
	return Proposal{}
}

// Active returns the probe that runs now.
func (s *Schedule) Active(now time.Duration) Active {
	if now < s.releaseUntil {
		return Active{Kind: message.ReleaseProbe, Own: true, Begin: now, End: s.releaseUntil}
	}
	var active Active
	lowest := s.session
	if s.planned.contains(now) {
		active = Active{s.planned.kind, true, s.planned.begin, s.planned.end}
	}
	for session, a := range s.announced {
		if a.contains(now) && (active.Kind == message.NoProbe || session < lowest) {
			lowest = session
			active = Active{a.kind, false, a.begin, a.end}
		}
	}
	return active
}

func (a slot) contains(now time.Duration) bool {
	return a.kind != message.NoProbe && now >= a.begin && now < a.end
}

// NextChange returns when a probe begins or ends next; false if none is known.
func (s *Schedule) NextChange(now time.Duration) (next time.Duration, known bool) {
	see := func(at time.Duration) {
		if at > now && (!known || at < next) {
			next, known = at, true
		}
	}
	all := []slot{s.planned}
	for _, a := range s.announced {
		all = append(all, *a)
	}
	for _, one := range all {
		if one.kind != message.NoProbe {
			see(one.begin)
			see(one.end)
		}
	}
	return next, known
}

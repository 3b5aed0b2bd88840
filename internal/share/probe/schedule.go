package probe

import (
	"cmp"
	"net/netip"
	"time"

	"airtide/internal/share/message"
)

// Schedule holds the announced probes of a cell. A terminal announces a probe in its reports before
// the probe begins. If two probes overlap, the probe of the lower session counts. A Schedule is not
// safe for concurrent use.
type Schedule struct {
	session      uint64
	planned      slot                       // this terminal's probe
	announced    map[uint64]*slot           // peers' probes, by session
	holdBack     budget                     // budget of all probes that hold terminals back
	own          budget                     // the part of this terminal's probes in it
	peers        map[netip.AddrPort]*budget // the parts of peers, by address
	releases     budget                     // budget of releases that peers ask for
	refused      bool                       // releases of peers are refused, because their budget was spent
	agreed       bool                       // this terminal finds that bounds do not help
	updated      time.Duration              // time of the last update, 0 before the first
	releaseUntil time.Duration              // this terminal asks its peers to lift bounds until then
	ended        time.Duration              // end of the last probe
	rttEnded     time.Duration              // end of the last RTT probe, 0 before the first
	waitingSince time.Duration              // start of the wait for a peer's RTT probe, 0 without a wait
}

// slot is a probe with its times. Its kind is message.NoProbe if there is no probe.
type slot struct {
	kind       message.ProbeKind
	begin, end time.Duration
}

const (
	// holdBackShare is the part of the time for probes that hold terminals back. All terminals
	// share it, so that a hostile member gains nothing from more sessions.
	holdBackShare = 0.1
	// holdBackSaved is the highest budget for these probes: that of two terminals. So one that asks
	// without end leaves as much to the others.
	holdBackSaved = 2 * eachSaved
	// eachSaved is the highest budget of the probes of one terminal, which refills as fast. So one
	// that asks without end does not spend what all have saved: it holds others back for two of the
	// first seconds, and not for four.
	eachSaved = 2 * time.Second
	// releaseShare is the part of the time for releases that peers ask for, unless this terminal
	// has found itself that bounds do not help: three seconds a minute, the most that release
	// probes beside foreign queues need. releaseSaved is the highest budget, and releaseLeast the
	// least one with which a release is followed after the budget was spent: one release probe.
	releaseShare = 0.05
	releaseSaved = 10 * time.Second
	releaseLeast = 3 * time.Second
	// gap is the least time between two probes. Windows and rates recover in it.
	gap = 200 * time.Millisecond
	// rttProbeReuse is the time for which the result of an RTT probe replaces another RTT probe.
	rttProbeReuse = time.Second
	// sameProbe is the greatest variation of the start of a probe between its reports.
	sameProbe = 150 * time.Millisecond
)

// budget is the time that is left for probes of a kind.
type budget struct{ left time.Duration }

// refill adds the part share of a time, up to saved.
func (b *budget) refill(since time.Duration, share float64, saved time.Duration) {
	b.left = min(b.left+time.Duration(share*float64(since)), saved)
}

// New returns the empty schedule of a terminal's session.
func New(session uint64) *Schedule {
	return &Schedule{
		session: session, announced: map[uint64]*slot{}, peers: map[netip.AddrPort]*budget{},
		holdBack: budget{holdBackSaved}, own: budget{eachSaved}, releases: budget{releaseSaved},
	}
}

// AgreeToRelease sets whether this terminal has found itself that bounds do not help. Then it
// follows peers that ask for a release, as long as they ask.
func (s *Schedule) AgreeToRelease(agreed bool) { s.agreed = agreed }

// Update adds the newest reports of all peers.
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

// endSlot clears a probe after its end.
func (s *Schedule) endSlot(now time.Duration, a *slot) {
	if a.kind == message.NoProbe || now < a.end {
		return
	}
	s.ended = max(s.ended, a.end)
	if a.kind == message.RTTProbe {
		s.rttEnded = max(s.rttEnded, a.end)
		s.waitingSince = 0
	}
	*a = slot{}
}

// isAnswered reports whether a slot is an RTT probe too soon after another RTT probe.
func (s *Schedule) isAnswered(a slot) bool {
	return a.kind == message.RTTProbe && s.rttEnded > 0 &&
		a.begin >= s.rttEnded && a.begin < s.rttEnded+rttProbeReuse
}

// refill refills all budgets by the time since the last update. Releases that peers asked for in it
// are paid.
func (s *Schedule) refill(now time.Duration) {
	since := time.Duration(0)
	if s.updated > 0 {
		since = now - s.updated
	}
	s.updated = now
	s.holdBack.refill(since, holdBackShare, holdBackSaved)
	s.own.refill(since, holdBackShare, eachSaved)
	for address, b := range s.peers {
		b.refill(since, holdBackShare, eachSaved)
		if b.left == eachSaved {
			delete(s.peers, address)
		}
	}
	if active := s.Active(now); active.Kind == message.ReleaseProbe && !active.Own {
		s.releases.left -= since
	} else {
		s.releases.refill(since, releaseShare, releaseSaved)
	}
	if s.releases.left <= 0 {
		s.refused = true
	}
	if s.releases.left >= releaseLeast {
		s.refused = false
	}
}

// updateSlot adds one report. Later reports do not change a running probe.
func (s *Schedule) updateSlot(now time.Duration, a *slot, p *message.Peer) {
	announced := p.Report.Probe
	begin := time.Duration(p.HeardNs) + time.Duration(announced.InMs)*time.Millisecond
	fresh := slot{announced.Kind, begin, begin + time.Duration(announced.ForMs)*time.Millisecond}
	switch {
	case fresh.kind == message.NoProbe:
		if now < a.begin {
			*a = slot{}
		}
	case now >= fresh.end || s.isAnswered(fresh):
	case fresh.kind == message.ReleaseProbe && s.refused && !s.agreed:
		*a = slot{}
	case fresh.kind == message.ReleaseProbe:
		*a = fresh
	case a.kind == fresh.kind && now < a.end && fresh.begin-a.begin < sameProbe && a.begin-fresh.begin < sameProbe:
		if now < a.begin && fresh.begin < a.begin { // this report had less delay
			*a = fresh
		}
	case a.kind != message.NoProbe && now >= a.begin && now < a.end:
	case s.charge(s.budgetOf(p.Source), fresh):
		*a = fresh
	}
}

// charge takes the length of a probe from the budget of all and from that of the terminal that asks
// for it. It returns false if one of them is too small.
func (s *Schedule) charge(of *budget, a slot) bool {
	length := a.end - a.begin
	if a.kind == message.ReleaseProbe {
		return true
	}
	if length > of.left || length > s.holdBack.left {
		return false
	}
	of.left -= length
	s.holdBack.left -= length
	return true
}

// budgetOf returns the budget of the peer at an address.
func (s *Schedule) budgetOf(source netip.AddrPort) *budget {
	if s.peers[source] == nil {
		s.peers[source] = &budget{eachSaved}
	}
	return s.peers[source]
}

func (a slot) overlaps(b slot) bool {
	return a.kind != message.NoProbe && b.kind != message.NoProbe && a.begin < b.end && b.begin < a.end
}

// Propose plans a probe of this terminal and reports whether it did. The probe begins after a lead
// time, in which all peers should receive its announcement, and after all known probes. If a peer
// has announced an RTT probe, no other RTT probe is planned.
func (s *Schedule) Propose(now time.Duration, kind message.ProbeKind, length, lead time.Duration) bool {
	if s.planned.kind != message.NoProbe || kind == message.RTTProbe && s.peersWillProbe(now) {
		return false
	}
	begin := max(now+lead, s.ended+gap)
	for moved := true; moved; {
		moved = false
		for _, a := range s.announced {
			if (slot{kind, begin - gap, begin + length + gap}).overlaps(*a) {
				begin = a.end + gap
				moved = true
			}
		}
	}
	if message.ProbeIn(kind, begin-now, length) == (message.Probe{}) {
		return false
	}
	proposed := slot{kind, begin, begin + length}
	if s.isAnswered(proposed) || !s.charge(&s.own, proposed) {
		return false
	}
	s.planned = proposed
	s.waitingSince = 0
	return true
}

// peersWillProbe reports whether this terminal waits for the RTT probe of a peer. The wait is at
// most the longest announcement, so that a peer cannot delay probes for ever.
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

// Announced returns the announcement of this terminal until the next step.
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

// NextChange returns the next start or end of a probe. It returns false if no probe is known.
func (s *Schedule) NextChange(now time.Duration) (next time.Duration, known bool) {
	add := func(at time.Duration) {
		if at > now && (!known || at < next) {
			next = at
			known = true
		}
	}
	all := []slot{s.planned}
	for _, a := range s.announced {
		all = append(all, *a)
	}
	for _, a := range all {
		if a.kind != message.NoProbe {
			add(a.begin)
			add(a.end)
		}
	}
	return next, known
}

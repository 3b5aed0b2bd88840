package control

import (
	"cmp"
	"time"

	"airtide/internal/share/message"
)

// Turns are times at which the terminals of a cell do something together so that it can be
// measured: one has the cell for itself, all hold back, or nobody is bound. Who wants one says in
// its reports when it will be; where two overlap that of the lower session counts, and the other
// one asks again. It is not for several goroutines at once.
type Turns struct {
	own     uint64           // session
	planned turn             // by this terminal
	heard   map[uint64]*turn // by other terminals, by session
	left    time.Duration    // for turns in which some hold back
	filled  time.Duration    // when that was reckoned; 0 is not yet
	freeTo  time.Duration    // everybody is asked to be free until then
	ended   time.Duration    // when the last one ended
	stood   time.Duration    // when the last one ended in which all held back; 0 is never
	waits   time.Duration    // since when this terminal waits for such a one that others ask for; 0 is not
}

type turn struct {
	kind       message.ProbeKind
	begin, end time.Duration
}

// Heard is the newest report of another terminal.
type Heard struct {
	Session uint64
	Turn    message.Probe
	At      time.Duration // when it came
}

// Phase is what is done at a time. Kind is message.NoProbe outside turns.
type Phase struct {
	Kind       message.ProbeKind
	Own        bool // this terminal has asked for it
	Begin, End time.Duration
}

const (
	// heldBack is the part of the time that turns may take in which some hold back, of all
	// terminals together, so that a member that asks for them without end, under whatever sessions,
	// gets no more; mostLeft is what may be saved up. Since all reckon alike, nobody asks for what
	// the others would not do.
	heldBack = 0.1
	mostLeft = 3 * time.Second
	// betweenTurns is how long windows and rates need to be as before.
	betweenTurns = 200 * time.Millisecond
	// answered is for how long after a turn in which all held back there is no other such one: who
	// asked for one meanwhile has seen what it wanted to see.
	answered = time.Second
	// sameTurn is by how much the beginning of one turn may differ from report to report.
	sameTurn = 150 * time.Millisecond
)

// NewTurns makes those of a terminal with a session.
func NewTurns(session uint64) *Turns {
	return &Turns{own: session, heard: map[uint64]*turn{}, left: mostLeft}
}

// Hear takes in the newest reports of all that are there.
func (t *Turns) Hear(now time.Duration, all []Heard) {
	t.fill(now)
	there := map[uint64]bool{}
	for _, h := range all {
		there[h.Session] = true
		if t.heard[h.Session] == nil {
			t.heard[h.Session] = &turn{}
		}
		t.hear(now, t.heard[h.Session], h)
	}
	for session, a := range t.heard {
		t.end(now, a)
		if !there[session] && now >= a.end {
			delete(t.heard, session)
		}
	}
	t.end(now, &t.planned)
	if t.isAnswered(t.planned) {
		t.planned = turn{}
	}
	for session, a := range t.heard {
		if t.isAnswered(*a) {
			*a = turn{}
		}
		if session < t.own && now < t.planned.begin && a.overlaps(t.planned) {
			t.planned = turn{}
		}
	}
}

// end clears a turn that is over.
func (t *Turns) end(now time.Duration, a *turn) {
	if a.kind == message.NoProbe || now < a.end {
		return
	}
	t.ended = max(t.ended, a.end)
	if a.kind == message.RTTProbe {
		t.stood, t.waits = max(t.stood, a.end), 0
	}
	*a = turn{}
}

// isAnswered says whether a turn is one in which all would hold back again too soon.
func (t *Turns) isAnswered(a turn) bool {
	return a.kind == message.RTTProbe && t.stood > 0 && a.begin >= t.stood && a.begin < t.stood+answered
}

func (t *Turns) fill(now time.Duration) {
	if t.filled > 0 {
		t.left = min(t.left+time.Duration(heldBack*float64(now-t.filled)), mostLeft)
	}
	t.filled = now
}

// hear takes in one report. What has begun goes on whatever a later report says.
func (t *Turns) hear(now time.Duration, a *turn, h Heard) {
	begin := h.At + time.Duration(h.Turn.InMs)*time.Millisecond
	fresh := turn{h.Turn.Kind, begin, begin + time.Duration(h.Turn.ForMs)*time.Millisecond}
	switch {
	case fresh.kind == message.NoProbe:
		if now < a.begin {
			*a = turn{}
		}
	case now >= fresh.end || t.isAnswered(fresh):
	case fresh.kind == message.ReleaseProbe:
		*a = fresh
	case a.kind == fresh.kind && now < a.end && fresh.begin-a.begin < sameTurn && a.begin-fresh.begin < sameTurn:
		if now < a.begin && fresh.begin < a.begin { // a report that was faster
			*a = fresh
		}
	case a.kind != message.NoProbe && now >= a.begin && now < a.end:
	case t.takes(fresh):
		*a = fresh
	}
}

// takes has a turn in which some hold back count, and says whether it may be.
func (t *Turns) takes(one turn) bool {
	length := one.end - one.begin
	if one.kind == message.ReleaseProbe {
		return true
	}
	if length > t.left {
		return false
	}
	t.left -= length
	return true
}

func (t turn) overlaps(o turn) bool {
	return t.kind != message.NoProbe && o.kind != message.NoProbe && t.begin < o.end && o.begin < t.end
}

// Ask plans a turn of this terminal, to begin after a lead in which all others should hear of it,
// and behind the turns that are known. It says whether there is one planned now that was not
// before: when somebody else has asked all to hold back, that will do.
func (t *Turns) Ask(now time.Duration, kind message.ProbeKind, length, lead time.Duration) bool {
	if t.planned.kind != message.NoProbe || kind == message.RTTProbe && t.othersAsk(now) {
		return false
	}
	begin := max(now+lead, t.ended+betweenTurns)
	for moved := true; moved; {
		moved = false
		for _, a := range t.heard {
			if (turn{kind, begin - betweenTurns, begin + length + betweenTurns}).overlaps(*a) {
				begin, moved = a.end+betweenTurns, true
			}
		}
	}
	if message.ProbeIn(kind, begin-now, length) == (message.Probe{}) {
		return false
	}
	asked := turn{kind, begin, begin + length}
	if t.isAnswered(asked) || !t.takes(asked) {
		return false
	}
	t.planned, t.waits = asked, 0
	return true
}

// othersAsk says whether somebody else has asked all to hold back, so that this terminal need not.
// It does not wait for longer than such a turn is told before: who asks again and again for what
// never comes keeps nobody from it.
func (t *Turns) othersAsk(now time.Duration) bool {
	for _, a := range t.heard {
		if a.kind == message.RTTProbe && now < a.end {
			t.waits = cmp.Or(t.waits, now)
			return now-t.waits < message.LatestProbe
		}
	}
	return false
}

// Release asks all to be free until a time, again and again as reports go out.
func (t *Turns) Release(until time.Duration) { t.freeTo = until }

// Phase is what is done now.
func (t *Turns) Phase(now time.Duration) Phase {
	if now < t.freeTo {
		return Phase{Kind: message.ReleaseProbe, Own: true, Begin: now, End: t.freeTo}
	}
	var phase Phase
	lowest := t.own
	if t.planned.holds(now) {
		phase = Phase{t.planned.kind, true, t.planned.begin, t.planned.end}
	}
	for session, a := range t.heard {
		if a.holds(now) && (phase.Kind == message.NoProbe || session < lowest) {
			lowest = session
			phase = Phase{a.kind, false, a.begin, a.end}
		}
	}
	return phase
}

func (t turn) holds(now time.Duration) bool {
	return t.kind != message.NoProbe && now >= t.begin && now < t.end
}

// Next is when a turn begins or ends next; false when none is known.
func (t *Turns) Next(now time.Duration) (next time.Duration, known bool) {
	see := func(at time.Duration) {
		if at > now && (!known || at < next) {
			next, known = at, true
		}
	}
	all := []turn{t.planned}
	for _, a := range t.heard {
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

// Announced is what Saying tells until the next step. It was added to the frozen code.
func (t *Turns) Announced(now time.Duration) struct {
	Kind       message.ProbeKind
	Begin, End time.Duration
	Repeat     bool
} {
	a := struct {
		Kind       message.ProbeKind
		Begin, End time.Duration
		Repeat     bool
	}{}
	switch {
	case now < t.freeTo:
		a.Kind, a.End, a.Repeat = message.ReleaseProbe, t.freeTo, true
	case now < t.planned.begin:
		a.Kind, a.Begin, a.End = t.planned.kind, t.planned.begin, t.planned.end
	}
	return a
}

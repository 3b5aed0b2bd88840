package message

import (
	"cmp"
	"net/netip"
	"slices"
)

// Peer is another terminal that is there.
type Peer struct {
	Source  netip.AddrPort
	Report  Report // its newest
	HeardNs int64
}

// Peers appends the other terminals that are there, in the order of their sessions: confirmed, not
// silent, not gone, and at most one for each source. Those only may move anything.
func (r *Receiver) Peers(dst []Peer, nowNs int64) []Peer {
	nowNs = r.look(nowNs)
	// Sessions are put in order, not peers: a thousand of those take ten times as long.
	present := r.scratch[:0]
	for _, s := range r.sessions {
		if r.present(s, nowNs) {
			present = append(present, s)
		}
	}
	slices.SortFunc(present, func(a, b *session) int { return cmp.Compare(a.id, b.id) })
	for _, s := range present {
		dst = append(dst, Peer{s.source, s.report, s.heardNs})
	}
	clear(present) // keeps no session that is forgotten
	r.scratch = present[:0]
	return dst
}

func (r *Receiver) present(s *session, nowNs int64) bool {
	return s.accepted && !s.left() && s.confirmed(r.rotation) && !s.silent(nowNs, r.periodNs) && r.holders[s.source] == s
}

// An agent that is younger than so many reports of its own takes all that it hears for terminals of
// the cell; later no more than so many beyond as many as are confirmed.
const (
	youngReports  = 20
	trustedBeyond = 8
	itself        = 1
)

// Terminals is how many terminals the cell has, oneself among them, for the purpose of the period.
// Sessions that are not confirmed count, for when many start at once nobody is confirmed. They do
// so without limit only while this agent is young: later they are few, or recordings, which can at
// most double the period and add that of eight terminals.
func (r *Receiver) Terminals(nowNs int64) int {
	nowNs = r.look(nowNs)
	present, unconfirmed := 0, 0
	for _, s := range r.sessions {
		switch {
		case r.present(s, nowNs):
			present++
		case !s.confirmed(r.rotation) && !s.left() && !s.silent(nowNs, r.periodNs):
			unconfirmed++
		}
	}
	if r.report >= youngReports {
		unconfirmed = min(unconfirmed, present+trustedBeyond)
	}
	return itself + present + unconfirmed
}

// reckonPeriodNs follows the length of one's last datagram: after a long one the next is due later.
func (r *Receiver) reckonPeriodNs(nowNs int64) int64 {
	n := r.Terminals(nowNs)
	return PeriodNs(n, r.link.passedOnNs(r.size, n-itself, r.hubs.places()))
}

// look tidies up with time. It returns the time, which never goes back.
func (r *Receiver) look(nowNs int64) int64 {
	r.nowNs = max(r.nowNs, nowNs)
	if r.nowNs < r.lookNs {
		return r.nowNs
	}
	r.lookNs = r.nowNs + r.periodNs/looksPerPeriod
	r.periodNs = r.reckonPeriodNs(r.nowNs)
	r.rotateWhenDue(r.nowNs)
	r.hubs.forget(r.nowNs, r.rotationNs())
	for id, s := range r.sessions {
		if s.forgettable(r.nowNs, r.periodNs, r.rotation) {
			r.release(s)
			if s.proven != 0 {
				r.proven--
			}
			delete(r.sessions, id)
		}
	}
	return r.nowNs
}

// Session is one's own.
func (r *Receiver) Session() uint64 { return r.session }

// AcceptedNs is when the latest report was accepted from anybody; before the first, when the
// Receiver was made. However many terminals there are, they send about as many reports a second
// together (PeriodNs), so that silence of all tells much sooner that the network is gone than
// silence of one tells that it has gone.
func (r *Receiver) AcceptedNs() int64 { return r.acceptedNs }

// MeanGapNs is the mean time between two moments at which others are heard: their reports come one
// by one, or those in a hub's bundle at once. So many of them are left aside. Without others it is
// 0.
func (r *Receiver) MeanGapNs(aside int) int64 {
	others := r.Terminals(r.nowNs) - itself - aside
	if others <= 0 {
		return 0
	}
	together := 1
	if r.hubs.places() > 0 {
		together = bundledReports(r.size, others)
	}
	return int64(together) * r.periodNs / int64(others)
}

// Counts are the datagrams so far, by what became of them.
func (r *Receiver) Counts() [NumReasons]uint64 { return r.counts }

// SetLink says how datagrams cross the cell from now on.
func (r *Receiver) SetLink(l Link) { r.link = l }

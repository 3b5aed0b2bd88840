package message

import (
	"cmp"
	"net/netip"
	"slices"

	"airtide/internal/share/cellkey"
)

// Peer is another present terminal.
type Peer struct {
	Source  netip.AddrPort
	Report  Report // the newest
	HeardNs int64
	// Key is the tag of the key under which Report was sealed.
	Key cellkey.Tag `json:"-"`
}

// Peers appends the other present terminals in the order of their sessions. They are confirmed, not
// silent and have not left, and each source has at most one. Only peers may affect the control.
func (r *Receiver) Peers(dst []Peer, nowNs int64) []Peer {
	nowNs = r.look(nowNs)
	// Sorting sessions takes a tenth of the time of sorting peers.
	present := r.scratch[:0]
	for _, s := range r.sessions {
		if r.present(s, nowNs) {
			present = append(present, s)
		}
	}
	slices.SortFunc(present, func(a, b *session) int { return cmp.Compare(a.id, b.id) })
	for _, s := range present {
		dst = append(dst, Peer{s.source, s.report, s.heardNs, s.tag})
	}
	clear(present) // frees forgotten sessions
	r.scratch = present[:0]
	return dst
}

func (r *Receiver) present(s *session, nowNs int64) bool {
	return s.accepted && !s.left() && s.confirmed(r.rotation) && !s.silent(nowNs, r.periodNs) &&
		r.holders[s.source] == s
}

const (
	// youngReports is the number of own reports before which all unconfirmed sessions count.
	youngReports = 20
	// trustedBeyond is the excess of unconfirmed over confirmed sessions that counts later.
	trustedBeyond = 8
	itself        = 1
)

// Terminals returns the number of terminals in the cell, including this one, to choose the period.
// Unconfirmed sessions count, because at a common start no session is confirmed. Later their number
// is limited, so that replays at most double the period and add that of eight terminals.
func (r *Receiver) Terminals(nowNs int64) int {
	nowNs = r.look(nowNs)
	present := 0
	unconfirmed := 0
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

// computePeriodNs returns the period. It grows with the length of this terminal's last datagram.
func (r *Receiver) computePeriodNs(nowNs int64) int64 {
	n := r.Terminals(nowNs)
	return PeriodNs(n, r.link.passedOnNs(r.size, n-itself, r.hubs.places()))
}

// look updates the challenges and forgets gone sessions. It returns a time that never decreases.
func (r *Receiver) look(nowNs int64) int64 {
	r.nowNs = max(r.nowNs, nowNs)
	if r.nowNs < r.lookNs {
		return r.nowNs
	}
	r.lookNs = r.nowNs + r.periodNs/looksPerPeriod
	r.periodNs = r.computePeriodNs(r.nowNs)
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

// Session returns the session of this terminal.
func (r *Receiver) Session() uint64 { return r.session }

// MeanGapNs returns the mean time between the arrivals of other terminals' reports, or 0 without
// others. The reports of a hub's bundle arrive together. It does not count aside of the others.
func (r *Receiver) MeanGapNs(aside int) int64 {
	others := r.Terminals(r.nowNs) - itself - aside
	if others <= 0 {
		return 0
	}
	reports := 1
	if r.hubs.places() > 0 {
		reports = bundledReports(r.size, others)
	}
	return int64(reports) * r.periodNs / int64(others)
}

// Counts returns the numbers of datagrams by reason.
func (r *Receiver) Counts() [NumReasons]uint64 { return r.counts }

// SetLink changes the path of datagrams.
func (r *Receiver) SetLink(l Link) { r.link = l }

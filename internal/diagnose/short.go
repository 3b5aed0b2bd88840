package diagnose

import (
	"math"

	"airtide/internal/units"
)

// shortBytes is the initial window of ten segments. A connection with less needs no second window:
// its time is that of its round trips.
const (
	shortBytes = 14480
	shortNs    = int64(1e9)
)

// isShort reports whether the flow lived for a moment and moved less than an initial window.
func (f *flow) isShort() bool {
	life := f.bins[len(f.bins)-1].toNs - max(f.bins[0].fromNs, f.openNs)
	return !f.Inherited && f.closedNs > 0 && f.ackedAll+f.receivedAll <= shortBytes && life < shortNs
}

// short judges a short connection: the handshake, the round trips after it, and its end.
func (f *flow) short() Phase {
	p := f.phase(f.bins)
	var s shares
	endNs := max(p.toNs, f.closedNs)
	length := math.Max(1, float64(endNs-p.fromNs))
	if f.source == Polled {
		s[Unknown] = 1
		m := &match{limit: Unknown}
		m.because("acked_bytes", "%s sent and %d received between two polls",
			units.Count(f.ackedAll, "byte"), f.receivedAll)
		return Phase{StartNs: p.fromNs, EndNs: p.toNs, Shares: s.list(), Finding: m.finding()}
	}
	if f.openNs > p.fromNs && f.FirstNs > 0 {
		s[Handshake] = min(float64(f.openNs-p.fromNs), length)
	}
	if f.closingNs > 0 {
		s[Teardown] = min(float64(max(0, f.closedNs-f.closingNs)), length-s[Handshake])
	}
	s[RoundTrips] = math.Max(1, length-s[Handshake]-s[Teardown])
	list := s.list()
	m := verdict(list[0].Limit, true).
		because("acked_bytes", "%s sent and %d received: less than an initial window",
			units.Count(f.ackedAll, "byte"), f.receivedAll).
		because("open", "of %s the handshake took %s, and the end %s", milliseconds(length/1000),
			milliseconds(s[Handshake]/1000), milliseconds(s[Teardown]/1000))
	found := m.finding()
	found.Next = p.next(m.limit)
	return Phase{
		StartNs: p.fromNs, EndNs: endNs, RateBps: p.rateBps(), RttUs: p.rttUs, Shares: list, Finding: found,
	}
}

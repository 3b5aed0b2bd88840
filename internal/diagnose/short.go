package diagnose

import "math"

// shortBytes is the initial window of ten segments. A connection with less needs no second window:
// its time is that of its round trips.
const (
	shortBytes = 14480
	shortNs    = int64(1e9)
)

// isShort reports whether the flow lived for a moment and moved less than an initial window.
func (f *flow) isShort() bool {
	life := f.bins[len(f.bins)-1].toNs - f.bins[0].fromNs
	return !f.Inherited && f.closedNs > 0 && f.ackedAll+f.receivedAll <= shortBytes && life < shortNs
}

// short judges a short connection: the handshake, and the round trips after it.
func (f *flow) short() Phase {
	p := f.phase(f.bins)
	var s shares
	length := float64(p.toNs - p.fromNs)
	handshake := 0.0
	if f.openNs > p.fromNs && f.FirstNs > 0 {
		handshake = min(float64(f.openNs-p.fromNs), length)
	}
	if f.source == Polled {
		s[Unknown] = 1
		m := &match{limit: Unknown}
		m.because("acked_bytes", "%d bytes sent and %d received between two polls", f.ackedAll, f.receivedAll)
		return Phase{StartNs: p.fromNs, EndNs: p.toNs, Shares: s.list(), Finding: m.finding()}
	}
	s[Handshake] = handshake
	s[RoundTrips] = math.Max(1, length-handshake)
	m := verdict(RoundTrips, true).
		because("acked_bytes", "%d bytes sent and %d received: less than an initial window", f.ackedAll, f.receivedAll).
		because("open", "the handshake took %s of %s", milliseconds(handshake/1000), milliseconds(length/1000))
	limit := RoundTrips
	if s[Handshake] > s[RoundTrips] {
		limit = Handshake
	}
	return Phase{
		StartNs: p.fromNs, EndNs: p.toNs, RateBps: p.rateBps(), RttUs: p.rttUs, Shares: s.list(),
		Finding: Finding{
			Limit: limit, Certainty: Certain, Or: []Limit{}, Sentence: limit.Sentence(), Evidence: m.evidence,
			Refuted: limit.refuted(), Next: p.next(limit),
		},
	}
}

package message

import (
	"net/netip"
	"slices"
)

// hubs holds the hubs whose bundles a terminal accepts.
type hubs struct {
	itself   bool // the Receiver belongs to a hub
	allowed  []netip.Addr
	sessions map[uint64]*session // they get answers, but do not count as terminals
	plain    []byte
}

// mostHubs is the greatest number of known hub sessions. A restarted hub has a new session, and old
// bundles may be replayed.
const mostHubs = 8

func (h *hubs) init(allowed []netip.Addr) {
	h.sessions = map[uint64]*session{}
	for _, a := range allowed {
		h.allowed = append(h.allowed, a.Unmap())
	}
}

// places returns the number of present hubs. A hub may have several sessions.
func (h *hubs) places() int {
	if h.itself {
		return 1
	}
	n := 0
	for _, a := range h.allowed {
		for _, s := range h.sessions {
			if s.source.Addr() == a {
				n++
				break
			}
		}
	}
	return n
}

// forget removes sessions that have been silent for a time.
func (h *hubs) forget(nowNs, afterNs int64) {
	for id, s := range h.sessions {
		if nowNs-s.heardNs > afterNs {
			delete(h.sessions, id)
		}
	}
}

// Take accepts a datagram from a source: a report, like Receive, or a hub's bundle. The reports of
// a bundle have the sources from which the hub received them. A source has a port only if terminals
// behind one address differ in it.
func (r *Receiver) Take(from netip.AddrPort, datagram []byte, nowNs int64) Reason {
	if !isBundle(datagram) {
		_, reason := r.Receive(from, datagram, nowNs)
		return reason
	}
	nowNs = r.look(nowNs)
	from = netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
	b, reason := r.unbundle(from, datagram, nowNs)
	r.counts[reason]++
	for entries := b.entries; len(entries) > 0; {
		e, rest, err := cutEntry(entries)
		if err != nil {
			break // decodeBundle has checked all entries
		}
		r.Receive(e.source, e.datagram, nowNs)
		entries = rest
	}
	return reason
}

// unbundle opens a bundle and stores the hub's challenge.
func (r *Receiver) unbundle(from netip.AddrPort, datagram []byte, nowNs int64) (bundle, Reason) {
	h, err := parseHeaderOf(magicBundle, shortestBundle, datagram)
	if err != nil {
		return bundle{}, reasonOf(err)
	}
	key := r.keys.find(h.tag)
	if key == nil {
		return bundle{}, OtherCell
	}
	if !slices.Contains(r.hubs.allowed, from.Addr()) {
		return bundle{}, NotAHub
	}
	s := r.hubs.sessions[h.session]
	if s != nil {
		if reason := s.window.judge(h.sequence); reason != Accepted {
			return bundle{}, reason
		}
	}
	if !r.admitHub(from, s, nowNs) {
		return bundle{}, RateLimited
	}
	if s == nil {
		s = &session{id: h.session, source: from}
	}
	r.hubs.plain, err = open(r.hubs.plain[:0], s.sealers.of(key, h.session), datagram)
	if err != nil {
		return bundle{}, WrongKey
	}
	b, err := decodeBundle(r.hubs.plain)
	if err != nil {
		return bundle{}, reasonOf(err)
	}
	r.knowHub(s)
	s.window.take(h.sequence)
	s.heardNs = nowNs
	if b.challenge != s.challenge {
		s.challenge = b.challenge
		s.answers = 0
	}
	if !b.confirmed {
		s.answers = min(s.answers, answersAtOnce-1)
	}
	return b, Bundled
}

// admitHub takes the tokens for a bundle. A known hub has its own bucket, so that other senders
// cannot starve it.
func (r *Receiver) admitHub(from netip.AddrPort, s *session, nowNs int64) bool {
	if s != nil && s.source == from {
		return s.bucket.take(perSource, nowNs) && r.peers.take(allPeers, nowNs)
	}
	return r.sources.bucket(from).take(perSource, nowNs) && r.unproven.take(allUnproven, nowNs)
}

// knowHub stores the session of a hub. Without room, it replaces the longest silent session.
func (r *Receiver) knowHub(s *session) {
	if r.hubs.sessions[s.id] != nil {
		return
	}
	if len(r.hubs.sessions) >= mostHubs {
		var oldest *session
		for _, c := range r.hubs.sessions {
			if oldest == nil || c.heardNs < oldest.heardNs {
				oldest = c
			}
		}
		delete(r.hubs.sessions, oldest.id)
	}
	r.heard++
	s.firstHeard = r.heard
	r.hubs.sessions[s.id] = s
}

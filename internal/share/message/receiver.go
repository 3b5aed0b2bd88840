package message

import (
	"container/list"
	"math/rand/v2"
	"net/netip"

	"airtide/internal/share/cellkey"
)

// DefaultMaxPeers is how many peers a Receiver knows at most unless it is told otherwise.
const DefaultMaxPeers = 1024

// Config is what a Receiver and its Sender need to know.
type Config struct {
	Key  cellkey.Key
	Link Link
	// MaxPeers counts others, not oneself. Zero: DefaultMaxPeers. As many sessions that are not
	// confirmed are known besides.
	MaxPeers int
	// Hubs are where bundles may come from: the addresses of the hubs that one's own reports go to.
	Hubs []netip.Addr
	// Random makes sessions, challenges and jitter. Nil: the system's, which is the one to use
	// outside tests.
	Random rand.Source
}

// Receiver takes datagrams and knows the peers. Its memory is bounded by MaxPeers.
type Receiver struct {
	key      cellkey.Key
	tag      cellkey.Tag
	link     Link
	maxPeers int
	random   rand.Source

	session             uint64
	challenge, previous uint64
	bySource            *sourceKey // of a hub; nil for a terminal
	rotation            uint64     // counts challenges, from 1
	rotatedNs           int64

	sessions map[uint64]*session
	proven   int                         // of sessions: those that have answered once
	holders  map[netip.AddrPort]*session // which session counts at a source
	heard    uint64                      // sessions so far
	hubs     hubs
	sources  sources
	// Buckets of all.
	peers, unproven bucket

	nowNs, lookNs, acceptedNs int64
	periodNs                  int64 // one's own, as of the last look
	size                      int   // of one's last datagram
	report                    uint64
	counts                    [NumReasons]uint64
	plain                     []byte
	scratch                   []*session
}

// typicalSize is taken for one's own datagrams before the first.
const typicalSize = shortest + fieldsSize - firstFieldsSize + answersAlways*echoSize

// looksPerPeriod is how often a Receiver tidies up: forgets who has gone, and makes a new challenge
// if that is due.
const looksPerPeriod = 10

// NewReceiver makes a Receiver with a session of its own. An agent makes a new one when it starts
// and when its own address changes.
func NewReceiver(c Config, nowNs int64) *Receiver {
	r := &Receiver{
		key: c.Key, tag: c.Key.Tag(), link: c.Link, maxPeers: c.MaxPeers, random: c.Random,
		sessions: map[uint64]*session{}, holders: map[netip.AddrPort]*session{},
		nowNs: nowNs, lookNs: nowNs, acceptedNs: nowNs, periodNs: ShortestPeriodNs, size: typicalSize,
	}
	if r.maxPeers <= 0 {
		r.maxPeers = DefaultMaxPeers
	}
	if r.random == nil {
		r.random = systemRandom{}
	}
	r.sources.elements = map[netip.AddrPort]*list.Element{}
	r.hubs.init(c.Hubs)
	r.session = r.number()
	r.rotate(nowNs)
	return r
}

// Receive takes a datagram from a source: the address that it was sent from, at first where it has
// been passed on, with port zero unless terminals behind one address are told apart by their ports.
// Only an accepted report may move anything.
func (r *Receiver) Receive(from netip.AddrPort, datagram []byte, nowNs int64) (Report, Reason) {
	nowNs = r.look(nowNs)
	from = netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
	report, reason := r.receive(from, datagram, nowNs)
	r.counts[reason]++
	if reason != Accepted {
		return Report{}, reason
	}
	r.acceptedNs = nowNs
	return report, Accepted
}

// receive goes from what is cheap to what is dear: clear bytes, then the buckets, then
// cryptography.
func (r *Receiver) receive(from netip.AddrPort, datagram []byte, nowNs int64) (Report, Reason) {
	h, err := parseHeader(datagram)
	if err != nil {
		return Report{}, reasonOf(err)
	}
	if h.tag != r.tag {
		return Report{}, OtherCell
	}
	if h.session == r.session {
		return Report{}, Own
	}
	s := r.sessions[h.session]
	if s != nil {
		if reason := s.window.judge(h.sequence); reason != Accepted {
			return Report{}, reason
		}
	}
	if !r.admit(from, s, nowNs) {
		return Report{}, RateLimited
	}
	// Whether it is written down or not: nothing is known of a session before one of its datagrams
	// has opened.
	opener := s
	if opener == nil {
		opener = &session{id: h.session, aead: sessionCipher(r.key, h.session)}
	}
	if r.plain, err = open(r.plain[:0], opener.aead, h, datagram); err != nil {
		return Report{}, WrongKey
	}
	b, err := decodeBody(r.plain)
	if err != nil {
		return Report{}, reasonOf(err)
	}
	b.report.Session, b.report.Sequence = h.session, h.sequence
	return r.hear(opener, from, &b, nowNs)
}

// admit takes the tokens of a datagram. Peers have buckets of their own, so that strangers cannot
// starve them.
func (r *Receiver) admit(from netip.AddrPort, s *session, nowNs int64) bool {
	if s != nil && s.at(from) && s.confirmed(r.rotation) {
		return s.bucket.take(perSource, nowNs) && r.peers.take(allPeers, nowNs)
	}
	return r.sources.bucket(from).take(perSource, nowNs) && r.unproven.take(allUnproven, nowNs)
}

// hear takes a report that a member has sealed, now or some time ago.
func (r *Receiver) hear(s *session, from netip.AddrPort, b *body, nowNs int64) (Report, Reason) {
	if !s.at(from) {
		switch {
		case !s.confirmed(r.rotation) || s.silent(nowNs, r.periodNs):
			r.release(s)
			s.source, s.second = from, netip.AddrPort{}
			r.forgetProof(s)
		case r.bySource == nil && b.report.BothFamilies && !s.second.IsValid() && from.Addr().Is6() != s.source.Addr().Is6():
			s.second = from
		case b.report.State != Leaving: // a good-bye counts from wherever it has gone
			// Passed on by somebody else. Its number stays free for the original.
			return Report{}, Moved
		}
	}
	r.know(s)
	s.window.take(b.report.Sequence)
	s.heardNs, s.heardIn = nowNs, r.rotation
	s.both, s.six = b.report.BothFamilies, from.Addr().Is6()
	if b.challenge != s.challenge {
		s.challenge, s.answers = b.challenge, 0
	}
	if !s.accepted {
		s.report.PeriodMs = b.report.PeriodMs
	}
	proof, wanting := r.proof(b, from)
	if wanting {
		s.answers = min(s.answers, answersAtOnce-1)
	}
	if proof != 0 {
		if s.proven == 0 {
			if r.proven >= r.maxPeers {
				return Report{}, TooManyPeers
			}
			r.proven++
		}
		s.proven = max(s.proven, proof)
	}
	if !s.confirmed(r.rotation) {
		return Report{}, Unconfirmed
	}
	if holder := r.holders[s.source]; holder != nil && holder != s && !holder.left() && !holder.overdue(nowNs, r.periodNs) {
		return Report{}, SourceTaken
	}
	r.holders[s.source] = s
	s.report, s.accepted = b.report, true
	return b.report, Accepted
}

// forgetProof makes a session that came to another source answer a hub's challenge again.
func (r *Receiver) forgetProof(s *session) {
	if r.bySource != nil && s.proven != 0 {
		s.proven = 0
		r.proven--
	}
}

// release takes the source from a session that holds it.
func (r *Receiver) release(s *session) {
	if r.holders[s.source] == s {
		delete(r.holders, s.source)
	}
}

// know writes a session down. When there is no room among those that are not confirmed, one of them
// that was not heard for long goes: the one silent longest of a few that are picked at random,
// since a flood must not cost a search.
func (r *Receiver) know(s *session) {
	if r.sessions[s.id] != nil {
		return
	}
	if len(r.sessions)-r.proven >= r.maxPeers {
		var oldest *session
		looked := 0
		for _, c := range r.sessions {
			if c.proven == 0 {
				if oldest == nil || c.heardNs < oldest.heardNs {
					oldest = c
				}
				if looked++; looked == 16 {
					break
				}
			}
		}
		delete(r.sessions, oldest.id)
	}
	r.heard++
	s.firstHeard = r.heard
	r.sessions[s.id] = s
}

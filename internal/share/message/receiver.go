package message

import (
	"container/list"
	"math/rand/v2"
	"net/netip"

	"airtide/internal/share/cellkey"
)

// DefaultMaxPeers is the default of Config.MaxPeers.
const DefaultMaxPeers = 1024

// Config is the configuration of a Receiver and its Sender.
type Config struct {
	Key cellkey.Key
	// OldKey is the key before Key while both are in use, otherwise zero.
	OldKey cellkey.Key
	Link   Link
	// MaxPeers is the greatest number of peers. Zero means DefaultMaxPeers. The same number of
	// unconfirmed sessions is kept in addition.
	MaxPeers int
	// Hubs are the addresses of the hubs to which this terminal sends its reports. Bundles are
	// accepted only from them.
	Hubs []netip.Addr
	// Random makes sessions, challenges and jitter. Nil means the system's source of randomness.
	// Only tests set it.
	Random rand.Source
}

// Receiver accepts datagrams and knows the peers. MaxPeers bounds its memory.
type Receiver struct {
	keys     keyring
	link     Link
	maxPeers int
	random   rand.Source

	session             uint64
	challenge, previous uint64
	bySource            *sourceKey // a hub's key for challenges; nil for a terminal
	rotation            uint64     // counts challenges, from 1
	rotatedNs           int64

	sessions map[uint64]*session
	proven   int                         // number of sessions that have answered
	holders  map[netip.AddrPort]*session // the session that counts at a source
	heard    uint64                      // sessions so far
	hubs     hubs
	sources  sources
	// Buckets for all sources together.
	peers, unproven bucket

	nowNs, lookNs int64
	periodNs      int64  // this terminal's period
	size          int    // bytes of this terminal's last datagram
	report        uint64 // number of this terminal's reports
	counts        [NumReasons]uint64
	openedBy      cellkey.Tag // tag of the key that opened the last datagram
	plain         []byte
	scratch       []*session
}

// typicalSize stands for the size of this terminal's datagrams before the first.
const typicalSize = shortest + fieldsSize - firstFieldsSize + answersAlways*echoSize

// looksPerPeriod is the number of times per period that a Receiver forgets gone sessions and checks
// its challenge.
const looksPerPeriod = 10

// NewReceiver returns a Receiver with a new session. An agent calls it when it starts and when its
// address changes.
func NewReceiver(c Config, nowNs int64) *Receiver {
	r := &Receiver{
		keys: newKeyring(cellkey.Pair{New: c.Key, Old: c.OldKey}), link: c.Link, maxPeers: c.MaxPeers, random: c.Random,
		sessions: map[uint64]*session{}, holders: map[netip.AddrPort]*session{},
		nowNs: nowNs, lookNs: nowNs, periodNs: ShortestPeriodNs, size: typicalSize,
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

// SetKeys changes the keys of the cell. Sessions continue under a key that stays.
func (r *Receiver) SetKeys(p cellkey.Pair) { r.keys = newKeyring(p) }

// Receive accepts a report from a source. The source is the address of the original sender. Its
// port is zero unless terminals behind one address differ in it. Only an accepted report may affect
// the control.
func (r *Receiver) Receive(from netip.AddrPort, datagram []byte, nowNs int64) (Report, Reason) {
	nowNs = r.look(nowNs)
	from = netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
	report, reason := r.receive(from, datagram, nowNs)
	r.counts[reason]++
	if reason != Accepted {
		return Report{}, reason
	}
	return report, Accepted
}

// receive makes cheap checks first: plaintext, then buckets, then decryption.
func (r *Receiver) receive(from netip.AddrPort, datagram []byte, nowNs int64) (Report, Reason) {
	h, err := parseHeader(datagram)
	if err != nil {
		return Report{}, reasonOf(err)
	}
	key := r.keys.find(h.tag)
	if key == nil {
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
	// A new session is stored only after one of its datagrams has opened.
	opener := s
	if opener == nil {
		opener = &session{id: h.session}
	}
	r.plain, err = open(r.plain[:0], opener.sealers.of(key, h.session), datagram)
	if err != nil {
		return Report{}, WrongKey
	}
	b, err := decodeBody(r.plain)
	if err != nil {
		return Report{}, reasonOf(err)
	}
	opener.tag = h.tag
	r.openedBy = h.tag
	b.report.Session = h.session
	b.report.Sequence = h.sequence
	return r.hear(opener, from, &b, nowNs)
}

// admit takes the tokens for a datagram. Peers have their own buckets, so that other senders cannot
// starve them.
func (r *Receiver) admit(from netip.AddrPort, s *session, nowNs int64) bool {
	if s != nil && s.at(from) && s.confirmed(r.rotation) {
		return s.bucket.take(perSource, nowNs) && r.peers.take(allPeers, nowNs)
	}
	return r.sources.bucket(from).take(perSource, nowNs) && r.unproven.take(allUnproven, nowNs)
}

// hear applies a report that a member has sealed. It may be a replay.
func (r *Receiver) hear(s *session, from netip.AddrPort, b *body, nowNs int64) (Report, Reason) {
	if !s.at(from) {
		switch {
		case !s.confirmed(r.rotation) || s.silent(nowNs, r.periodNs):
			r.release(s)
			s.source = from
			s.second = netip.AddrPort{}
			r.forgetProof(s)
		case r.bySource == nil && b.report.BothFamilies && !s.second.IsValid() &&
			from.Addr().Is6() != s.source.Addr().Is6():
			s.second = from
		case b.report.State != Leaving: // a leaving terminal may send from any address
			// Another sender repeats the report. Its number stays free for the original.
			return Report{}, Moved
		}
	}
	r.know(s)
	s.window.take(b.report.Sequence)
	s.heardNs = nowNs
	s.heardIn = r.rotation
	s.six = from.Addr().Is6()
	s.both = b.report.BothFamilies
	if b.challenge != s.challenge {
		s.challenge = b.challenge
		s.answers = 0
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
	holder := r.holders[s.source]
	if holder == nil && r.bySource != nil && r.presentAt(s.source.Addr(), nowNs) >= sessionsAtHub {
		return Report{}, TooManyPeers
	}
	if holder != nil && holder != s && !holder.left() && !holder.overdue(nowNs, r.periodNs) {
		return Report{}, SourceTaken
	}
	r.holders[s.source] = s
	s.report = b.report
	s.accepted = true
	return b.report, Accepted
}

// sessionsAtHub is the most that count at one address at a hub: as many terminals behind one
// translated address as a hub is made for. A member with more ports gains nothing from them.
const sessionsAtHub = 16

// presentAt returns the number of sessions that count at an address.
func (r *Receiver) presentAt(address netip.Addr, nowNs int64) (n int) {
	for source, holder := range r.holders {
		if source.Addr() == address && !holder.left() && !holder.silent(nowNs, r.periodNs) {
			n++
		}
	}
	return n
}

// forgetProof makes a session at a new source answer a hub's challenge again.
func (r *Receiver) forgetProof(s *session) {
	if r.bySource != nil && s.proven != 0 {
		s.proven = 0
		r.proven--
	}
}

// release frees the source of a session.
func (r *Receiver) release(s *session) {
	if r.holders[s.source] == s {
		delete(r.holders, s.source)
	}
}

// know stores a session. Without room for another unconfirmed session, it replaces the longest
// silent of 16 random ones. It does not search all, so that a flood stays cheap.
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
				looked++
				if looked == 16 {
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

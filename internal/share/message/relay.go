package message

import (
	"cmp"
	"crypto/cipher"
	"math"
	"net/netip"
	"slices"
)

// Relay is a cell at a hub: it passes the reports of each terminal on to the others, in bundles. It
// believes whom a terminal would believe (Receiver), so that nothing is passed on, nor sent to
// anybody, for a recording or without the key.
type Relay struct {
	r        *Receiver
	session  uint64
	aead     cipher.AEAD
	sequence uint32
	// What waits to be passed on: of each session the newest report.
	waiting map[uint64]*passing
	firstNs int64 // when the first of them came
	// When bundles were sent last, to how many, and how often these report.
	lastNs   int64
	members  int
	periodNs int64

	body, datagram []byte
	peers          []Peer
	order          []*passing
	entries        []entry
	periods        []int64
}

// passing is a report on its way.
type passing struct {
	session uint64
	order   uint64
	entry
}

// NewRelay makes a Relay of the cell with a key. Of the Config only the Key, MaxPeers and Random
// count.
func NewRelay(c Config, nowNs int64) *Relay {
	r := NewReceiver(Config{Key: c.Key, MaxPeers: c.MaxPeers, Random: c.Random, Link: Link{Copies: 1, NoMulticast: true}}, nowNs)
	r.hubs.itself = true
	r.bySource = newSourceKey(r)
	h := &Relay{r: r, waiting: map[uint64]*passing{}, lastNs: nowNs - ShortestPeriodNs, periodNs: ShortestPeriodNs}
	h.begin()
	return h
}

// begin begins a session of bundles.
func (h *Relay) begin() {
	h.session = h.r.number()
	h.aead = sessionCipher(h.r.key, h.session)
	h.sequence = 0
}

// Take takes a datagram from a source, as a Receiver does. A report that counts waits to be passed
// on; its source is told when it has to answer the hub's challenge first, by the reply, which is
// shorter than any report and valid until the next call.
func (h *Relay) Take(from netip.AddrPort, datagram []byte, nowNs int64) (reply []byte, reason Reason) {
	report, reason := h.r.Receive(from, datagram, nowNs)
	switch reason {
	case Unconfirmed:
		return h.seal(netip.AddrPortFrom(from.Addr().Unmap(), from.Port()), nil, false), reason
	case Accepted:
		if len(h.waiting) == 0 {
			h.firstNs = nowNs
		}
		p := h.waiting[report.Session]
		if p == nil {
			p = &passing{session: report.Session, order: h.r.heard<<32 | uint64(len(h.waiting))}
			h.waiting[report.Session] = p
		}
		p.source = netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
		p.datagram = append(p.datagram[:0], datagram...)
	}
	return nil, reason
}

// DueNs is when bundles are due: when enough reports wait, or a period after the first of them, but
// at most twice as often as terminals that keep to their period make necessary, whatever they send.
// Without any that wait it is never.
func (h *Relay) DueNs() int64 {
	if len(h.waiting) == 0 {
		return math.MaxInt64
	}
	enough := bundledReports(h.r.size, h.members-itself)
	due := h.firstNs
	if len(h.waiting) < enough {
		due += h.periodNs
	}
	return max(due, h.lastNs+int64(enough)*h.periodNs/int64(2*max(1, h.members)))
}

// Send gives away the bundles of what waits, each with whom it goes to, and is ready for more. A
// bundle is valid until give returns.
func (h *Relay) Send(nowNs int64, give func(to netip.AddrPort, bundle []byte)) {
	h.peers = h.r.Peers(h.peers[:0], nowNs)
	h.order = h.order[:0]
	for _, p := range h.waiting {
		h.order = append(h.order, p)
	}
	slices.SortFunc(h.order, func(a, b *passing) int { return cmp.Compare(a.order, b.order) })
	for _, to := range h.peers {
		h.entries = h.entries[:0]
		size := shortestBundle
		for _, p := range h.order {
			if p.session == to.Report.Session || p.source == to.Source {
				continue
			}
			if size+p.size() > MaxDatagram && len(h.entries) > 0 {
				give(to.Source, h.seal(to.Source, h.entries, true))
				h.entries, size = h.entries[:0], shortestBundle
			}
			h.entries, size = append(h.entries, p.entry), size+p.size()
		}
		if len(h.entries) > 0 {
			give(to.Source, h.seal(to.Source, h.entries, true))
		}
	}
	clear(h.waiting)
	h.lastNs = nowNs
	h.reckon()
}

// reckon takes in who is there: how many, the median of the periods that they announce, which one
// that lies cannot move far, and the slowest.
func (h *Relay) reckon() {
	h.members, h.r.link.DataKbps = len(h.peers), 0
	h.periods = h.periods[:0]
	for _, p := range h.peers {
		h.periods = append(h.periods, int64(p.Report.PeriodMs)*1e6)
		if m := p.Report.MaxKbps; m > 0 && (h.r.link.DataKbps == 0 || m < h.r.link.DataKbps) {
			h.r.link.DataKbps = m
		}
	}
	h.periodNs = ShortestPeriodNs
	if len(h.periods) > 0 {
		slices.Sort(h.periods)
		h.periodNs = max(h.periodNs, h.periods[len(h.periods)/2])
	}
}

func (h *Relay) seal(to netip.AddrPort, entries []entry, confirmed bool) []byte {
	if h.sequence == math.MaxUint32 {
		h.begin()
	}
	h.sequence++
	h.body = appendBundle(h.body[:0], h.r.challengeFor(h.r.challenge, to), confirmed, entries)
	h.datagram = sealBundle(h.datagram[:0], h.aead, header{h.r.tag, h.session, h.sequence}, h.body)
	return h.datagram
}

// Members are the terminals of the cell that are there.
func (h *Relay) Members(nowNs int64) int { return len(h.r.Peers(nil, nowNs)) }

// Counts are the datagrams so far, by what became of them.
func (h *Relay) Counts() [NumReasons]uint64 { return h.r.Counts() }

package message

import (
	"cmp"
	"math"
	"net/netip"
	"slices"

	"airtide/internal/share/cellkey"
)

// Relay serves a cell at a hub. It forwards the reports of each terminal to the others in bundles.
// It accepts reports by the rules of a Receiver, so that it sends nothing for replays or without
// the key.
type Relay struct {
	r        *Receiver
	session  uint64
	sealers  sealers
	sequence uint32
	// waiting holds the newest report of each session.
	waiting  map[uint64]*passing
	firstNs  int64 // arrival of the first waiting report
	lastNs   int64 // time of the last bundles
	pauseNs  int64 // the least time until the next ones
	members  int   // receivers of the last bundles
	periodNs int64 // their median report period

	body, datagram []byte
	peers          []Peer
	order, more    []*passing
	served         map[netip.Addr]bool // addresses with a report in the next bundles
	entries        []entry
	periods        []int64
}

// passing is the newest report of a session that waits in a Relay.
type passing struct {
	session uint64
	sinceNs int64  // time at which the session began to wait
	order   uint64 // among those that began at the same time
	entry
}

// compare orders reports by how long their sessions have waited.
func (p *passing) compare(o *passing) int {
	return cmp.Or(cmp.Compare(p.sinceNs, o.sinceNs), cmp.Compare(p.order, o.order))
}

// bundlesPerSecond is the most that a terminal gets from a hub. It accepts 40 (perSource), so that
// none of a hub's bundles is lost to a member that floods it.
const bundlesPerSecond = 30

// NewRelay returns a Relay for the cell of a key. It uses only Key, MaxPeers and Random.
func NewRelay(c Config, nowNs int64) *Relay {
	r := NewReceiver(Config{
		Key: c.Key, OldKey: c.OldKey, MaxPeers: c.MaxPeers, Random: c.Random, Link: Link{Copies: 1, NoMulticast: true},
	}, nowNs)
	r.hubs.itself = true
	r.bySource = newSourceKey(r)
	h := &Relay{
		r: r, waiting: map[uint64]*passing{}, served: map[netip.Addr]bool{}, lastNs: nowNs - ShortestPeriodNs,
		periodNs: ShortestPeriodNs,
	}
	h.begin()
	return h
}

// begin starts a session of bundles.
func (h *Relay) begin() {
	h.session = h.r.number()
	h.sealers = nil
	h.sequence = 0
}

// Take accepts a datagram from a source like a Receiver. An accepted report waits for the next
// bundles. An unconfirmed source gets reply, which carries the hub's challenge, is shorter than any
// report and is valid until the next call.
func (h *Relay) Take(from netip.AddrPort, datagram []byte, nowNs int64) (reply []byte, reason Reason) {
	report, reason := h.r.Receive(from, datagram, nowNs)
	switch reason {
	case Unconfirmed:
		to := netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
		return h.seal(to, h.r.openedBy, nil, false), reason
	case Accepted:
		if len(h.waiting) == 0 {
			h.firstNs = nowNs
		}
		p := h.waiting[report.Session]
		if p == nil {
			order := h.r.heard<<32 | uint64(len(h.waiting))
			p = &passing{session: report.Session, sinceNs: nowNs, order: order}
			h.waiting[report.Session] = p
		}
		p.source = netip.AddrPortFrom(from.Addr().Unmap(), from.Port())
		p.datagram = append(p.datagram[:0], datagram...)
	}
	return nil, reason
}

// DueNs returns the time of the next bundles: when enough reports wait, or a period after the first
// of them. A flood of reports at most doubles the rate of bundles, and no terminal gets more than
// bundlesPerSecond. Without waiting reports it returns the greatest time.
func (h *Relay) DueNs() int64 {
	if len(h.waiting) == 0 {
		return math.MaxInt64
	}
	enough := bundledReports(h.r.size, h.members-itself)
	due := h.firstNs
	if len(h.waiting) < enough {
		due += h.periodNs
	}
	return max(due, h.lastNs+max(h.pauseNs, int64(enough)*h.periodNs/int64(2*max(1, h.members))))
}

// choose chooses the reports of the next bundles. Each address has one: that of the session that
// has waited longest. More reports of an address only fill the last bundle, so an address with many
// sessions makes no bundle longer. The others wait.
func (h *Relay) choose() {
	h.order = h.order[:0]
	for _, p := range h.waiting {
		h.order = append(h.order, p)
	}
	slices.SortFunc(h.order, (*passing).compare)
	h.more = h.more[:0]
	clear(h.served)
	first := h.order[:0]
	for _, p := range h.order {
		if h.served[p.source.Addr()] {
			h.more = append(h.more, p)
			continue
		}
		h.served[p.source.Addr()] = true
		first = append(first, p)
	}
	fit := max(1, (MaxDatagram-shortestBundle)/(entrySize+h.r.size))
	room := (fit - len(first)%fit) % fit
	h.order = append(first, h.more[:min(room, len(h.more))]...)
}

// Send calls give with the bundles of the chosen reports and their receivers. A bundle is valid
// until give returns.
func (h *Relay) Send(nowNs int64, give func(to netip.AddrPort, bundle []byte)) {
	h.peers = h.r.Peers(h.peers[:0], nowNs)
	h.choose()
	most := 0
	for _, to := range h.peers {
		bundles := 0
		h.entries = h.entries[:0]
		size := shortestBundle
		for _, p := range h.order {
			if p.session == to.Report.Session || p.source == to.Source {
				continue
			}
			if size+p.size() > MaxDatagram && len(h.entries) > 0 {
				give(to.Source, h.seal(to.Source, to.Key, h.entries, true))
				bundles++
				h.entries = h.entries[:0]
				size = shortestBundle
			}
			size += p.size()
			h.entries = append(h.entries, p.entry)
		}
		if len(h.entries) > 0 {
			give(to.Source, h.seal(to.Source, to.Key, h.entries, true))
			bundles++
		}
		most = max(most, bundles)
	}
	for _, p := range h.order {
		delete(h.waiting, p.session)
	}
	h.firstNs = nowNs
	h.lastNs = nowNs
	h.pauseNs = int64(most) * 1e9 / bundlesPerSecond
	h.updateMembers()
}

// updateMembers updates the number of members, their median period and the slowest rate. A lying
// member cannot change the median much.
func (h *Relay) updateMembers() {
	h.members = len(h.peers)
	h.r.link.DataKbps = 0
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

// seal seals a bundle under the key with a tag: that of the receiver's newest datagram.
func (h *Relay) seal(to netip.AddrPort, tag cellkey.Tag, entries []entry, confirmed bool) []byte {
	if h.sequence == math.MaxUint32 {
		h.begin()
	}
	h.sequence++
	h.body = appendBundle(h.body[:0], h.r.challengeFor(h.r.challenge, to), confirmed, entries)
	key := h.r.keys.find(tag)
	if key == nil { // it has just been retired
		key = h.r.keys.turn(0)
	}
	by := h.sealers.of(key, h.session)
	h.datagram = sealBundle(h.datagram[:0], by, header{key.tag, h.session, h.sequence}, h.body)
	return h.datagram
}

// SetKeys changes the keys of the cell.
func (h *Relay) SetKeys(p cellkey.Pair) { h.r.SetKeys(p) }

// Members returns the number of present terminals.
func (h *Relay) Members(nowNs int64) int { return len(h.r.Peers(nil, nowNs)) }

// Counts returns the numbers of datagrams by reason.
func (h *Relay) Counts() [NumReasons]uint64 { return h.r.Counts() }

package hub

import (
	"net/netip"
	"time"

	"airtide/internal/share/cellkey"
	"airtide/internal/share/message"
	"airtide/internal/sys/clock"
)

// cell is a cell that the hub serves.
type cell struct {
	keys  cellkey.Pair
	tag   cellkey.Tag // tag of the new key
	relay *message.Relay
	// local maps a terminal to the address of this machine to which it sends. Bundles are sent from
	// that address.
	local map[netip.AddrPort]netip.Addr
	sent  uint64 // bundles
	lost  uint64 // bundles that could not be sent
}

// mostLocal is the greatest number of entries in cell.local. Beyond it, the map starts empty again.
const mostLocal = 4 * message.DefaultMaxPeers

func newCell(p cellkey.Pair) *cell {
	return &cell{
		keys: p, tag: p.New.Tag(), relay: message.NewRelay(message.Config{Key: p.New, OldKey: p.Old}, clock.Now()),
		local: map[netip.AddrPort]netip.Addr{},
	}
}

// take handles a datagram of this cell.
func (c *cell) take(p packet, nowNs int64) {
	source := p.from
	if source.Port() == p.socket.port() {
		// A source has a port only if terminals behind one address differ in it.
		source = netip.AddrPortFrom(source.Addr(), 0)
	}
	reply, reason := c.relay.Take(source, p.datagram, nowNs)
	switch {
	case reply != nil:
		c.count(p.socket.send(reply, p.from, p.local))
	case reason == message.Accepted:
		if len(c.local) >= mostLocal {
			clear(c.local)
		}
		c.local[source] = p.local
	}
}

// send sends the bundles that are due.
func (c *cell) send(sockets []*socket, nowNs int64) {
	c.relay.Send(nowNs, func(source netip.AddrPort, bundle []byte) {
		for _, s := range sockets {
			if s.six == source.Addr().Is6() {
				to := source
				if to.Port() == 0 {
					to = netip.AddrPortFrom(source.Addr(), s.port())
				}
				c.count(s.send(bundle, to, c.local[source]))
			}
		}
	})
}

func (c *cell) count(err error) {
	if err != nil {
		c.lost++
		return
	}
	c.sent++
}

// Status is the state of a hub.
type Status struct {
	Time  time.Time `json:"time"`
	Cells []Cell    `json:"cells"`
	// Datagrams counts rejected datagrams by reason.
	Datagrams map[string]int `json:"datagrams"`
}

// Cell is the state of a cell at a hub.
type Cell struct {
	Cell      string         `json:"cell"` // the tag of its key
	Terminals int            `json:"terminals"`
	Datagrams map[string]int `json:"datagrams"` // received, by outcome
	Bundles   uint64         `json:"bundles"`   // sent
	Unsent    uint64         `json:"unsent"`    // bundles that could not be sent
}

// Status returns the present state.
func (h *Hub) Status() Status {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := clock.Now()
	s := Status{Time: time.Now(), Datagrams: named(h.strange)}
	for _, c := range h.order {
		s.Cells = append(s.Cells, Cell{c.tag.String(), c.relay.Members(now), named(c.relay.Counts()), c.sent, c.lost})
	}
	return s
}

func named(counts [message.NumReasons]uint64) map[string]int {
	all := map[string]int{}
	for reason, n := range counts {
		if n > 0 {
			all[message.Reason(reason).String()] = int(n)
		}
	}
	return all
}

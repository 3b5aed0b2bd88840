// Package hub is a relay on the wired side for terminals whose access point does not forward
// datagrams between them. Each terminal sends its reports to the hub, which forwards them to the
// other members of the cell (message.Relay). A hub serves several cells with different keys over
// IPv4 and IPv6.
package hub

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"

	"airtide/internal/share/cellkey"
	"airtide/internal/share/message"
	"airtide/internal/sys/clock"
)

// Config lists the cells and addresses of a hub.
type Config struct {
	// Keys are the keys of the cells, at least one.
	Keys []cellkey.Pair
	// Follow returns the keys of each cell now, in the order of Keys. It is called each second, and
	// may be nil.
	Follow func() []cellkey.Pair
	// Listen is the listening address and port. An invalid address means all addresses of the
	// machine.
	Listen netip.AddrPort
	// Step is called each second, if not nil.
	Step func(Status)
}

// Hub is open until Close.
type Hub struct {
	config  Config
	sockets []*socket
	mu      sync.Mutex // protects all fields below
	cells   map[cellkey.Tag]*cell
	order   []*cell
	// strange counts the datagrams of unknown cells by reason.
	strange [message.NumReasons]uint64
	wake    chan struct{} // the next bundle is due earlier
}

// Open opens the sockets of a hub.
func Open(c Config) (*Hub, error) {
	if len(c.Keys) == 0 {
		return nil, errors.New("opening the hub: there is no key of a cell (airtide share key makes one)")
	}
	h := &Hub{config: c, cells: map[cellkey.Tag]*cell{}, wake: make(chan struct{}, 1)}
	for _, p := range c.Keys {
		if p.New.Zero() {
			return nil, errors.New("opening the hub: a key is empty")
		}
		one := newCell(p)
		for _, k := range p.Keys() {
			if h.cells[k.Tag()] != nil {
				return nil, fmt.Errorf("opening the hub: two keys are of cell %s: give each once", k.Tag())
			}
			h.cells[k.Tag()] = one
		}
		h.order = append(h.order, one)
	}
	var err error
	h.sockets, err = listen(c.Listen)
	if err != nil {
		return nil, fmt.Errorf("opening the hub: %w", err)
	}
	return h, nil
}

// Port returns the listening port.
func (h *Hub) Port() uint16 { return h.sockets[0].port() }

// Run forwards reports until the context ends.
func (h *Hub) Run(ctx context.Context) error {
	parts, ctx := errgroup.WithContext(ctx)
	for _, s := range h.sockets {
		parts.Go(func() error { return s.receive(ctx, h.take) })
	}
	parts.Go(func() error { return h.send(ctx) })
	parts.Go(func() error { return h.tell(ctx) })
	return parts.Wait()
}

// take gives a datagram to its cell.
func (h *Hub) take(p packet) {
	h.mu.Lock()
	defer h.mu.Unlock()
	tag, reason := message.TagOf(p.datagram)
	if reason != message.Accepted {
		h.strange[reason]++
		return
	}
	c := h.cells[tag]
	if c == nil {
		h.strange[message.OtherCell]++
		return
	}
	before := c.relay.DueNs()
	c.take(p, clock.Now())
	if c.relay.DueNs() < before {
		select {
		case h.wake <- struct{}{}:
		default:
		}
	}
}

// send sends bundles when they are due.
func (h *Hub) send(ctx context.Context) error {
	timer := time.NewTimer(time.Hour)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-h.wake:
		case <-timer.C:
		}
		h.mu.Lock()
		now := clock.Now()
		wait := time.Hour
		for _, c := range h.order {
			if c.relay.DueNs() <= now {
				c.send(h.sockets, now)
			}
			wait = min(wait, time.Duration(c.relay.DueNs()-now))
		}
		h.mu.Unlock()
		timer.Reset(max(wait, 0))
	}
}

// setKeys changes the keys of the cells.
func (h *Hub) setKeys(keys []cellkey.Pair) {
	h.mu.Lock()
	defer h.mu.Unlock()
	clear(h.cells)
	for i, c := range h.order {
		if keys[i] != c.keys {
			c.keys = keys[i]
			c.tag = keys[i].New.Tag()
			c.relay.SetKeys(keys[i])
		}
		for _, k := range c.keys.Keys() {
			h.cells[k.Tag()] = c
		}
	}
}

// tell reports the state of the cells once a second, and reads their keys.
func (h *Hub) tell(ctx context.Context) error {
	ticker := time.NewTicker(time.Second)
	defer ticker.Stop()
	for {
		if h.config.Follow != nil {
			h.setKeys(h.config.Follow())
		}
		if h.config.Step != nil {
			h.config.Step(h.Status())
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// Close closes the sockets.
func (h *Hub) Close() error {
	var errs []error
	for _, s := range h.sockets {
		errs = append(errs, s.Close())
	}
	return errors.Join(errs...)
}

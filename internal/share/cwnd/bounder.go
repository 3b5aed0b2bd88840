// Package cwnd bounds the congestion windows of a terminal's flows. It gives them a congestion
// control with bounds under a name that is unique to this agent, and sets bounds of single sockets.
// It needs Linux 6.4 (struct_ops links) and root.
package cwnd

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"airtide/internal/kernel/congestion"
	"airtide/internal/kernel/congestion/kind"
	"airtide/internal/kernel/tune"
	"airtide/internal/share/control"
)

// Bounder bounds the congestion windows of a terminal's flows until Close. It is not safe for
// concurrent use.
type Bounder struct {
	// Name is the name of the flows' congestion control.
	Name string

	loaded  *congestion.Loaded
	bounder *congestion.Bounder
	tuned   *tune.Applied
	cookies map[ends]uint64
	reasons map[ends]string // why sockets could not be given the congestion control
	lookNs  time.Duration   // time of the last search for sockets
	bindNs  time.Duration   // time of the last binding
	set     map[uint64]setting
	missing map[ends]time.Duration // flows without a known socket, and since when
	now     time.Duration          // time of the last Set
}

// Unbound is a flow that is not bounded.
type Unbound struct {
	Local, Remote netip.AddrPort
	Reason        string
}

// setting is the bound in force for a socket.
type setting struct {
	congestion.Bounds
	pause bool
}

type ends struct{ local, remote netip.AddrPort }

const (
	// lookEvery is the shortest interval between two searches for the sockets of unknown flows.
	lookEvery = 500 * time.Millisecond
	// bindEvery is the interval at which sockets get this agent's congestion control again, because
	// programs may choose another one at any time.
	bindEvery = time.Second
	// unboundAfter is the time without a known socket after which a flow counts as not bounded: a
	// binding and a search.
	unboundAfter = 2 * time.Second
)

// Attach gives existing and new sockets of a selection a congestion control with bounds. The error
// wraps congestion.ErrNotSupported or tune.ErrNotSupported if the kernel cannot do it.
func Attach(ctx context.Context, sockets tune.Selection) (*Bounder, error) {
	loaded, err := congestion.LoadUnique(congestion.CubicBound, congestion.CubicBound.Defaults())
	if err != nil {
		return nil, fmt.Errorf("bounding flows: %w", err)
	}
	h := &Bounder{
		Name: loaded.Name, loaded: loaded, cookies: map[ends]uint64{}, reasons: map[ends]string{},
		set: map[uint64]setting{}, missing: map[ends]time.Duration{}, lookNs: -lookEvery, bindNs: -bindEvery,
	}
	h.bounder, err = congestion.OpenBounds(loaded.Name)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("bounding flows: %w", err), h.Close())
	}
	h.tuned, err = tune.Apply(ctx, sockets, tune.Settings{CongestionControl: loaded.Name}, tune.Options{})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("bounding flows: %w", err), h.Close())
	}
	return h, nil
}

// ExtendLease extends the lease of all bounds to a monotonic time. Bounds end then even if this
// process hangs or is killed. Before the first call, bounds have no end.
func (h *Bounder) ExtendLease(until time.Duration) error {
	if err := h.bounder.Lease(int64(until)); err != nil {
		return fmt.Errorf("bounding flows: %w", err)
	}
	return nil
}

// Set replaces the bounds of all flows. now is a monotonic time. It returns the number of flows
// without a known socket.
func (h *Bounder) Set(ctx context.Context, now time.Duration, bounds []control.SendBound) (missing int, err error) {
	h.now = now
	anew := len(bounds) > 0 && now-h.bindNs >= bindEvery
	if anew {
		// A socket that its program gave another congestion control has lost its bounds.
		h.bindNs = now
		if err := h.tuned.Reapply(ctx); err != nil {
			return 0, fmt.Errorf("bounding flows: %w", err)
		}
	}
	for _, b := range bounds {
		if _, known := h.cookies[endsOf(b.Local, b.Remote)]; !known && now-h.lookNs >= lookEvery {
			h.lookNs = now
			if err := h.findSockets(ctx); err != nil {
				return 0, err
			}
		}
	}
	wanted := map[uint64]setting{}
	before := h.missing
	h.missing = map[ends]time.Duration{}
	for _, b := range bounds {
		flow := endsOf(b.Local, b.Remote)
		cookie, known := h.cookies[flow]
		if !known {
			missing++
			h.missing[flow] = now
			if since, was := before[flow]; was {
				h.missing[flow] = since
			}
			continue
		}
		if s, bounded := settingOf(b); bounded {
			wanted[cookie] = s
		}
	}
	for cookie, s := range wanted {
		if h.set[cookie] == s && !anew {
			continue
		}
		if err := h.put(congestion.Socket(cookie), s); err != nil {
			return missing, fmt.Errorf("bounding flows: %w", err)
		}
	}
	for cookie := range h.set {
		if _, bounded := wanted[cookie]; !bounded {
			if err := h.bounder.Clear(congestion.Socket(cookie)); err != nil {
				return missing, fmt.Errorf("lifting the bounds of flows: %w", err)
			}
		}
	}
	h.set = wanted
	return missing, nil
}

// Unbound returns the flows that the last Set could not bound, for longer than it takes to find a
// socket.
func (h *Bounder) Unbound() (all []Unbound) {
	for flow, since := range h.missing {
		if h.now-since < unboundAfter {
			continue
		}
		reason := h.reasons[flow]
		if reason == "" {
			reason = "its socket is not found"
		}
		all = append(all, Unbound{flow.local, flow.remote, reason})
	}
	slices.SortFunc(all, func(a, b Unbound) int {
		return cmp.Or(a.Local.Compare(b.Local), a.Remote.Compare(b.Remote))
	})
	return all
}

func settingOf(b control.SendBound) (s setting, bounded bool) {
	if b.Packets == 1 { // below kind.MinBound
		return setting{pause: true}, true
	}
	if b.Packets == 0 {
		return s, false
	}
	s.Upper = max(b.Packets, kind.MinBound)
	if b.Least > 0 {
		s.Lower = min(max(b.Least, kind.MinBound), s.Upper)
	}
	return s, true
}

func (h *Bounder) put(socket congestion.Scope, s setting) error {
	if s.pause {
		return h.bounder.Pause(socket)
	}
	return h.bounder.Set(socket, s.Bounds)
}

// findSockets finds the sockets with this agent's congestion control.
func (h *Bounder) findSockets(ctx context.Context) error {
	r, err := h.tuned.Report(ctx)
	if err != nil {
		return fmt.Errorf("looking for the sockets to bound: %w", err)
	}
	clear(h.cookies)
	clear(h.reasons)
	for _, s := range r.Sockets {
		if !s.Failed() {
			h.cookies[endsOf(s.Local, s.Remote)] = s.Cookie
			continue
		}
		reason := "its congestion control is " + s.CongestionControl
		for _, v := range s.Values {
			if v.Error != "" {
				reason += ": " + v.Error
			}
		}
		h.reasons[endsOf(s.Local, s.Remote)] = reason
	}
	return nil
}

// endsOf returns the addresses of a flow. They are equal for IPv4 sockets and for IPv6 sockets with
// mapped addresses.
func endsOf(local, remote netip.AddrPort) ends {
	plain := func(a netip.AddrPort) netip.AddrPort { return netip.AddrPortFrom(a.Addr().Unmap(), a.Port()) }
	return ends{plain(local), plain(remote)}
}

// Close restores the previous congestion control of the sockets.
func (h *Bounder) Close() error {
	var errs []error
	if h.bounder != nil && h.tuned != nil {
		_, err := h.Set(context.Background(), h.lookNs, nil)
		errs = append(errs, err)
	}
	if h.tuned != nil {
		errs = append(errs, h.tuned.Close())
	}
	if h.bounder != nil {
		errs = append(errs, h.bounder.Close())
	}
	errs = append(errs, h.loaded.Close())
	if err := errors.Join(errs...); err != nil {
		return fmt.Errorf("lifting the bounds of flows: %w", err)
	}
	return nil
}

// Package cwnd bounds the congestion windows of a terminal's flows. It gives them a congestion
// control with bounds, whose name is unique to this agent, and sets the bounds of single sockets.
// It needs Linux 6.4 (struct_ops links) and root.
package cwnd

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
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
	lookNs  time.Duration // time of the last search for sockets
	set     map[uint64]setting
}

// setting is the bound in force for a socket.
type setting struct {
	congestion.Bounds
	pause bool
}

type ends struct{ local, remote netip.AddrPort }

// lookEvery is the shortest interval between two searches for the sockets of unknown flows.
const lookEvery = 500 * time.Millisecond

// Attach gives existing and new sockets of a selection a congestion control with bounds. The error
// wraps congestion.ErrNotSupported or tune.ErrNotSupported if the kernel cannot do it.
func Attach(ctx context.Context, sockets tune.Selection) (*Bounder, error) {
	loaded, err := congestion.LoadUnique(congestion.CubicBound, congestion.CubicBound.Defaults())
	if err != nil {
		return nil, fmt.Errorf("holding flows: %w", err)
	}
	h := &Bounder{
		Name: loaded.Name, loaded: loaded, cookies: map[ends]uint64{}, set: map[uint64]setting{},
		lookNs: -lookEvery,
	}
	h.bounder, err = congestion.OpenBounds(loaded.Name)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("holding flows: %w", err), h.Close())
	}
	h.tuned, err = tune.Apply(ctx, sockets, tune.Settings{CongestionControl: loaded.Name}, tune.Options{})
	if err != nil {
		return nil, errors.Join(fmt.Errorf("holding flows: %w", err), h.Close())
	}
	return h, nil
}

// ExtendLease extends the lease of all bounds to a monotonic time. Bounds end then even if this
// process hangs or is killed. Before the first call, bounds have no end.
func (h *Bounder) ExtendLease(until time.Duration) error {
	if err := h.bounder.Lease(int64(until)); err != nil {
		return fmt.Errorf("holding flows: %w", err)
	}
	return nil
}

// Set replaces the bounds of all flows. now is a monotonic time. It returns the number of flows
// without a known socket.
func (h *Bounder) Set(ctx context.Context, now time.Duration, bounds []control.SendBound) (missing int, err error) {
	for _, b := range bounds {
		if _, known := h.cookies[endsOf(b.Local, b.Remote)]; !known && now-h.lookNs >= lookEvery {
			h.lookNs = now
			if err := h.findSockets(ctx); err != nil {
				return 0, err
			}
		}
	}
	wanted := map[uint64]setting{}
	for _, b := range bounds {
		cookie, known := h.cookies[endsOf(b.Local, b.Remote)]
		if !known {
			missing++
			continue
		}
		if s, bounded := settingOf(b); bounded {
			wanted[cookie] = s
		}
	}
	for cookie, s := range wanted {
		if h.set[cookie] == s {
			continue
		}
		if err := h.put(congestion.Socket(cookie), s); err != nil {
			return missing, fmt.Errorf("holding flows: %w", err)
		}
	}
	for cookie := range h.set {
		if _, bounded := wanted[cookie]; !bounded {
			if err := h.bounder.Clear(congestion.Socket(cookie)); err != nil {
				return missing, fmt.Errorf("letting flows go: %w", err)
			}
		}
	}
	h.set = wanted
	return missing, nil
}

func settingOf(b control.SendBound) (s setting, bounded bool) {
	if b.Pause {
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
		return fmt.Errorf("looking for the sockets to hold: %w", err)
	}
	clear(h.cookies)
	for _, s := range r.Sockets {
		if !s.Failed() {
			h.cookies[endsOf(s.Local, s.Remote)] = s.Cookie
		}
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
		return fmt.Errorf("letting flows go: %w", err)
	}
	return nil
}

package congestion

import (
	"errors"
	"fmt"

	"github.com/cilium/ebpf"
	"golang.org/x/sys/unix"

	"airtide/internal/sys/clock"
)

// Scope is a set of sockets with common bounds: all sockets, or one. The bounds of a socket take
// precedence over those for all.
type Scope struct {
	cookie uint64 // 0 means all sockets
}

// All is every socket.
var All = Scope{}

// Socket is one socket, by its cookie (SO_COOKIE, ss -e). Its bounds end with it, and when it
// changes its congestion control.
func Socket(cookie uint64) Scope { return Scope{cookie} }

func (s Scope) String() string {
	if s == All {
		return "all sockets"
	}
	return fmt.Sprintf("socket %d", s.cookie)
}

// Bounder sets the bounds of one loaded cubic_bound.
type Bounder struct {
	changed, all, sockets, lease *ebpf.Map
}

// OpenBounds opens the bounds of a loaded congestion control of kind CubicBound by its name, ""
// meaning the kind's.
func OpenBounds(name string) (*Bounder, error) {
	if name == "" {
		name = string(CubicBound)
	}
	all, err := Registered()
	if err != nil {
		return nil, fmt.Errorf("opening bounds: %w", err)
	}
	e, err := named(all, name)
	if err != nil {
		return nil, fmt.Errorf("opening bounds: %w", err)
	}
	if e.Kind != CubicBound {
		return nil, fmt.Errorf("opening bounds: %s is %s, which has none", name, e.Kind)
	}
	b := &Bounder{}
	for name, m := range map[string]**ebpf.Map{
		"bounds_changed": &b.changed, "bounds_all": &b.all, "bounds_socket": &b.sockets, "bounds_lease": &b.lease,
	} {
		*m, err = ebpf.NewMapFromID(e.maps[name])
		if err != nil {
			return nil, errors.Join(fmt.Errorf("opening %s of %s: %w", name, e.Name, err), b.Close())
		}
	}
	return b, nil
}

// Close closes the maps. Bounds that were set stay in force.
func (b *Bounder) Close() error {
	var errs []error
	for _, m := range []*ebpf.Map{b.changed, b.all, b.sockets, b.lease} {
		errs = append(errs, m.Close()) // nil is allowed
	}
	return errors.Join(errs...)
}

// Maps returns the map of socket bounds by cookie, and the map in which each change writes the time
// (CLOCK_MONOTONIC, ns). BPF programs use them to set bounds. The maps belong to the Bounder.
func (b *Bounder) Maps() (sockets, changed *ebpf.Map) { return b.sockets, b.changed }

// Set sets the bounds of a scope. Each socket follows at its next ACK, or when it sends after a
// pause.
func (b *Bounder) Set(s Scope, bounds Bounds) error {
	if err := bounds.Check(); err != nil {
		return err
	}
	return b.change(s, bounds)
}

// Pause leaves the sockets of a scope one packet on its way, which is less than Set allows: they
// send about as often as their receivers acknowledge late (40 ms in Linux), until other bounds are
// set.
func (b *Bounder) Pause(s Scope) error { return b.change(s, Bounds{Upper: 1}) }

// Clear lifts the bounds of a scope; there need not be any.
func (b *Bounder) Clear(s Scope) error { return b.change(s, Bounds{}) }

// Lease has all bounds hold until a time (clock.Now, ns) and no longer: each socket is free at its
// next ACK then, without anybody doing anything. 0 is for ever, which is how a congestion control
// begins.
func (b *Bounder) Lease(untilNs int64) error {
	if err := b.lease.Put(uint32(0), uint64(untilNs)); err != nil {
		return fmt.Errorf("setting until when bounds hold: %w", err)
	}
	return nil
}

// Get returns the bounds of exactly this scope, or zero bounds.
func (b *Bounder) Get(s Scope) (Bounds, error) {
	var bounds cubicBoundCcBounds
	m, key := b.place(s)
	err := m.Lookup(key, &bounds)
	if err != nil && !errors.Is(err, ebpf.ErrKeyNotExist) {
		return Bounds{}, fmt.Errorf("reading the bounds of %s: %w", s, err)
	}
	return Bounds{Lower: bounds.Lower, Upper: bounds.Upper}, nil
}

// place returns the map and the key of a scope.
func (b *Bounder) place(s Scope) (m *ebpf.Map, key any) {
	if s == All {
		return b.all, uint32(0)
	}
	return b.sockets, s.cookie
}

// change writes bounds, then a new generation that makes sockets read their bounds again. The
// generation is the time, so two processes cannot choose the same, and no lock is needed.
func (b *Bounder) change(s Scope, bounds Bounds) error {
	m, key := b.place(s)
	var err error
	if bounds == (Bounds{}) && s != All {
		if err = m.Delete(key); errors.Is(err, ebpf.ErrKeyNotExist) {
			return nil
		}
	} else {
		err = m.Put(key, &cubicBoundCcBounds{Lower: bounds.Lower, Upper: bounds.Upper})
		if errors.Is(err, unix.E2BIG) {
			err = fmt.Errorf("%w: there is room for %d", err, m.MaxEntries())
		}
	}
	if err != nil {
		return fmt.Errorf("setting the bounds of %s: %w", s, err)
	}
	if err := b.changed.Put(uint32(0), uint64(clock.Now())); err != nil {
		return fmt.Errorf("setting the bounds of %s: %w", s, err)
	}
	return nil
}

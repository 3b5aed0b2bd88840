package control

import (
	"net/netip"
	"time"
)

const (
	// roomFactor is how many times what a terminal delivers others leave to it once it has left
	// more than that unused for roomPatience. Time in which it does not comes back to a quarter.
	roomFactor   = 4.0
	roomPatience = 3 * time.Second
	roomReturns  = 4
	// leastRoom is what they leave to it in any case: ten packets in each of 60 ms, with which a
	// connection begins.
	leastRoom = 2e6
)

// room is what others leave to terminals that want more than they use. One that is held up
// elsewhere takes it back as it grows; one that lies about what it reaches and wants takes from
// nobody what it does not use.
type room struct {
	of   map[netip.AddrPort]*used
	step uint64
}

// used is how a terminal has used its share.
type used struct {
	left    time.Duration // of the patience
	share   float64       // of the last step
	limited bool          // by the room it was left
	step    uint64        // when it was there last
}

// roomOf is what a terminal is left that does not use its share.
func roomOf(t *Terminal) float64 { return max(roomFactor*t.Rate, leastRoom) }

// demand of a terminal, as far as the others believe it. since is the time since the last step.
func (r *room) demand(t *Terminal, since time.Duration) float64 {
	if r.of == nil {
		r.of = map[netip.AddrPort]*used{}
	}
	u := r.of[t.Source]
	if u == nil {
		u = &used{left: roomPatience}
		r.of[t.Source] = u
	}
	u.step = r.step
	room := roomOf(t)
	switch {
	case u.share > room:
		u.left = max(u.left-since, 0)
	case !u.limited:
		u.left = min(u.left+since/roomReturns, roomPatience)
	}
	if u.left > 0 || t.Demand <= room {
		u.limited = false
		return t.Demand
	}
	return room
}

// given notes what the terminals have got, and forgets those that are no more.
func (r *room) given(all []Terminal, own int, shares []float64) {
	for i := range all {
		if i == own {
			continue
		}
		u := r.of[all[i].Source]
		u.share = shares[i]
		u.limited = u.left == 0 && shares[i] >= 0.99*roomOf(&all[i])
	}
	for source, u := range r.of {
		if u.step != r.step {
			delete(r.of, source)
		}
	}
	r.step++
}

package control

import (
	"net/netip"
	"time"
)

const (
	// A terminal whose share was above capFactor times its rate for capDelay is taken to want no
	// more than that. Other steps restore a part 1/capRecovery of their time.
	capFactor   = 4.0
	capDelay    = 3 * time.Second
	capRecovery = 4
	// minCap is the least cap in bit/s: ten packets each 60 ms, with which a connection starts.
	minCap = 2e6
)

// demandCap limits the demands of terminals that want more than they use. A terminal that was held
// up elsewhere regains its share as its rate grows. A terminal that lies about its demand takes
// nothing from the others.
type demandCap struct {
	of   map[netip.AddrPort]*usage
	step uint64
}

// usage is how a terminal used its share.
type usage struct {
	left    time.Duration // time until its demand is capped
	share   float64       // share of the last step
	limited bool          // the cap limited its share
	step    uint64        // the last step that listed it
}

// capOf returns the demand in bit/s of a terminal that does not use its share.
func capOf(t *Terminal) float64 { return max(capFactor*t.Rate, minCap) }

// demand returns the demand of a terminal in bit/s, capped if it does not use its share. since is
// the time since the last step.
func (r *demandCap) demand(t *Terminal, since time.Duration) float64 {
	if r.of == nil {
		r.of = map[netip.AddrPort]*usage{}
	}
	u := r.of[t.Source]
	if u == nil {
		u = &usage{left: capDelay}
		r.of[t.Source] = u
	}
	u.step = r.step
	demandCap := capOf(t)
	switch {
	case u.share > demandCap:
		u.left = max(u.left-since, 0)
	case !u.limited:
		u.left = min(u.left+since/capRecovery, capDelay)
	}
	if u.left > 0 || t.Demand <= demandCap {
		u.limited = false
		return t.Demand
	}
	return demandCap
}

// record takes the new shares, and forgets terminals that are gone.
func (r *demandCap) record(all []Terminal, own int, shares []float64) {
	for i := range all {
		if i == own {
			continue
		}
		u := r.of[all[i].Source]
		u.share = shares[i]
		u.limited = u.left == 0 && shares[i] >= 0.99*capOf(&all[i])
	}
	for source, u := range r.of {
		if u.step != r.step {
			delete(r.of, source)
		}
	}
	r.step++
}

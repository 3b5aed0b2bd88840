package summary

import (
	"cmp"
	"iter"
	"slices"

	"airtide/internal/tcp"
)

// Comparison sets two recordings side by side.
type Comparison struct {
	a, b List
	// pairs are the indices of the flows in a and b, -1 without one. Matched flows and those of a
	// alone come first, in the order of a, then those of b alone.
	pairs          [][2]int32
	rolesA, rolesB []Role
}

// Pair is a flow of each recording with the same role. A or B is nil if only the other has it.
type Pair struct {
	Role    Role     `json:"role"`
	A       *Flow    `json:"a"`
	B       *Flow    `json:"b"`
	Changes *Changes `json:"changes"` // nil unless both are there
}

// Role is the part that a flow plays in its recording. It tells flows apart without port numbers
// that the kernel has chosen.
type Role struct {
	Process string `json:"process"`
	// Direction is sender, receiver or control.
	Direction string `json:"direction"`
	Port      uint16 `json:"port"`   // the service's: the lower port of both
	Server    bool   `json:"server"` // the flow's own end has the port
	Peer      string `json:"peer"`   // address
}

// The directions of flows. A control connection moves at most controlBytes.
const (
	sender       = "sender"
	receiver     = "receiver"
	control      = "control"
	controlBytes = 64 << 10
)

func (f *Flow) role() Role {
	r := Role{Process: f.Comm, Direction: f.direction(), Port: f.Remote.Port()}
	if f.Remote.IsValid() {
		r.Peer = f.Remote.Addr().Unmap().String()
	}
	if local := f.Local.Port(); local != 0 && (local < r.Port || r.Port == 0) {
		r.Port = local
		r.Server = true
	}
	return r
}

func (f *Flow) direction() string {
	acked, _ := number(f.AckedBytes)
	received, _ := number(f.ReceivedBytes)
	switch {
	case max(acked, received) <= controlBytes:
		return control
	case acked >= received:
		return sender
	}
	return receiver
}

// Changes are the values that a comparison shows.
type Changes struct {
	DurationS          Change `json:"duration_s"`
	AckedBytes         Change `json:"acked_bytes"`
	ReceivedBytes      Change `json:"received_bytes"`
	AckedRateBps       Change `json:"acked_rate_bps"`
	ReceiveRateBps     Change `json:"receive_rate_bps"`
	RttMedianUs        Change `json:"rtt_median_us"` // median of smoothed RTTs if there are no single ones
	RttP99Us           Change `json:"rtt_p99_us"`
	MinRttUs           Change `json:"min_rtt_us"`
	CwndMedianPackets  Change `json:"cwnd_median_packets"`
	InFlightPackets    Change `json:"in_flight_median_packets"`
	LostPackets        Change `json:"lost_packets"`
	RetransmitsPackets Change `json:"retransmits_packets"`
	RetransmittedPct   Change `json:"retransmitted_pct"` // per cent of the delivered packets
	LocalCongestion    Change `json:"local_congestion"`
	DupAck             Change `json:"dup_ack"`
	Timeout            Change `json:"timeout"`
}

// Change is a value in both recordings. A nil pointer means an unknown value.
type Change struct {
	A *float64 `json:"a"`
	B *float64 `json:"b"`
	// Pct is the increase from A to B in per cent; nil if A is zero or a value is unknown.
	Pct *float64 `json:"change_pct"`
}

func change[T int64 | float64](a, b *T) Change {
	var c Change
	if v, ok := number(a); ok {
		c.A = &v
	}
	if v, ok := number(b); ok {
		c.B = &v
	}
	if c.A != nil && c.B != nil && *c.A != 0 {
		pct := 100 * (*c.B - *c.A) / *c.A
		c.Pct = &pct
	}
	return c
}

func changes(a, b *Figures) *Changes {
	rtt := func(g *Figures) *int64 { return (&Flow{Figures: *g}).medianRttUs() }
	p99 := func(g *Figures) *int64 { return of(g.Rtt, func(d *Distribution) int64 { return d.P99 }) }
	median := func(s *Spread) *int64 { return of(s, (*Spread).median) }
	return &Changes{
		DurationS: change(&a.DurationS, &b.DurationS), AckedBytes: change(a.AckedBytes, b.AckedBytes),
		ReceivedBytes: change(a.ReceivedBytes, b.ReceivedBytes), AckedRateBps: change(a.AckedRateBps, b.AckedRateBps),
		ReceiveRateBps: change(a.ReceiveRateBps, b.ReceiveRateBps), RttMedianUs: change(rtt(a), rtt(b)),
		RttP99Us: change(p99(a), p99(b)), MinRttUs: change(a.MinRttUs, b.MinRttUs),
		CwndMedianPackets:  change(median(a.Cwnd), median(b.Cwnd)),
		InFlightPackets:    change(median(a.InFlight), median(b.InFlight)),
		LostPackets:        change(a.LostPackets, b.LostPackets),
		RetransmitsPackets: change(a.Retransmissions.Packets, b.Retransmissions.Packets),
		RetransmittedPct:   change(a.Retransmissions.DeliveredPct, b.Retransmissions.DeliveredPct),
		LocalCongestion:    change(a.Errors.LocalCongestion, b.Errors.LocalCongestion),
		DupAck:             change(a.Errors.DupAck, b.Errors.DupAck),
		Timeout:            change(a.Errors.Timeout, b.Errors.Timeout),
	}
}

// Compare matches the flows of two recordings by their roles. Flows of equal roles are matched in
// the order of their first sight. Roles are compared as a whole first, then without the peer's
// address, then without the process.
func Compare(a, b List) *Comparison {
	c := &Comparison{a: a, b: b}
	var sightA, sightB []int
	c.rolesA, sightA = a.roles()
	c.rolesB, sightB = b.roles()
	alone := make([]bool, b.Len)
	for j := range alone {
		alone[j] = true
	}
	for i, j := range matchRoles(c.rolesA, c.rolesB, sightA, sightB) {
		c.pairs = append(c.pairs, [2]int32{int32(i), int32(j)})
		if j >= 0 {
			alone[j] = false
		}
	}
	for j := range alone {
		if alone[j] {
			c.pairs = append(c.pairs, [2]int32{-1, int32(j)})
		}
	}
	return c
}

// roles returns the roles of the flows, and the indices of the flows in the order of their first
// sight.
func (l List) roles() (roles []Role, bySight []int) {
	ids := make([]tcp.FlowID, l.Len)
	roles = make([]Role, l.Len)
	bySight = make([]int, l.Len)
	for i := range l.Len {
		flow := l.at(i)
		ids[i] = flow.ID
		roles[i] = flow.role()
		bySight[i] = i
	}
	slices.SortFunc(bySight, func(i, j int) int { return cmp.Compare(ids[i], ids[j]) })
	return roles, bySight
}

// Len is the number of pairs.
func (c *Comparison) Len() int { return len(c.pairs) }

// Pairs are made one by one: matched flows in the order of A, then those of B alone.
func (c *Comparison) Pairs() iter.Seq[*Pair] {
	return func(yield func(*Pair) bool) {
		for _, of := range c.pairs {
			p := &Pair{}
			if of[1] >= 0 {
				p.Role = c.rolesB[of[1]]
				p.B = c.b.at(int(of[1]))
			}
			if of[0] >= 0 {
				p.Role = c.rolesA[of[0]]
				p.A = c.a.at(int(of[0]))
			}
			if p.A != nil && p.B != nil {
				p.Changes = changes(&p.A.Figures, &p.B.Figures)
			}
			if !yield(p) {
				return
			}
		}
	}
}

// ChangesOf sets the totals of two recordings side by side.
func ChangesOf(a, b *Totals) *Changes { return changes(&a.Figures, &b.Figures) }

// matchRoles returns for each role of a the index of its partner in b, or -1 without a partner. It
// visits both lists in the given orders.
func matchRoles(a, b []Role, orderA, orderB []int) []int {
	partner := slices.Repeat([]int{-1}, len(a))
	taken := make([]bool, len(b))
	for _, loosen := range []func(Role) Role{
		func(r Role) Role { return r },
		func(r Role) Role { r.Peer = ""; return r },
		func(r Role) Role {
			r.Peer = ""
			r.Process = ""
			return r
		},
	} {
		waiting := map[Role][]int{}
		for _, j := range orderB {
			if key := loosen(b[j]); !taken[j] {
				waiting[key] = append(waiting[key], j)
			}
		}
		for _, i := range orderA {
			key := loosen(a[i])
			if list := waiting[key]; partner[i] < 0 && len(list) > 0 {
				partner[i] = list[0]
				taken[list[0]] = true
				waiting[key] = list[1:]
			}
		}
	}
	return partner
}

package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"slices"

	"airtide/internal/units"
)

const (
	// maxRivals is the number of connections with which others are compared: those that send most.
	maxRivals = 32
	// unfairRate is the factor between two rates from which on their sharing is unfair.
	unfairRate = 2
	// sameQueue is the greatest factor between two waits in the same queue, which also vary by
	// sameQueueUs.
	sameQueue   = 1.4
	sameQueueUs = 3_000
	// otherRTT is the least factor between RTTs, or between airtimes, that explains unequal rates.
	otherRTT = 1.5
	// together is the part of a phase in which the other connection is limited by the path, too.
	together = 0.5
	// othersRate is the rate of others over that of a connection, below which it has the bottleneck
	// for itself.
	othersRate = 0.5
)

// rivals are the connections that send most, behind f.
func (e *Engine) rivals(f *flow) []*flow {
	others := slices.DeleteFunc(slices.Clone(e.order), func(o *flow) bool { return o == f || o.ackedAll < shortBytes })
	slices.SortStableFunc(others, func(a, b *flow) int { return cmp.Compare(b.ackedAll, a.ackedAll) })
	return append([]*flow{f}, others[:min(len(others), maxRivals)]...)
}

// name is that of the output.
func (f *flow) name() string {
	if f.source == Captured {
		return fmt.Sprintf("connection %d", (f.ID+1)/2)
	}
	return fmt.Sprintf("flow %d", f.ID)
}

// compare names the phases in which other connections use the same bottleneck, or one has most of
// it. A flow shares it if both are limited by the path at the same time, and have the same ends or
// wait as long in a queue, or if their radios have the same access point.
func compare(flows []*flow, all []Connection) {
	var most []int
	for i := range all {
		if all[i].contends() {
			most = append(most, i)
		}
	}
	slices.SortStableFunc(most, func(a, b int) int { return cmp.Compare(all[b].AckedBytes, all[a].AckedBytes) })
	var rivals []rival
	for _, i := range most[:min(len(most), maxRivals)] {
		rivals = append(rivals, rival{flows[i], slices.Clone(all[i].Phases)})
	}
	for _, i := range most {
		c := &all[i]
		found := false
		for k := range c.Phases {
			p := &c.Phases[k]
			if !p.waits() {
				continue
			}
			f := unequal(flows[i], p, rivals)
			if f == nil {
				f = shared(flows[i], p, rivals)
			}
			if f != nil {
				p.becomes(f)
				found = true
			}
		}
		if found {
			c.Phases = joinPhases(c.Phases)
			c.conclude()
		}
	}
}

// rival is a connection with which others are compared, and its phases before that.
type rival struct {
	*flow
	phases []Phase
}

// unequal finds a rival that gets more of the same bottleneck; nil without one.
func unequal(f *flow, p *Phase, rivals []rival) *Finding {
	for _, r := range rivals {
		if r.flow == f {
			continue
		}
		if found := overtaken(f, p, r); found != nil {
			return found
		}
	}
	return nil
}

// overlapNs is the time that two phases have in common; below 0 it is the time between them.
func (p *Phase) overlapNs(q *Phase) int64 { return min(p.EndNs, q.EndNs) - max(p.StartNs, q.StartNs) }

// shared recognises a bottleneck of the network in which others take much; nil if they do not.
func shared(f *flow, p *Phase, rivals []rival) *Finding {
	if p.Limit == OwnQueue || p.Limit == RadioLimit {
		return nil
	}
	others := 0
	var sum float64
	for _, r := range rivals {
		if r.flow == f {
			continue
		}
		var moved, length float64
		for i := range r.phases {
			q := &r.phases[i]
			overlap := float64(p.overlapNs(q))
			if overlap > 0 && q.waits() && (sameEnds(f, r.flow) || sameWait(f, p, r.flow, q)) {
				moved += q.RateBps * overlap
				length += overlap
			}
		}
		if length >= together*float64(p.length()) {
			others++
			sum += moved / float64(p.length())
		}
	}
	if sum < othersRate*p.RateBps || others == 0 {
		return nil
	}
	m := verdict(SharedCapacity, false)
	for _, l := range append([]Limit{p.Limit}, p.Or...) {
		if l != SharedCapacity {
			m.or = append(m.or, l)
		}
	}
	m.because("acked_bytes", "%s waited for the same bottleneck and sent %s meanwhile, this one %s",
		units.Count(int64(others), "other connection"), rate(sum), rate(p.RateBps))
	m.evidence = append(m.evidence, p.Evidence...)
	found := m.finding()
	found.Next = fmt.Sprintf("The path carries %s for all of them: fewer at a time get more each.", rate(sum+p.RateBps))
	return &found
}

// sameEnds reports whether two flows have the same hosts, and thus the same path.
func sameEnds(a, b *flow) bool {
	return a.Local.Addr() == b.Local.Addr() && a.Remote.Addr() == b.Remote.Addr()
}

// queueUs is the wait of a flow's packets in queues, in µs.
func (p *Phase) queueUs(f *flow) float64 { return p.RttUs - float64(f.baseRtt) }

// sameWait reports whether two flows wait as long in a queue, so that it may be the same one.
func sameWait(f *flow, p *Phase, other *flow, q *Phase) bool {
	mine := p.queueUs(f)
	its := q.queueUs(other)
	alike := math.Abs(mine-its) < sameQueueUs || max(mine, its) < sameQueue*min(mine, its)
	return alike && min(mine, its) >= sameQueueUs
}

// contends reports whether the connection sends and waits for the path at times.
func (c *Connection) contends() bool {
	return c.Direction == "sends" && slices.ContainsFunc(c.Phases, func(p Phase) bool { return p.waits() })
}

// waits reports whether the connection waits for the path.
func (p *Phase) waits() bool {
	switch p.Limit {
	case Capacity, SharedCapacity, NetworkQueue, OwnQueue, RadioLimit:
		return true
	}
	return false
}

// becomes gives a phase another finding.
func (p *Phase) becomes(f *Finding) {
	for i := range p.Shares {
		if p.Shares[i].Limit == p.Limit {
			p.Shares[i].Limit = f.Limit
		}
	}
	p.Finding = *f
}

// overtaken judges a phase of a flow beside those of another one; nil if that one does not get more
// of the same bottleneck.
func overtaken(f *flow, p *Phase, other rival) *Finding {
	for i := range other.phases {
		q := &other.phases[i]
		if !q.waits() || float64(p.overlapNs(q)) < together*float64(p.length()) {
			continue
		}
		if found := byRTT(f, p, other.flow, q); found != nil {
			return found
		}
		if found := byAirtime(f, p, other.flow, q); found != nil {
			return found
		}
	}
	return nil
}

// byRTT recognises a rate that is less since the RTT is longer, or the congestion control another.
func byRTT(f *flow, p *Phase, other *flow, q *Phase) *Finding {
	longer := float64(f.baseRtt) > otherRTT*float64(other.baseRtt)
	if !sameWait(f, p, other, q) || q.RateBps < unfairRate*p.RateBps || !longer && f.cc == other.cc {
		return nil
	}
	m := verdict(UnfairSharing, false).
		because("acked_bytes", "%s sent %s meanwhile, this one %s", other.name(), rate(q.RateBps), rate(p.RateBps)).
		because("rtt_us", "both waited as long in a queue, %s and %s: it is the same one",
			milliseconds(p.queueUs(f)), milliseconds(q.queueUs(other)))
	if longer {
		m.because("min_rtt_us", "the least RTT is %s, that of %s %s: windows grow faster with a small RTT",
			milliseconds(float64(f.baseRtt)), other.name(), milliseconds(float64(other.baseRtt)))
	} else {
		m.because("congestion_control", "this one runs %s, %s %s", f.cc, other.name(), other.cc)
	}
	m.or = []Limit{p.Limit} // another queue's, by chance
	found := m.finding()
	found.Next = fmt.Sprintf("Equal shares would be %s each: a separate queue for each connection at the bottleneck "+
		"(fq_codel, cake) gives them, and a congestion control that is alike at all RTTs comes near.",
		rate((p.RateBps+q.RateBps)/2))
	return &found
}

// byAirtime recognises a fast radio that gets no more than its rate of the airtime of a slow one.
func byAirtime(f *flow, p *Phase, other *flow, q *Phase) *Finding {
	a := f.link()
	b := other.link()
	if a == nil || b == nil || a == b || a.station == "" || a.station != b.station {
		return nil
	}
	mine := a.during(p.StartNs, p.EndNs)
	its := b.during(q.StartNs, q.EndNs)
	if mine == nil || its == nil || mine.tx.Median < unfairRate*its.tx.Median || its.tx.Median == 0 {
		return nil
	}
	used := p.RateBps / mine.tx.Median
	usedByIt := q.RateBps / its.tx.Median
	if usedByIt < unfairRate*used {
		return nil
	}
	found := verdict(UnfairSharing, false).
		because("tx_rate_bps", "%s sent %s at a PHY rate of %s, this one %s at %s: it took %.1f times the airtime",
			other.name(), rate(q.RateBps), rate(its.tx.Median), rate(p.RateBps), rate(mine.tx.Median), usedByIt/used).
		finding()
	found.Next = fmt.Sprintf("With equal airtime this connection would get about %s, and %s %s: `airtide share`, or "+
		"airtime fairness in the access point, shares so.", rate(mine.tx.Median*(used+usedByIt)/2), other.name(),
		rate(its.tx.Median*(used+usedByIt)/2))
	return &found
}

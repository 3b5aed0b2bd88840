package queue

import "math"

// CoDel are the parameters of RFC 8289.
type CoDel struct {
	// TargetNs is the sojourn time that is accepted for good, IntervalNs how long it may be
	// exceeded before the first drop. A target of zero switches CoDel off.
	TargetNs, IntervalNs int64
	// MTU in bytes: a flow with no more than this waiting behind its head is left alone.
	MTU int
	// ECN marks packets of flows that can ECN instead of dropping them.
	ECN bool
}

// The parameters in use.
var (
	// InternetCoDel is RFC 8289 section 4.4 and fq_codel's default.
	InternetCoDel = CoDel{TargetNs: 5e6, IntervalNs: 100e6, MTU: 1514}
	// WirelessCoDel is mac80211's (net/mac80211/sta_info.c): an aggregate takes milliseconds to
	// send.
	WirelessCoDel = CoDel{TargetNs: 20e6, IntervalNs: 100e6, ECN: true}
)

// codelState is the state of one flow queue, named as in RFC 8289 section 5.
type codelState struct {
	firstAboveNs     int64 // when dropping may begin, zero while the sojourn time is below the target
	dropNextNs       int64
	count, lastCount int
	dropping         bool
}

// mayDrop decides about a packet that has just left a flow queue with behind bytes left in it.
func (s *codelState) mayDrop(p *Packet, behind int, c *CoDel, nowNs int64) bool {
	if p == nil || nowNs-p.EnteredNs < c.TargetNs || behind <= c.MTU {
		s.firstAboveNs = 0
		return false
	}
	if s.firstAboveNs == 0 {
		s.firstAboveNs = nowNs + c.IntervalNs
		return false
	}
	return nowNs >= s.firstAboveNs
}

// controlLaw is the time of the next drop (RFC 8289 section 3.3).
func (s *codelState) controlLaw(fromNs int64, c *CoDel) int64 {
	return fromNs + int64(float64(c.IntervalNs)/math.Sqrt(float64(s.count)))
}

// markOrDrop marks the packet and returns it, or drops it and returns nil.
func (q *FQCoDel) markOrDrop(p *Packet, c *CoDel, nowNs int64) *Packet {
	if c.ECN && markCE(p.Data) {
		q.stations[p.Station].Marked++
		return p
	}
	q.discard(p.Station, p, nowNs)
	return nil
}

// take returns the next packet of a flow queue after CoDel's drops (RFC 8289 section 5.5).
func (q *FQCoDel) take(f *flowQueue, c *CoDel, nowNs int64) *Packet {
	s := &f.codel
	p := f.waiting.pop()
	if c.TargetNs == 0 {
		return p
	}
	mayDrop := s.mayDrop(p, f.waiting.bytes, c, nowNs)
	if s.dropping {
		s.dropping = mayDrop
		for s.dropping && nowNs >= s.dropNextNs {
			s.count++
			if marked := q.markOrDrop(p, c, nowNs); marked != nil {
				s.dropNextNs = s.controlLaw(s.dropNextNs, c)
				return marked
			}
			p = f.waiting.pop()
			s.dropping = s.mayDrop(p, f.waiting.bytes, c, nowNs)
			if s.dropping {
				s.dropNextNs = s.controlLaw(s.dropNextNs, c)
			}
		}
		return p
	}
	if !mayDrop {
		return p
	}
	marked := q.markOrDrop(p, c, nowNs)
	if marked == nil {
		p = f.waiting.pop()
		s.mayDrop(p, f.waiting.bytes, c, nowNs)
	}
	s.dropping = true
	// If dropping ended not long ago, the drop rate that controlled the queue then is a good one to
	// begin with.
	recent := s.count - s.lastCount
	s.count = 1
	if recent > 1 && nowNs-s.dropNextNs < 16*c.IntervalNs {
		s.count = recent
	}
	s.lastCount = s.count
	s.dropNextNs = s.controlLaw(nowNs, c)
	return p
}

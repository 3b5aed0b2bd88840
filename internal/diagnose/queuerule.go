package diagnose

import (
	"math"

	"airtide/internal/units"
)

// noQueueUs is the longest queueing that does not count.
func (p *phase) noQueueUs() float64 { return math.Min(15_000, math.Max(3_000, p.baseUs/4)) }

// overfills reports whether a queue of the path stands all the time, though the window of the peer
// or the send buffer bounds the data in flight: more data would only lengthen the queue.
func (p *phase) overfills() bool { return p.overlong(p.standingUs) }

// overlong reports whether a standing queue has the path full, however much more is in flight.
func (p *phase) overlong(standingUs float64) bool {
	return standingUs > math.Max(p.noQueueUs(), overfull*p.baseUs)
}

// overfillsBy names what bounds the data in flight that overfills the path; Unknown if nothing.
func (p *phase) overfillsBy() Limit {
	switch {
	case !p.overfills():
		return Unknown
	case math.Max(p.share[condReceive], p.rwnd) > windowShare*p.active():
		return ReceiveWindow
	case p.holdsBuffer() > quietShare:
		return SendBuffer
	}
	return Unknown
}

// fills reports whether a queue was full when the window was reduced. The median RTT does not show
// it if the window needs long to grow again.
func (p *phase) fills() bool {
	return p.cutQueueUs() > p.noQueueUs() && (p.rankSum > shallowRank*float64(p.ranks) || p.bursts())
}

// bursts reports whether losses come several at once, as a queue that overflows makes them. Polls
// miss reductions.
func (p *phase) bursts() bool { return p.flow.source != Polled && p.lostAtOnce() >= manyLost }

// shallow reports whether a queue overflows that is too short for the RTT to show it.
func (p *phase) shallow(rank float64) bool {
	switch {
	case p.flow.source != PerAck || p.retrans == 0:
		return rank > shallowRank || p.cuts >= leastCuts && p.cutSpread() < evenCuts
	case p.bursts():
		return true
	case p.lostAtOnce() < fewLost:
		return rank > shallowRank && p.cuts >= leastCuts
	}
	return rank > shallowRank || p.cuts >= leastCuts && p.cutSpread() < evenCuts
}

// bound reports whether the window stands at one height, to which it returns after a loss.
func (p *phase) bound() bool {
	if p.reductions == 0 {
		return p.steadyWindow() > steadyShare
	}
	return p.windowNear(float64(p.cwnd.greatest)) > boundShare
}

func noQueue(p *phase) *match {
	if p.queueUs() >= p.noQueueUs() || p.fills() {
		return nil
	}
	flat := func(m *match) *match {
		return m.because("rtt_us", "the RTT of %s is near its least value of %s: no queue is full",
			milliseconds(p.rttUs),
			milliseconds(p.baseUs))
	}
	rank := 0.0
	if p.ranks > 0 {
		rank = p.rankSum / float64(p.ranks)
	}
	switch {
	case p.bound() && p.share[condWindow] > windowFull*p.active():
		return flat(verdict(CwndBound, p.cwnd.mean() > 0.97*float64(p.cwnd.greatest)).
			because("cwnd_packets", "the window stood full at %.0f packets, and was reduced %s", p.cwnd.greatest,
				units.Count(int64(p.reductions), "time")))
	case p.reductions == 0:
		return nil
	case p.flow.cc == "bbr":
		return bbr(p)
	case p.flow.source == Captured && p.bursts():
		return overflows(p)
	case p.shallow(rank):
		m := verdict(ShallowQueue, p.cuts > leastCuts && rank > shallowRank)
		if m.certainty < Certain {
			m.or = []Limit{RandomLoss}
		}
		return flat(m.
			because("rtt_us", "at its %d reductions the RTT was higher than at %s of the other times", p.reductions,
				units.Percent(rank)).
			because("cwnd_packets", "the window varied by %s between them", units.Percent(p.cutSpread())).
			because("retransmits_packets", "%.1f packets were sent again for each of them", p.lostAtOnce()))
	}
	agree := p.timeouts == 0 && p.cuts > leastCuts && rank < 0.65 && p.cutSpread() > 2*evenCuts &&
		p.lostAtOnce() < fewLost
	m := verdict(RandomLoss, agree)
	if p.cuts > 0 {
		m.because("cwnd_packets", "the window varied by %s between the reductions", units.Percent(p.cutSpread()))
	}
	if m.certainty < Certain {
		m.or = []Limit{ShallowQueue}
	}
	seen := "the window was reduced"
	if p.flow.source == Polled {
		seen = "polls saw the window reduced"
	}
	return flat(m.because("retransmits_packets", "TCP sent %s of %d again, and %s %s",
		units.Count(p.retrans, "packet"), p.deliveredPackets, seen, units.Count(int64(p.reductions), "time")))
}

// overflows judges a capture in which packets are lost several at once, though the RTT is low: a
// queue overflowed, as at the end of a slow start. A capture shows no congestion control, and BBR
// fills the path without a queue. A rate above that of a loss-based sender shows it.
func overflows(p *phase) *match {
	limit := ShallowQueue
	other := Capacity
	law := p.lossRate(int64(p.reductions))
	if p.rateBps() > law {
		limit = Capacity
		other = ShallowQueue
	}
	m := verdict(limit, false).
		because("retransmits_packets", "%.1f packets were sent again for each of %s of the window: a queue "+
			"overflowed; a loss-based sender would reach %s, and this one had %s", p.lostAtOnce(),
			units.Count(int64(p.reductions), "reduction"), rate(law), rate(p.rateBps()))
	m.or = []Limit{other, SharedCapacity}
	return m
}

// waitAtDevice is the part of the packets in queues that stands in this host's, about 0 to 1. The
// kernel counts the memory of packets there, which exceeds their data. It is 0 for a capture.
func (p *phase) waitAtDevice() float64 {
	queued := p.inFlight.mean() * p.mss() * p.queueUs() / math.Max(1, p.rttUs)
	return p.deviceQueue.mean() / math.Max(1, queued)
}

// longQueue reports whether packets wait so long that other connections suffer.
func longQueue(p *phase) bool { return p.queueUs() > math.Max(100_000, 2.5*p.baseUs) }

func queue(p *phase) *match {
	waits := p.share[condWindow]+p.share[condPaced] >= windowFull*p.active()
	bound := p.overfillsBy()
	if p.queueUs() < p.noQueueUs() && !p.fills() || !waits && bound == Unknown {
		return nil
	}
	if own := p.waitAtDevice(); own > ownWait {
		return verdict(OwnQueue, own > 2*ownWait).
			because("device_queue_bytes", "%s stood in this host's queue on average, of %s in flight",
				bytes(p.deviceQueue.mean()), bytes(p.inFlight.mean()*p.mss())).
			because("rtt_us", "the RTT is %s, its least value %s: packets wait", milliseconds(p.rttUs),
				milliseconds(p.baseUs))
	}
	spread := p.spread()
	dataUs, ackUs, stamped := p.waits()
	if stamped {
		if m := ackBacklog("peer_timestamp", dataUs, ackUs, true); m != nil {
			return m
		}
	}
	var m *match
	switch {
	case longQueue(p):
		m = verdict(NetworkQueue, p.queueUs() > math.Max(150_000, 4*p.baseUs))
	case spread < varyingRate:
		m = verdict(Capacity, spread < varyingRate/3 && p.queueUs() < math.Max(75_000, 2*p.baseUs))
	default:
		m = verdict(SharedCapacity, false)
	}
	if m.limit == Capacity && m.certainty < Certain {
		m.or = append(m.or, SharedCapacity) // others may fill the queue as steadily
	}
	if !stamped && p.queueUs() > leastAckQueueUs && (p.reductions == 0 || !p.fills()) {
		m.or = append(m.or, AckBacklog)
	}
	if !waits { // where others fill the queue, a larger window or buffer has more of it
		m.certainty = Likely
		m.or = append(m.or, bound)
	}
	if stamped {
		m.because("peer_timestamp", "data waited %s on its way, acknowledgements %s on their way back",
			milliseconds(dataUs), milliseconds(ackUs))
	}
	return m.
		because("rtt_us", "the RTT is %s, its least value %s: packets wait in a queue of the network",
			milliseconds(p.rttUs), milliseconds(p.baseUs)).
		because("acked_bytes", "the rate of %s varies by %s", rate(p.rateBps()), units.Percent(spread))
}

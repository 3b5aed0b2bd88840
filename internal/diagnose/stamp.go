package diagnose

import (
	"math"

	"airtide/internal/tcp"
)

// stamps splits the delays of both ways by the timestamps of segments (RFC 7323), with --with
// timestamps. The clocks of the ends differ by an unknown offset, so delays are told above their
// least ones.
type stamps struct {
	seen                bool
	firstNs, lastNs     int64
	firstPeer, lastPeer uint32
	firstEcho           uint32
	// Least delays in µs beyond those of the first segment.
	leastThere, leastBack float64
}

const (
	// tickUs is the tick of Linux's timestamps. Other ticks are not understood.
	tickUs = 1000
	// tickError is the greatest part of the time by which the peer's clock may lag: its segments
	// wait, too. stampedNs is the time that shows its tick.
	tickError = 0.3
	stampedNs = int64(1e9)
	// Both waits exceed that of the RTT by at most waitFactor and waitUs. A clock that drifts
	// makes them grow.
	waitFactor = 1.5
	waitUs     = 10_000
)

// take takes the timestamps of a segment that acknowledges data. Behind a gap the peer echoes the
// last timestamp before it.
func (t *stamps) take(b *bin, s *sample) {
	if s.peerTime == tcp.Absent || s.echoedTime == tcp.Absent || s.echoedTime == 0 || s.segment > 0 ||
		s.caState != int64(tcp.CAOpen) {
		return
	}
	peer := uint32(s.peerTime)
	echo := uint32(s.echoedTime)
	if !t.seen {
		*t = stamps{seen: true, firstNs: s.timeNs, firstPeer: peer, firstEcho: echo}
	}
	t.lastNs = s.timeNs
	t.lastPeer = peer
	// Differences of timestamps wrap with 32 bits.
	passed := float64(int32(peer-t.firstPeer)) * tickUs
	there := passed - float64(int32(echo-t.firstEcho))*tickUs
	back := float64(s.timeNs-t.firstNs)/1000 - passed
	b.there.add(int64(there))
	b.back.add(int64(back))
	t.leastThere = math.Min(t.leastThere, there)
	t.leastBack = math.Min(t.leastBack, back)
}

// ticks reports whether the peer's clock has the known tick.
func (t *stamps) ticks() bool {
	passed := float64(t.lastNs-t.firstNs) / 1000
	peer := float64(int32(t.lastPeer-t.firstPeer)) * tickUs
	return t.lastNs-t.firstNs >= stampedNs && math.Abs(peer-passed) < tickError*passed
}

// waits are the mean delays of data to the peer, and of acknowledgements back, above their least
// ones, in µs.
func (p *phase) waits() (dataUs, ackUs float64, known bool) {
	t := &p.flow.stamps
	if p.there.count == 0 || !t.ticks() {
		return 0, 0, false
	}
	dataUs = p.there.mean() - t.leastThere
	ackUs = p.back.mean() - t.leastBack
	return dataUs, ackUs, dataUs+ackUs < waitFactor*(p.bin.rtt.mean()-p.baseUs)+waitUs
}

package conn

import (
	"sort"

	"airtide/internal/packets/decode"
)

// Signs are what the analysis finds in a segment.
type Signs uint32

// The signs.
const (
	Retransmission Signs = 1 << iota
	FastRetransmission
	SpuriousRetransmission
	OutOfOrder
	Gap
	DupAck
	UnseenAcked
	KeepAlive
	KeepAliveAck
	ZeroWindow
	ZeroWindowProbe
	ZeroWindowProbeAck
	WindowFull
	WindowUpdate
	Sack
	Dsack
	NewAck

	// Repeated are the kinds of retransmissions.
	Repeated = Retransmission | FastRetransmission | SpuriousRetransmission
)

// Step is a segment with what the analysis makes of it. It is valid during the call.
type Step struct {
	Segment *decode.Segment
	// Client is true if the client sent it.
	Client bool
	Signs  Signs
	// Offset is the place of the first byte in the stream of its sender; that of the first seen
	// byte is zero.
	Offset int64
	// AckOffset is the place that it acknowledges in the stream of the other end.
	AckOffset int64
	Acked     int64 // bytes that it newly acknowledges
	OtherSent int64 // end of what the other end has sent
	InFlight  int64 // bytes of its sender that are in flight now
	// Window is the advertised window in bytes, or -1 if its scale is unknown.
	Window int64
	// Delays are the times from each segment that it acknowledges to it. They are empty for
	// segments sent twice.
	Delays []Delay

	spare   int    // segments that may still wait for ACKs, in all connections of this analysis
	dropped uint64 // segments that no longer wait
}

// Delay is the time from a segment to its ACK.
type Delay struct {
	Offset int64 // of the first byte
	End    int64 // behind the last byte
	Ns     int64
}

// flight is a segment without an ACK.
type flight struct {
	seq, end uint32
	timeNs   int64
	twice    bool
}

// maxFlights bounds the segments that wait for ACKs; the oldest go.
const maxFlights = 1 << 15

// side is the state of one end.
type side struct {
	*Direction
	seen, acked     bool // sent a segment; sent an ACK
	base            uint32
	next            uint32 // behind the highest byte
	nextNs          int64
	ack             uint32 // last acknowledged by this end
	ackTop          uint32 // highest acknowledged by this end
	ackNs           int64
	window          uint16
	scale           int8
	hasScale        bool
	dupAcks         uint32
	last            Signs
	offset          int64 // of the byte next
	holes           holes // below offset
	flights         []flight
	first           int // of flights
	inFlightSum     float64
	rtt             delays
	leastWindow     int64
	greatestWindow  int64
	windowKnown     bool
	unseen          bool // acknowledged data that was not captured
	synNs           int64
	syn, fin, reset bool
	finEnd          uint32
}

// connection is an open connection. Only the reader uses membership, only the analysis the rest.
type connection struct {
	Connection
	membership
	ends     [2]side // client, server
	synAckNs int64
	ackedNs  int64
	rttNs    int64 // of the handshake, for telling reordering from retransmission
	endBy    int8  // 0 nobody, 1 client, 2 server
	lastNs   int64
}

func less(a, b uint32) bool { return int32(a-b) < 0 }

// offsetOf is the place of a sequence number in the stream of its sender.
func (s *side) offsetOf(seq uint32) int64 { return s.offset + int64(int32(seq-s.next)) }

// reorderNs is the time in which an earlier segment counts as reordered, if no RTT is known.
const reorderNs = 3_000_000

// fastNs is the time behind a duplicate ACK in which a retransmission counts as fast.
const fastNs = 20_000_000

const synFinReset = decode.SYN | decode.FIN | decode.RST

// take analyses a segment of a connection. The result lies in step.
func (c *connection) take(s *decode.Segment, from int, step *Step) {
	d, r := &c.ends[from], &c.ends[1-from]
	if s.TimeNs < c.lastNs {
		c.ClockStepsBack++
	}
	c.lastNs = s.TimeNs
	c.LastNs = max(c.LastNs, s.TimeNs)
	c.LastPacket = s.Number
	d.Packets++
	d.WireBytes += uint64(s.PacketBytes)
	length := s.Payload
	hasAck := s.Flags&decode.ACK != 0
	if !d.seen && !d.acked {
		d.base = s.Seq
	}
	c.handshake(s, d, from)
	signs := c.signsOf(s, d, r)
	step.Signs = signs
	step.Acked = 0
	step.OtherSent = max(0, r.offset)
	step.Delays = step.Delays[:0]

	sent := sequence(s)
	end := s.Seq + sent
	if !d.seen {
		d.next = s.Seq
		d.nextNs = s.TimeNs
		if s.Flags&decode.SYN != 0 {
			d.offset = -1 // the SYN takes a number, not a byte
		}
	}
	step.Offset = d.offsetOf(s.Seq)
	if s.Flags&decode.SYN != 0 {
		step.Offset++
	}
	if length > 0 {
		d.DataPackets++
		d.DataBytes += uint64(length)
		d.GreatestData = max(d.GreatestData, length)
		if signs&(Repeated|OutOfOrder) != 0 {
			if signs&Repeated != 0 {
				d.RepeatedBytes += uint64(length)
			}
			d.resend(s.Seq, end)
		}
		if d.seen && less(s.Seq, d.next) {
			d.UniqueBytes += uint64(d.holes.fill(step.Offset, step.Offset+int64(length), &step.spare))
		}
	}
	if less(d.next, end) || !d.seen {
		fresh := min(end-d.next, sent)
		if less(d.next, s.Seq) {
			d.holes.leave(hole{d.offset, step.Offset}, &step.spare)
		}
		if signs&ZeroWindowProbe == 0 {
			d.UniqueBytes += uint64(min(fresh, length))
			d.offset += int64(end - d.next)
			d.next = end
			d.nextNs = s.TimeNs
			if sent > 0 && (r.seen || len(d.flights) < 64) {
				d.push(step, flight{s.Seq, end, s.TimeNs, signs&(Repeated|OutOfOrder) != 0})
			}
		}
	}
	d.seen = true
	if hasAck {
		c.acknowledge(s, d, r, step)
	}
	d.window = s.Window
	d.last = signs
	if r.acked && length > 0 {
		inFlight := int64(int32(d.next - r.ack))
		d.GreatestInFlight = max(d.GreatestInFlight, inFlight)
		d.inFlightSum += float64(max(0, inFlight))
	}
	step.InFlight = 0
	if r.acked {
		step.InFlight = max(0, int64(int32(d.next-r.ack)))
	}
	step.Window = d.advertise(s, r)
	c.ending(s, d, from)
	d.count(signs)
}

// count adds signs to the counts.
func (d *side) count(signs Signs) {
	if signs == 0 {
		return
	}
	for _, k := range [...]struct {
		sign  Signs
		count *uint64
	}{
		{Retransmission, &d.Retransmissions},
		{FastRetransmission, &d.Fast},
		{SpuriousRetransmission, &d.Spurious},
		{OutOfOrder, &d.OutOfOrder},
		{Gap, &d.Gaps},
		{DupAck, &d.DupAcks},
		{UnseenAcked, &d.UnseenAcked},
		{KeepAlive, &d.KeepAlives},
		{KeepAliveAck, &d.KeepAliveAcks},
		{ZeroWindow, &d.ZeroWindows},
		{ZeroWindowProbe, &d.ZeroWindowProbes},
		{WindowFull, &d.WindowFull},
		{WindowUpdate, &d.WindowUpdates},
	} {
		if signs&k.sign != 0 {
			*k.count++
		}
	}
}

// signsOf recognises what Wireshark calls the analysis flags.
func (c *connection) signsOf(s *decode.Segment, d, r *side) (signs Signs) {
	length, plain := s.Payload, s.Flags&synFinReset == 0
	same := d.seen && s.Seq == d.next && length == 0 && plain
	sameAck := same && d.acked && s.Ack == d.ack
	finished := false
	if d.seen && length == 1 && s.Seq == d.next && r.seen && r.window == 0 {
		signs |= ZeroWindowProbe
		finished = true
	}
	if !finished {
		if s.Window == 0 && plain {
			signs |= ZeroWindow
		}
		if d.seen && less(d.next, s.Seq) && s.Flags&decode.RST == 0 {
			signs |= Gap
		}
		if d.seen && length <= 1 && s.Seq == d.next-1 && plain {
			signs |= KeepAlive
		}
		if sameAck && s.Window != 0 && s.Window != d.window {
			signs |= WindowUpdate
		}
		if length > 0 && plain && r.hasScale && r.acked &&
			s.Seq+length == r.ack+uint32(r.window)<<uint(r.scale) {
			signs |= WindowFull
		}
		switch {
		case sameAck && s.Window != 0 && s.Window == d.window && r.last&KeepAlive != 0:
			signs |= KeepAliveAck
		case same && d.acked && s.Window == 0 && d.window == 0 && (s.Ack == d.ack || s.Ack == d.ack+1) &&
			r.last&ZeroWindowProbe != 0:
			signs |= ZeroWindowProbeAck
		case sameAck && s.Window != 0 && s.Window == d.window:
			signs |= DupAck
			d.dupAcks++
		}
	}
	if s.Flags&decode.ACK != 0 {
		if !d.acked || s.Ack != d.ack {
			d.dupAcks = 0
		}
		if r.seen && less(r.next, s.Ack) && (!d.unseen || s.Ack != d.ack) {
			signs |= UnseenAcked
			d.unseen = true
		}
	}
	if sequence(s) > 0 && signs&KeepAlive == 0 {
		signs |= c.repetition(s, d, r)
	}
	return signs
}

// sequence is how many sequence numbers a segment takes: its bytes, and one for SYN or FIN.
func sequence(s *decode.Segment) uint32 {
	if s.Flags&(decode.SYN|decode.FIN) != 0 {
		return s.Payload + 1
	}
	return s.Payload
}

// repetition tells a retransmission from reordering.
func (c *connection) repetition(s *decode.Segment, d, r *side) Signs {
	length := s.Payload
	if !d.seen {
		return 0
	}
	// A segment that begins with the byte of a probe is new.
	behind := less(s.Seq, d.next) && (length <= 1 || s.Seq != d.next-1)
	if behind && r.dupAcks >= 2 && r.acked && r.ack == s.Seq && s.TimeNs-r.ackNs < fastNs {
		return FastRetransmission
	}
	if length > 0 && r.acked && !less(r.ack, s.Seq+length) {
		return SpuriousRetransmission
	}
	threshold := int64(reorderNs)
	if c.rttNs > 0 {
		threshold = c.rttNs
	}
	if behind && s.TimeNs-d.nextNs < threshold && d.next != s.Seq+sequence(s) {
		return OutOfOrder
	}
	if behind {
		return Retransmission
	}
	return 0
}

// push adds a segment that waits for its ACK.
func (d *side) push(step *Step, f flight) {
	if d.first > 64 && d.first*2 > len(d.flights) {
		d.flights = d.flights[:copy(d.flights, d.flights[d.first:])]
		d.first = 0
	}
	if len(d.flights)-d.first >= maxFlights {
		d.first++
		step.dropped++
	}
	if len(d.flights) == cap(d.flights) && !d.makeRoom(step) {
		step.dropped++
		return
	}
	d.flights = append(d.flights, f)
}

// makeRoom makes room for a waiting segment. Without spare memory, the older half of the segments
// goes.
func (d *side) makeRoom(step *Step) bool {
	waiting := d.flights[d.first:]
	grow := max(4, cap(d.flights))
	if step.spare < grow {
		drop := 0
		if d.first == 0 {
			drop = (len(waiting) + 1) / 2
		}
		step.dropped += uint64(drop)
		d.flights = d.flights[:copy(d.flights, waiting[drop:])]
		d.first = 0
		return cap(d.flights) > 0
	}
	step.spare -= grow
	larger := make([]flight, len(waiting), cap(d.flights)+grow)
	copy(larger, waiting)
	d.flights = larger
	d.first = 0
	return true
}

// release frees the waiting segments.
func (d *side) release(step *Step) {
	step.spare += cap(d.flights)
	d.flights = nil
	d.first = 0
}

// resend marks the waiting segments that were sent again. Their ends grow.
func (d *side) resend(seq, end uint32) {
	waiting := d.flights[d.first:]
	at := sort.Search(len(waiting), func(i int) bool { return less(seq, waiting[i].end) })
	for ; at < len(waiting) && less(waiting[at].seq, end); at++ {
		waiting[at].twice = true
	}
}

// acknowledge takes the ACK of a segment.
func (c *connection) acknowledge(s *decode.Segment, d, r *side, step *Step) {
	if s.Payload == 0 && s.Flags&synFinReset == 0 {
		d.PureAcks++
	}
	if n := int(s.NumBlocks); n > 0 {
		d.SackAcks++
		step.Signs |= Sack
		b := s.Blocks[0]
		if !less(s.Ack, b.End) || n > 1 && !less(b.Start, s.Blocks[1].Start) && !less(s.Blocks[1].End, b.End) {
			d.DsackAcks++
			step.Signs |= Dsack
		}
	}
	fresh := int32(0)
	if d.acked {
		fresh = int32(s.Ack - d.ackTop)
	} else if r.seen {
		fresh = int32(s.Ack - r.base)
	}
	step.AckOffset = r.offsetOf(s.Ack)
	if fresh > 0 || !d.acked {
		if fresh > 0 && r.fin && s.Ack == r.finEnd {
			fresh-- // the FIN takes a number, not a byte
		}
		if fresh > 0 && s.Flags&decode.SYN == 0 && (!r.syn || s.Ack != r.base+1) {
			d.Acks++
			d.AckedBytes += uint64(fresh)
			step.Acked = int64(fresh)
			step.Signs |= NewAck
		}
		c.arrive(s, r, step)
		r.holes.forget(step.AckOffset, &step.spare)
	}
	// Like Wireshark, the last ACK counts, even if it is older than one before.
	d.ack = s.Ack
	d.ackNs = s.TimeNs
	if !d.acked || less(d.ackTop, s.Ack) {
		d.ackTop = s.Ack
		d.acked = true
	}
}

// arrive removes the segments that an ACK covers and takes their times.
func (c *connection) arrive(s *decode.Segment, r *side, step *Step) {
	for r.first < len(r.flights) {
		f := &r.flights[r.first]
		if less(s.Ack, f.end) {
			return
		}
		if delay := s.TimeNs - f.timeNs; !f.twice && delay >= 0 {
			step.Delays = append(step.Delays, Delay{r.offsetOf(f.seq), r.offsetOf(f.end), delay})
			if f.end == s.Ack {
				r.rtt.add(delay)
			}
		}
		r.first++
	}
	r.flights = r.flights[:0]
	r.first = 0
	if cap(r.flights) > 256 {
		r.release(step)
	}
}

// advertise notes the window that a segment advertises; -1 if its scale is unknown.
func (d *side) advertise(s *decode.Segment, r *side) int64 {
	if s.Flags&decode.RST != 0 {
		return -1
	}
	window := int64(s.Window)
	switch {
	case s.Flags&decode.SYN != 0: // never scaled
	case !d.syn || !r.syn:
		return -1
	case d.hasScale && r.hasScale:
		window <<= uint(d.scale)
	}
	if !d.windowKnown || window < d.leastWindow {
		d.leastWindow = window
	}
	d.greatestWindow = max(d.greatestWindow, window)
	d.windowKnown = true
	return window
}

// handshake notes SYNs, their options and their times.
func (c *connection) handshake(s *decode.Segment, d *side, from int) {
	if s.Flags&decode.SYN == 0 {
		if s.Flags&decode.ACK != 0 && from == 0 && c.synAckNs > 0 && c.ackedNs == 0 {
			c.ackedNs = s.TimeNs
			if c.ends[0].synNs > 0 {
				c.rttNs = max(1, s.TimeNs-c.ends[0].synNs)
			}
		}
		return
	}
	if from == 0 && c.ackedNs == 0 || !d.syn {
		d.synNs = s.TimeNs // the last one, since an earlier one may be lost
	}
	if !d.syn {
		d.syn = true
		d.base = s.Seq
		o := &Offer{MSS: s.MSS, SACK: s.SACKPermitted, Timestamps: s.Timestamps, FastOpen: s.FastOpen}
		if s.Scale >= 0 {
			scale := s.Scale
			o.Scale = &scale
			d.scale = scale
			d.hasScale = true
		}
		ecn := s.Flags & (decode.ECE | decode.CWR)
		o.ECN = ecn == decode.ECE|decode.CWR || s.Flags&decode.ACK != 0 && ecn == decode.ECE
		d.Offer = o
	}
	if s.Flags&decode.ACK != 0 && from == 1 && c.ackedNs == 0 &&
		(c.synAckNs == 0 || c.synAckNs < c.ends[0].synNs) {
		c.synAckNs = s.TimeNs
	}
}

// ending notes FIN and RST.
func (c *connection) ending(s *decode.Segment, d *side, from int) {
	if s.Flags&(decode.FIN|decode.RST) == 0 {
		return
	}
	if c.endBy == 0 {
		c.endBy = int8(from) + 1
	}
	if s.Flags&decode.RST != 0 {
		d.reset = true
		d.Resets++
	} else {
		d.fin = true
		d.finEnd = s.Seq + s.Payload + 1
		d.Fins++
	}
}

// segmentBytes is the data of a full segment to an end: what its SYN asked for, or the largest that
// was seen, if no offload made it longer.
func segmentBytes(d, r *side) float64 {
	if r.Offer != nil && r.Offer.MSS > 0 {
		mss := r.Offer.MSS
		if d.Offer != nil && d.Offer.MSS > 0 {
			mss = min(mss, d.Offer.MSS)
		}
		if r.Offer.Timestamps && d.Offer != nil && d.Offer.Timestamps && mss > 12 {
			mss -= 12
		}
		return float64(mss)
	}
	if d.GreatestData > 1460 && d.GreatestData < 8900 || d.GreatestData > 9000 {
		return 1448
	}
	return float64(max(1, d.GreatestData))
}

// finish makes the report of a connection and frees what only the analysis needs.
func (c *connection) finish(step *Step) *Connection {
	for i := range c.ends {
		d, r := &c.ends[i], &c.ends[1-i]
		d.RTT = d.rtt.distribution()
		d.rtt = delays{}
		d.release(step)
		d.holes.release(&step.spare)
		if d.DataPackets > 0 {
			d.MeanInFlight = d.inFlightSum / float64(d.DataPackets)
		}
		if d.Acks > 0 {
			d.SegmentsPerAck = float64(d.AckedBytes) / segmentBytes(r, d) / float64(d.Acks)
		}
		if d.windowKnown {
			least, greatest := d.leastWindow, d.greatestWindow
			d.LeastWindow = &least
			d.GreatestWindow = &greatest
		}
	}
	report := &c.Connection
	client, server := &c.ends[0], &c.ends[1]
	switch {
	case client.syn && server.syn && c.ackedNs > 0:
		report.Handshake = "full"
	case client.syn || server.syn:
		report.Handshake = "partial"
	default:
		report.Handshake = "none"
	}
	if c.rttNs > 0 {
		report.HandshakeUs = float64(c.rttNs) / 1000
		toServer, toClient := c.synAckNs-client.synNs, c.ackedNs-c.synAckNs
		switch {
		case toServer < 0 || toClient < 0:
		case toServer > 4*toClient:
			report.Near = "client"
		case toClient > 4*toServer:
			report.Near = "server"
		default:
			report.Near = "between"
		}
	}
	switch {
	case server.reset && client.syn && !server.syn && server.DataBytes == 0:
		report.End = "refused"
	case client.reset || server.reset:
		report.End = "reset"
	case client.fin && server.fin:
		report.End = "fin"
	case client.fin || server.fin:
		report.End = "half_closed"
	case client.syn && server.Packets == 0 && client.DataBytes == 0:
		report.End = "no_answer"
	default:
		report.End = "open"
	}
	if c.endBy > 0 {
		report.EndBy = [...]string{"client", "server"}[c.endBy-1]
	}
	return report
}

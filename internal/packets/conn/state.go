package conn

import "airtide/internal/packets/decode"

// Step is a segment with its analysis. It is valid during the call.
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
	OtherSent int64 // number of bytes that the other end has sent
	InFlight  int64 // bytes of its sender that are in flight now
	// Segments is the number of segments of data or, if it is late, of any kind that it carries.
	// Late segments begin below the highest byte that their sender sent before.
	Segments uint64
	Late     bool
	// Window is the advertised window in bytes, or -1 if its scale is unknown.
	Window int64
	// Delays are the times from each segment that it acknowledges to it. They are empty for
	// segments sent twice.
	Delays []Delay
	// EchoNs is the RTT from the capture to the sender: the time from the ACK that released this
	// data, by its timestamp. It is 0 if the segment does not tell it.
	EchoNs int64

	shares  int    // number of analyses that share the spare memory
	spare   int    // segments that may still wait for ACKs, in all connections of this analysis
	dropped uint64 // segments that no longer wait
}

// Delay is the time from a segment to its ACK.
type Delay struct {
	Offset int64 // place of the first byte
	End    int64 // place behind the last byte
	Ns     int64
}

// side is the state of one end.
type side struct {
	*Direction
	seen   bool   // sent a segment that is no RST
	spoke  bool   // sent a segment that is neither SYN nor RST
	start  uint32 // sequence number of its first byte: behind the SYN, or of the first segment
	next   uint32 // behind the highest byte
	nextNs int64
	offset int64  // place of the byte next
	holes  holes  // below offset
	acked  bool   // sent an ACK
	ack    uint32 // last acknowledged by this end
	ackTop uint32 // highest acknowledged by this end
	ackNs  int64
	unseen bool // acknowledged data that was not captured

	dupAcks uint32
	last    Signs

	window         uint16 // value in the last header
	unscaled       bool   // the last header was that of a SYN
	shift          int8   // binary exponent of its windows, or unknownShift
	leastWindow    int64
	greatestWindow int64
	windowKnown    bool

	flights     []flight
	first       int // index of the first flight in use
	inFlightSum float64
	rtt         delays
	echoes      *echoes // nil without data and timestamps

	tunnels uint8 // around its first segment
	takenNs int64 // time of the last segment with so many tunnels

	synNs           int64
	synBytes        uint32 // data of the SYN
	synAck          bool   // its SYN was a SYN-ACK
	syn, fin, reset bool
	finEnd          uint32
	finAcked        bool
}

// connection is an open connection. Only the reader uses membership, only the analysis the rest.
type connection struct {
	Connection
	membership
	sides        [2]side // client, server
	synAckNs     int64   // the first behind the last SYN
	lastSynAckNs int64
	ackedNs      int64
	rttNs        int64 // RTT of the handshake, which tells reordering from retransmission; 0: unknown
	again        bool  // a SYN came behind a RST
	endBy        int8  // 0 nobody, 1 client, 2 server
	takenNs      int64 // time of the last segment
}

// begin prepares the state of both ends.
func (c *connection) begin() {
	c.sides[0].Direction = &c.FromClient
	c.sides[1].Direction = &c.FromServer
	for i := range c.sides {
		c.sides[i].shift = unknownShift
	}
	c.locateLocal()
}

func less(a, b uint32) bool { return int32(a-b) < 0 }

// offsetOf is the place of a sequence number in the stream of its sender.
func (d *side) offsetOf(seq uint32) int64 { return d.offset + int64(int32(seq-d.next)) }

// take analyses a segment of a connection and puts the result into step. It returns false for a
// copy of a segment that was taken.
func (c *connection) take(s *decode.Segment, from int, step *Step) bool {
	sender := &c.sides[from]
	receiver := &c.sides[1-from]
	if s.TimeNs < c.takenNs {
		c.ClockStepsBack++
	}
	c.takenNs = s.TimeNs
	c.LastNs = max(c.LastNs, s.TimeNs)
	c.LastPacket = s.Number
	if sender.copied(s) {
		c.Copies++
		return false
	}
	sender.Packets++
	sender.WireBytes += uint64(s.PacketBytes)
	c.handshake(s, sender, receiver, from, step)
	signs := c.signsOf(s, sender, receiver)
	step.Signs = signs
	step.Acked = 0
	step.OtherSent = max(0, receiver.offset)
	step.Delays = step.Delays[:0]
	if s.Payload > 0 {
		sender.DataPackets++
		sender.DataBytes += uint64(s.Payload)
		sender.GreatestData = max(sender.GreatestData, s.Payload)
		if signs&Repeated != 0 {
			sender.RepeatedBytes += uint64(s.Payload)
		}
	}
	sender.advance(s, receiver, signs, step)
	if s.Flags&decode.ACK != 0 {
		acknowledge(s, sender, receiver, step)
	}
	takeStamps(s, sender, receiver, step)
	if s.Payload > 0 && c.Near == "" && sender.echoes != nil {
		c.locateByEchoes(sender, from == 0)
	}
	sender.last = signs
	step.InFlight = 0
	if receiver.acked && sender.seen {
		inFlight := int64(int32(sender.next - receiver.ack))
		step.InFlight = max(0, inFlight)
		if s.Payload > 0 {
			sender.GreatestInFlight = max(sender.GreatestInFlight, inFlight)
			sender.inFlightSum += float64(max(0, inFlight))
		}
	}
	step.Window = sender.advertise(s)
	c.ending(s, sender, from)
	sender.count(signs)
	sender.countSegments(s.Payload, receiver, step)
	return true
}

// copyNs is the time within which a host passes a packet on, into a tunnel or out of it.
const copyNs = 10_000_000

// copied reports whether a segment was captured before at another interface, with other tunnels
// around it: it comes at once, and brings nothing new. Offloads may have cut or joined it.
func (d *side) copied(s *decode.Segment) bool {
	if d.Packets == 0 {
		d.tunnels = s.Tunnels
	}
	if s.Tunnels == d.tunnels {
		d.takenNs = s.TimeNs
		return false
	}
	old := d.seen && !less(d.next, s.Seq+sequence(s)) && s.TimeNs-d.takenNs < copyNs
	acked := s.Flags&decode.ACK == 0 || d.acked && !less(d.ackTop, s.Ack)
	ended := s.Flags&decode.RST == 0 || d.reset
	return old && acked && ended
}

// advance moves the stream of the sender. A RST moves nothing: its number may be a guess.
func (d *side) advance(s *decode.Segment, receiver *side, signs Signs, step *Step) {
	sent := sequence(s)
	end := s.Seq + sent
	if !d.seen {
		d.begin(s, step)
	}
	step.Offset = d.offsetOf(s.Seq)
	if s.Flags&decode.SYN != 0 {
		step.Offset++
	}
	if s.Flags&decode.RST != 0 {
		return
	}
	if s.Flags&decode.SYN == 0 {
		d.spoke = true
	}
	if sent > 0 && signs&(Repeated|OutOfOrder) != 0 {
		d.resend(s.Seq, end)
	}
	if d.seen && less(s.Seq, d.next) && signs&KeepAlive == 0 {
		d.UniqueBytes += uint64(d.holes.fill(step.Offset, step.Offset+int64(s.Payload), &step.spare))
	}
	if less(d.next, end) || !d.seen {
		fresh := min(end-d.next, sent)
		if less(d.next, s.Seq) {
			d.holes.leave(hole{d.offset, step.Offset}, &step.spare)
		}
		if signs&ZeroWindowProbe == 0 {
			if s.Flags&decode.FIN != 0 {
				fresh-- // the FIN takes a number, not a byte
			}
			d.UniqueBytes += uint64(min(fresh, s.Payload))
			d.offset += int64(end - d.next)
			d.next = end
			d.nextNs = s.TimeNs
			if sent > 0 && (receiver.seen || len(d.flights) < 64) {
				d.push(step, flight{s.Seq, end, s.TimeNs, signs&(Repeated|OutOfOrder) != 0})
			}
		}
	}
	d.seen = true
}

// begin places the first segment of a stream. Without a SYN, bytes before it were not captured.
func (d *side) begin(s *decode.Segment, step *Step) {
	d.next = s.Seq
	d.nextNs = s.TimeNs
	switch {
	case s.Flags&decode.SYN != 0:
		d.offset = -1 // the SYN takes a number, not a byte
		d.synBytes = s.Payload
	case s.Flags&decode.RST == 0:
		d.start = s.Seq
		d.holes.leave(hole{-1 << 31, 0}, &step.spare)
	}
}

// acknowledge takes the ACK of a segment.
func acknowledge(s *decode.Segment, sender, receiver *side, step *Step) {
	if s.Payload == 0 && s.Flags&synFinReset == 0 {
		sender.PureAcks++
	}
	if n := int(s.NumBlocks); n > 0 {
		sender.SackAcks++
		step.Signs |= Sack
		b := s.Blocks[0]
		if !less(s.Ack, b.End) || n > 1 && !less(b.Start, s.Blocks[1].Start) && !less(s.Blocks[1].End, b.End) {
			sender.DsackAcks++
			step.Signs |= Dsack
		}
	}
	step.AckOffset = 0 // the other end's first byte, if none was captured yet
	if receiver.seen {
		step.AckOffset = receiver.offsetOf(s.Ack)
	}
	if s.Flags&decode.SYN == 0 && sender.answersAnother(s, receiver) {
		return
	}
	fresh := int32(0)
	if sender.acked {
		fresh = int32(s.Ack - sender.ackTop)
	} else if receiver.seen {
		fresh = int32(s.Ack - receiver.start)
	}
	if fresh > 0 || !sender.acked {
		if fresh > 0 && receiver.fin && !receiver.finAcked && !less(s.Ack, receiver.finEnd) {
			receiver.finAcked = true
			fresh-- // the FIN takes a number, not a byte
		}
		if fresh > 0 {
			sender.Acks++
			sender.AckedBytes += uint64(fresh)
			step.Acked = int64(fresh)
			step.Signs |= NewAck
		}
		receiver.arrive(s, step)
		receiver.holes.forget(step.AckOffset, step)
	}
	// Like Wireshark, the last ACK counts, even if it is older than one before.
	sender.ack = s.Ack
	sender.ackNs = s.TimeNs
	if !sender.acked || less(sender.ackTop, s.Ack) {
		sender.ackTop = s.Ack
		sender.acked = true
	}
}

// answersAnother reports whether an ACK comes in place of a SYN-ACK and does not name the SYN. Then
// it is of an older connection with the same ports (RFC 9293, section 3.10.7).
func (d *side) answersAnother(s *decode.Segment, receiver *side) bool {
	return receiver.syn && !receiver.spoke && !d.syn && s.Ack-receiver.start > receiver.synBytes
}

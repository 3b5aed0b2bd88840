package conn

import "airtide/internal/packets/decode"

// Signs is a set of findings in a segment.
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

// reorderNs is the time in which an earlier segment counts as reordered, if no RTT is known.
const reorderNs = 3_000_000

// fastNs is the time behind a duplicate ACK in which a retransmission counts as fast.
const fastNs = 20_000_000

const synFinReset = decode.SYN | decode.FIN | decode.RST

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

// signsOf recognises Wireshark's analysis flags.
func (c *connection) signsOf(s *decode.Segment, sender, receiver *side) (signs Signs) {
	if sender.probes(s, receiver) {
		signs = ZeroWindowProbe
	} else {
		signs = windowSigns(s, sender, receiver) | ackSigns(s, sender, receiver)
	}
	if signs&DupAck != 0 {
		sender.dupAcks++
	}
	if s.Flags&decode.ACK != 0 {
		if !sender.acked || s.Ack != sender.ack {
			sender.dupAcks = 0
		}
		if receiver.seen && less(receiver.next, s.Ack) && (!sender.unseen || s.Ack != sender.ack) {
			signs |= UnseenAcked
			sender.unseen = true
		}
	}
	if sequence(s) > 0 && signs&KeepAlive == 0 {
		signs |= c.repetition(s, sender, receiver)
	}
	return signs
}

// probes reports whether a segment is one byte into a closed window.
func (d *side) probes(s *decode.Segment, receiver *side) bool {
	return d.seen && s.Payload == 1 && s.Seq == d.next && receiver.seen && receiver.window == 0
}

// windowSigns are the signs that the place of a segment and its window give.
func windowSigns(s *decode.Segment, sender, receiver *side) (signs Signs) {
	plain := s.Flags&synFinReset == 0
	if s.Window == 0 && plain {
		signs |= ZeroWindow
	}
	if sender.seen && less(sender.next, s.Seq) && s.Flags&decode.RST == 0 {
		signs |= Gap
	}
	if sender.seen && s.Payload <= 1 && s.Seq == sender.next-1 && plain {
		signs |= KeepAlive
	}
	if s.Payload > 0 && plain && receiver.acked && receiver.windowBytes() >= 0 &&
		s.Seq+s.Payload == receiver.ack+uint32(receiver.windowBytes()) {
		signs |= WindowFull
	}
	return signs
}

// ackSigns are the signs of a segment without data that repeats the last ACK of its sender.
func ackSigns(s *decode.Segment, sender, receiver *side) Signs {
	same := sender.seen && sender.acked && s.Seq == sender.next && s.Payload == 0 && s.Flags&synFinReset == 0
	sameAck := same && s.Ack == sender.ack
	switch {
	case sameAck && s.Window != 0 && s.Window != sender.window:
		return WindowUpdate
	case sameAck && s.Window != 0 && receiver.last&KeepAlive != 0:
		return KeepAliveAck
	case same && s.Window == 0 && sender.window == 0 && (sameAck || s.Ack == sender.ack+1) &&
		receiver.last&ZeroWindowProbe != 0:
		return ZeroWindowProbeAck
	case sameAck && s.Window != 0 && !s.MPTCPSignal:
		// RFC 8684, section 4: an ACK that carries a signal of MPTCP is none of lost data.
		return DupAck
	}
	return 0
}

// sequence is the number of sequence numbers that a segment takes: its bytes, and one for SYN or
// FIN.
func sequence(s *decode.Segment) uint32 {
	if s.Flags&(decode.SYN|decode.FIN) != 0 {
		return s.Payload + 1
	}
	return s.Payload
}

// within reports whether a time is below a bound. If the clock stepped back, it says nothing.
func within(ns, bound int64) bool { return ns >= 0 && ns < bound }

// repetition tells a retransmission from reordering.
func (c *connection) repetition(s *decode.Segment, sender, receiver *side) Signs {
	// A segment that begins with the byte of a probe is new.
	behind := sender.seen && less(s.Seq, sender.next) && (s.Payload <= 1 || s.Seq != sender.next-1)
	if behind && receiver.dupAcks >= 2 && receiver.acked && receiver.ack == s.Seq &&
		within(s.TimeNs-receiver.ackNs, fastNs) {
		return FastRetransmission
	}
	// Also the first captured segment of an end may hold bytes that were acknowledged before.
	if s.Payload > 0 && receiver.acked && !less(receiver.ack, s.Seq+s.Payload) {
		return SpuriousRetransmission
	}
	threshold := int64(reorderNs)
	if c.rttNs > 0 {
		threshold = c.rttNs
	}
	if behind && within(s.TimeNs-sender.nextNs, threshold) && sender.next != s.Seq+sequence(s) {
		return OutOfOrder
	}
	if behind {
		return Retransmission
	}
	return 0
}

package conn

import "airtide/internal/packets/decode"

// answerNs is the time in which a server sends a SYN-ACK again (RFC 6298). Data that comes later is
// not the third packet of the handshake: that one was not captured.
const answerNs = 1e9

// handshake notes SYNs, their options and the times of the three packets.
func (c *connection) handshake(s *decode.Segment, sender, receiver *side, from int, step *Step) {
	client := &c.sides[0]
	server := &c.sides[1]
	if s.Flags&decode.SYN == 0 {
		if from == 0 && c.synAckNs > 0 && c.ackedNs == 0 && c.third(s) {
			c.ackedNs = s.TimeNs
			if client.synNs > 0 {
				c.rttNs = max(0, s.TimeNs-client.synNs)
				c.ClientSideUs = float64(max(0, s.TimeNs-c.synAckNs)) / 1000
				c.ServerSideUs = float64(max(0, c.synAckNs-client.synNs)) / 1000
				c.locate()
			}
		}
		return
	}
	if sender.seen && s.Seq+1 != sender.start && !client.spoke {
		c.restart(sender, receiver, step)
	}
	// The last SYN counts, since an earlier one may be lost.
	settled := from == 0 && server.syn || c.ackedNs > 0
	if from == 0 && c.ackedNs == 0 || !sender.syn {
		sender.synNs = s.TimeNs
	}
	if offer := offerOf(s); sender.Offer == nil || !settled && offer.MissingBytes <= sender.Offer.MissingBytes {
		sender.Offer = offer
	}
	if !sender.syn {
		sender.syn = true
		sender.start = s.Seq + 1
		sender.synAck = s.Flags&decode.ACK != 0
	}
	c.agreeOnWindows()
	switch {
	case s.Flags&decode.ACK == 0:
		c.again = client.reset || server.reset
	case c.again:
		// The SYN was sent again behind a RST, and is answered now.
		c.again = false
		client.reset = false
		server.reset = false
		c.endBy = 0
	}
	if s.Flags&decode.ACK != 0 && from == 1 && c.ackedNs == 0 {
		c.lastSynAckNs = s.TimeNs
		if c.synAckNs == 0 || c.synAckNs < client.synNs {
			c.synAckNs = s.TimeNs
		}
	}
}

// third reports whether a segment of the client is the third packet of the handshake: the first
// behind the SYN, which acknowledges the SYN-ACK and nothing more.
func (c *connection) third(s *decode.Segment) bool {
	client := &c.sides[0]
	server := &c.sides[1]
	if s.Flags&(decode.ACK|decode.RST) != decode.ACK || !client.syn || !server.syn || s.Ack != server.start {
		return false
	}
	// A Fast Open has data in the SYN, all or none of which the server took. Any other server sends
	// nothing but its SYN-ACK before the third packet, so that one was not captured.
	if s.Seq-client.start > client.synBytes || server.spoke && client.synBytes == 0 {
		return false
	}
	return s.Payload == 0 || s.TimeNs-c.lastSynAckNs < answerNs
}

// restart forgets the stream of an end that answers a SYN with another number than its segments
// had: they were of an older connection, or a RST.
func (c *connection) restart(sender, receiver *side, step *Step) {
	sender.seen = false
	sender.spoke = false
	sender.acked = false
	sender.unseen = false
	sender.dupAcks = 0
	sender.last = 0
	sender.offset = 0
	sender.syn = false
	sender.Offer = nil
	sender.holes.release(&step.spare)
	sender.release(step)
	receiver.acked = false
	receiver.unseen = false
}

// offerOf returns the options of a SYN. Without their last bytes, an option that was not seen is
// unknown.
func offerOf(s *decode.Segment) *Offer {
	ecn := s.Flags & (decode.ECE | decode.CWR)
	o := &Offer{
		MSS:          s.MSS,
		ECN:          ecn == decode.ECE|decode.CWR || s.Flags&decode.ACK != 0 && ecn == decode.ECE,
		MissingBytes: int(s.MissingOptions),
	}
	if s.Scale >= 0 {
		scale := s.Scale
		o.Scale = &scale
	}
	known := func(has bool) *bool {
		if !has && o.MissingBytes > 0 {
			return nil
		}
		return &has
	}
	o.SACK = known(s.SACKPermitted)
	o.Timestamps = known(s.Timestamps)
	o.FastOpen = known(s.FastOpen)
	return o
}

// offersScale reports whether a SYN offers window scaling, and whether that is known.
func (o *Offer) offersScale() (offers, known bool) {
	if o == nil {
		return false, false
	}
	return o.Scale != nil, o.Scale != nil || o.MissingBytes == 0
}

// unknownShift stands for windows of an unknown scale.
const unknownShift = -1

// agreeOnWindows finds how both ends scale their windows (RFC 7323, section 2.2): both by their own
// option if both offer it, or else neither. A SYN-ACK has the option only if the SYN has it.
func (c *connection) agreeOnWindows() {
	client := &c.sides[0]
	server := &c.sides[1]
	offered, known := client.Offer.offersScale()
	answered, answerKnown := server.Offer.offersScale()
	client.shift = unknownShift
	server.shift = unknownShift
	switch {
	case known && !offered, answerKnown && !answered:
		client.shift = 0
		server.shift = 0
	case offered && answered:
		client.shift = *client.Offer.Scale
		server.shift = *server.Offer.Scale
	case answered && server.synAck:
		server.shift = *server.Offer.Scale
	case offered && *client.Offer.Scale == 0:
		client.shift = 0 // the server's answer does not matter
	}
}

// windowBytes is the last window, or -1 if its scale is unknown. That of a SYN is never scaled, and
// a closed window is closed at any scale.
func (d *side) windowBytes() int64 {
	switch {
	case d.unscaled, d.window == 0:
		return int64(d.window)
	case d.shift >= 0:
		return int64(d.window) << uint(d.shift)
	}
	return -1
}

// advertise notes the window that a segment advertises; -1 if its scale is unknown.
func (d *side) advertise(s *decode.Segment) int64 {
	d.window = s.Window
	d.unscaled = s.Flags&decode.SYN != 0
	window := d.windowBytes()
	if s.Flags&decode.RST != 0 || d.shift < 0 && !d.unscaled {
		return -1
	}
	if !d.windowKnown || window < d.leastWindow {
		d.leastWindow = window
	}
	d.greatestWindow = max(d.greatestWindow, window)
	d.windowKnown = true
	return window
}

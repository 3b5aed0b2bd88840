package conn

// smallSegment is a payload in bytes that no offload has put together from several segments: the
// least MSS that IPv4 promises (RFC 9293, 3.7.1).
const smallSegment = 536

// segmentsIn is the number of segments that a packet carries on the wire. Offloads show several as
// one packet, while the kernel counts segments.
func segmentsIn(payload uint32, sender, receiver *side) uint64 {
	if payload <= smallSegment {
		return 1
	}
	mss := uint32(segmentBytes(sender, receiver))
	return uint64((payload + mss - 1) / mss)
}

// countSegments counts the segments of a packet, and those that begin below the highest byte that
// was sent before.
func (d *side) countSegments(payload uint32, receiver *side, step *Step) {
	step.Segments = 0
	step.Late = step.Signs&(Repeated|OutOfOrder) != 0
	if payload == 0 && !step.Late {
		return
	}
	step.Segments = segmentsIn(payload, d, receiver)
	if payload > 0 {
		d.DataSegments += step.Segments
	}
	if step.Late {
		d.LateSegments += step.Segments
		d.LateBytes += uint64(payload)
		if payload == 0 {
			d.LateBare += step.Segments
		}
	}
}

// locate finds the end that the capture was taken at, once the handshake is complete: there the
// answers come at once. A near end that took longer may be a busy one, or lie behind a radio: the
// echoes tell later.
func (c *connection) locate() {
	if c.rttNs == 0 {
		return
	}
	c.HandshakeUs = float64(c.rttNs) / 1000
	if c.Near == nearBoth {
		return
	}
	toServer := c.synAckNs - c.sides[0].synNs
	toClient := c.ackedNs - c.synAckNs
	if min(toServer, toClient) < 0 {
		return
	}
	near := nearEnd(toClient, toServer)
	if near != nearNone || max(toServer, toClient) <= 4*min(toServer, toClient) {
		c.Near = near
	}
}

// locateLocal finds connections of a host with itself, whatever was captured of them. A queueing
// discipline loses and reorders packets before they are captured, so not even there a late segment
// is sure to have been sent again.
func (c *Connection) locateLocal() {
	client := c.Client.Addr().Unmap()
	server := c.Server.Addr().Unmap()
	if client == server || client.IsLoopback() && server.IsLoopback() {
		c.Near = nearBoth
	}
}

// AtSender reports whether the capture was taken where an end sends.
func (c *Connection) AtSender(client bool) bool {
	return client && c.Near == nearClient || !client && c.Near == nearServer
}

// Between reports whether the capture was taken between the ends, as on an access point.
func (c *Connection) Between() bool { return c.Near == nearNone }

// OnOneHost reports whether both ends are on the host of the capture.
func (c *Connection) OnOneHost() bool { return c.Near == nearBoth }

// SetResent fills in the segments that were sent again. Only the sender's side shows them: nothing
// can be out of order where it leaves the sender. Elsewhere a late segment may be either.
func (c *Connection) SetResent() {
	for client, d := range map[bool]*Direction{true: &c.FromClient, false: &c.FromServer} {
		if c.AtSender(client) {
			n := d.LateSegments
			d.ResentSegments = &n
		}
	}
}

// Values of Connection.Near.
const (
	nearClient = "client"
	nearServer = "server"
	nearBoth   = "both"    // the ends are on one host
	nearNone   = "between" // the capture was taken at neither end
)

// Sender returns the directions of the data and of its ACKs: the end that sent most data comes
// first.
func (c *Connection) Sender() (data, acks *Direction) {
	if c.FromServer.DataBytes > c.FromClient.DataBytes {
		return &c.FromServer, &c.FromClient
	}
	return &c.FromClient, &c.FromServer
}

// NearReceiver reports whether the capture was taken where a direction arrives.
func (c *Connection) NearReceiver(d *Direction) bool {
	return c.AtSender(d == &c.FromServer)
}

// RTTUs is the round-trip time of a direction's data in µs: the median of the times to the ACKs.
// Near the receiver, which answers at once, it is that of the echoes, or else the time of the
// handshake. Zero is unknown.
func (c *Connection) RTTUs(d *Direction) (us float64, handshake bool) {
	switch {
	case c.NearReceiver(d) && d.EchoRTT != nil:
		return d.EchoRTT.P50, false
	case c.NearReceiver(d):
		return c.HandshakeUs, true
	case d.RTT != nil:
		return d.RTT.P50, false
	}
	return 0, false
}

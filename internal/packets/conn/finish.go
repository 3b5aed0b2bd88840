package conn

import "airtide/internal/packets/decode"

// ending notes FIN and RST.
func (c *connection) ending(s *decode.Segment, sender *side, from int) {
	if s.Flags&(decode.FIN|decode.RST) == 0 {
		return
	}
	if c.endBy == 0 {
		c.endBy = int8(from) + 1
	}
	if s.Flags&decode.RST != 0 {
		sender.reset = true
		sender.Resets++
	} else {
		sender.fin = true
		sender.finEnd = s.Seq + s.Payload + 1
		sender.Fins++
	}
}

// segmentBytes is the data of a full segment to an end: the MSS of its SYN, or the largest that was
// seen, if no offload made it longer.
func segmentBytes(d, r *side) float64 {
	if r.Offer != nil && r.Offer.MSS > 0 {
		mss := r.Offer.MSS
		if d.Offer != nil && d.Offer.MSS > 0 {
			mss = min(mss, d.Offer.MSS)
		}
		if r.Offer.hasTimestamps() && d.Offer.hasTimestamps() && mss > 12 {
			mss -= 12
		}
		return float64(mss)
	}
	if d.GreatestData > 1460 && d.GreatestData < 8900 || d.GreatestData > 9000 {
		return 1448
	}
	return float64(max(1, d.GreatestData))
}

func (o *Offer) hasTimestamps() bool { return o != nil && o.Timestamps != nil && *o.Timestamps }

// finish makes the report of a connection and frees the state of the analysis.
func (c *connection) finish(step *Step) *Connection {
	for i := range c.sides {
		d := &c.sides[i]
		r := &c.sides[1-i]
		d.RTT = d.rtt.distribution()
		d.rtt = delays{}
		if d.echoes != nil {
			d.EchoRTT = d.echoes.rtt.distribution()
			d.echoes = nil
		}
		d.release(step)
		d.holes.release(&step.spare)
		if d.DataPackets > 0 {
			d.MeanInFlight = d.inFlightSum / float64(d.DataPackets)
		}
		if d.Acks > 0 {
			d.SegmentsPerAck = float64(d.AckedBytes) / segmentBytes(r, d) / float64(d.Acks)
		}
		if d.windowKnown {
			least := d.leastWindow
			greatest := d.greatestWindow
			d.LeastWindow = &least
			d.GreatestWindow = &greatest
		}
	}
	c.SetSides()
	c.describeHandshake()
	c.describeEnd()
	c.SetResent()
	return &c.Connection
}

// describeHandshake describes the captured packets of the handshake.
func (c *connection) describeHandshake() {
	report := &c.Connection
	client := &c.sides[0]
	server := &c.sides[1]
	switch {
	case client.syn && server.syn && c.ackedNs > 0:
		report.Handshake = "full"
	case client.syn || server.syn:
		report.Handshake = "partial"
	default:
		report.Handshake = "none"
	}
}

// describeEnd describes the end of the connection.
func (c *connection) describeEnd() {
	report := &c.Connection
	client := &c.sides[0]
	server := &c.sides[1]
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
}

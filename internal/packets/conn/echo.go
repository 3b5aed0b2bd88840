package conn

import "airtide/internal/packets/decode"

// echoes measures the RTT from the capture to a sender of data by the timestamps that it echoes
// (RFC 7323, section 3): from an acknowledgement to the data that it releases.
type echoes struct {
	// stamps were not echoed yet, oldest first, and last is the newest one.
	stamps []stamp
	last   uint32
	dataNs int64 // time of the sender's last data
	rtt    delays
	// answers are the first times from a timestamp to its echo, pauses included.
	answers delays
}

// stamp is a timestamp, and the time at which it first passed the capture.
type stamp struct {
	value  uint32
	timeNs int64
}

const (
	// maxStamps bounds the timestamps of an end. While there are as many, others are not measured.
	maxStamps = 64
	// leastEchoing is the data, in packets, from which on timestamps are followed.
	leastEchoing = 4
)

// pass takes the timestamp of an acknowledgement on its way to the sender.
func (e *echoes) pass(value uint32, timeNs int64) {
	if e.last != 0 && !less(e.last, value) || len(e.stamps) == maxStamps {
		return
	}
	e.last = value
	e.stamps = append(e.stamps, stamp{value, timeNs})
}

// echo takes the echo in data of the sender, and returns the RTT in ns. It is 0 unless the echo is
// the first one of a timestamp. Behind a pause of half of it, the sender may have had no data.
func (e *echoes) echo(value uint32, timeNs int64) (ns int64) {
	n := 0
	pauseNs := timeNs - e.dataNs
	e.dataNs = timeNs
	for n < len(e.stamps) && !less(value, e.stamps[n].value) {
		passed := timeNs - e.stamps[n].timeNs
		if e.stamps[n].value == value && e.answers.count < locatingEchoes {
			e.answers.add(passed)
		}
		if e.stamps[n].value == value && passed > 2*pauseNs {
			ns = passed
			e.rtt.add(ns)
		}
		n++
	}
	e.stamps = e.stamps[:copy(e.stamps, e.stamps[n:])]
	return ns
}

// takeStamps takes the timestamps of a segment at both ends.
func takeStamps(s *decode.Segment, sender, receiver *side, step *Step) {
	step.EchoNs = 0
	if !s.Timestamps {
		return
	}
	if s.Payload > 0 && sender.echoes != nil && step.Signs&Repeated == 0 {
		step.EchoNs = sender.echoes.echo(s.Echo, s.TimeNs)
	}
	if s.Payload == 0 && step.Signs&NewAck != 0 {
		if receiver.echoes == nil && receiver.DataPackets >= leastEchoing {
			receiver.echoes = &echoes{}
		}
		if receiver.echoes != nil {
			receiver.echoes.pass(s.Timestamp, s.TimeNs)
		}
	}
}

const (
	// locatingEchoes is the number of echoes by which the place of the capture is told, and
	// leastDelay the quantile that stands for the least delay.
	locatingEchoes = 32
	leastDelay     = 0.05
	// atOnceNs is longer than a kernel needs for its answer, and shorter than two frames without
	// back-off on an idle radio: DIFS, preamble, the frame, SIFS and its ACK take 130 us or more
	// (IEEE 802.11-2020, 10.3 and 17.4).
	atOnceNs = int64(200e3)
)

// locateByEchoes finds the end that the capture was taken at, if the handshake does not tell it:
// there data is acknowledged at once, or an acknowledgement releases data at once.
func (c *connection) locateByEchoes(sender *side, client bool) {
	if sender.echoes.answers.count < locatingEchoes || sender.rtt.count < locatingEchoes {
		return
	}
	toReceiver := sender.rtt.quantile(leastDelay)
	toSender := sender.echoes.answers.quantile(leastDelay)
	if client {
		c.Near = nearEnd(toSender, toReceiver)
	} else {
		c.Near = nearEnd(toReceiver, toSender)
	}
}

// nearEnd tells where a capture was taken, by the times that the answers of both ends take: at an
// end that answers at once, and in less than a quarter of the other's time.
func nearEnd(toClient, toServer int64) string {
	switch {
	case toClient < atOnceNs && 4*toClient < toServer:
		return nearClient
	case toServer < atOnceNs && 4*toServer < toClient:
		return nearServer
	}
	return nearNone
}

// SetSides fills in the RTTs to both ends. Without samples those of the handshake stay.
func (c *Connection) SetSides() {
	c.ClientSideUs = c.sideUs(&c.FromClient, &c.FromServer, c.ClientSideUs)
	c.ServerSideUs = c.sideUs(&c.FromServer, &c.FromClient, c.ServerSideUs)
}

// sideUs is the RTT from the capture to an end: in the direction of most data by its echoes, else
// by the answers to the data of the other end; or as it is known.
func (c *Connection) sideUs(own, other *Direction, known float64) float64 {
	elsewhere := !c.AtSender(own == &c.FromClient) && !c.OnOneHost()
	switch {
	case own.EchoRTT != nil && own.DataBytes > other.DataBytes && elsewhere:
		return own.EchoRTT.P50
	case other.RTT != nil:
		return other.RTT.P50
	}
	return known
}

package simulate

import (
	"fmt"
	"math/rand/v2"
	"time"

	"airtide/internal/cell/medium"
	"airtide/internal/cell/queue"
)

// Emulated is an air with every frame: the 802.11 medium of package internal/cell/medium with its
// contention, collisions and A-MPDUs, an access point with one queue, and behind it a wire and a
// delay. Terminals upload by windows, a server acknowledges every second packet. A sender begins
// slowly and grows to the window that it is allowed, whatever is lost; after a timeout it begins
// anew.
type Emulated struct {
	config  EmulatedConfig
	medium  *medium.Medium
	senders []sender
	free    []*queue.Packet
	said    map[*queue.Packet]func(time.Duration)
	acks    []ack // on their way back, in order of time
	now     time.Duration
	wire    time.Duration // when it is free
}

// EmulatedConfig says what is emulated.
type EmulatedConfig struct {
	Seed uint64
	// Radios are the terminals', 802.11ac at 5 GHz.
	Radios []medium.PHY
	// Wire is what the wire carries, in bit/s, and Delay how long packets take behind the access
	// point each way.
	Wire  float64
	Delay time.Duration
	// Marked reports have the access category for voice, by their DSCP. Else they wait among all
	// packets.
	Marked bool
}

// sender is a terminal's upload, and what is under way of it.
type sender struct {
	window, cwnd   int // packets: what it is allowed, and what it has got to
	sent, acked    int // packets; acknowledged or lost
	received, lost int
	told           int // received as of the last acknowledgement
	timed          int // the packet whose round-trip time is taken, 0 for none
	timedAt        time.Duration
	passed         Passed
	rtts           int
	rttSum         time.Duration
	lastRTT        time.Duration
	progress       time.Duration
}

type ack struct {
	at       time.Duration
	terminal int
	number   int
}

const (
	dataBytes, ackBytes = 1500, 52
	// wireBytes are round a packet on the wire: Ethernet's preamble, header, FCS and gap.
	wireBytes = 38
	// udpIPv6Bytes are round a report.
	udpIPv6Bytes = 48
	// queued is how many packets of a transfer wait below its socket at most, as TCP's small queues
	// have it; the rest waits in the socket, behind reports.
	queued = 128
	// apQueue is the access point's, in packets.
	apQueue = 1000
	// initialWindow is Linux's, and timeoutWindow what is left after a timeout; the server
	// acknowledges no less.
	initialWindow, timeoutWindow = 10, 2
	// leastTimeout without an acknowledgement, and at least twice the round-trip time, is a
	// timeout.
	leastTimeout = 300 * time.Millisecond
	// basicMbps is the rate of multicast.
	basicMbps = 6
)

// NewEmulated makes one at time zero. Besides the terminals there are stations that stand for their
// queues of category voice, and one for the access point's queue of multicast.
func NewEmulated(c EmulatedConfig) (*Emulated, error) {
	e := &Emulated{config: c, senders: make([]sender, len(c.Radios)), said: map[*queue.Packet]func(time.Duration){}}
	aggregation := medium.Aggregation{Bytes: 1 << 20}
	m := medium.Config{Band: medium.Band5GHz, Rand: rand.New(rand.NewPCG(c.Seed, 3)), Deliver: e.deliver}
	m.Drop = func(p *queue.Packet, _ queue.Place, _ int64) { e.drop(p) }
	for _, phy := range c.Radios {
		m.Stations = append(m.Stations, medium.Station{Rates: []medium.RateFrom{{PHY: phy}}, Aggregation: aggregation})
	}
	voice := medium.Access{Category: medium.Video}
	for _, phy := range c.Radios {
		m.Stations = append(m.Stations, medium.Station{Rates: []medium.RateFrom{{PHY: phy}}, Access: voice})
	}
	basic, err := medium.Legacy(medium.Std11a, basicMbps)
	if err != nil {
		return nil, fmt.Errorf("simulating a cell: %w", err)
	}
	m.Stations = append(m.Stations, medium.Station{Rates: []medium.RateFrom{{PHY: basic}}, Access: voice})
	m.AP = medium.AccessPoint{Aggregation: aggregation, Queue: queue.NewSharedFIFO(len(m.Stations), queue.Limit{Packets: apQueue}, m.Drop)}
	if e.medium, err = medium.New(m); err != nil {
		return nil, fmt.Errorf("simulating a cell: %w", err)
	}
	return e, nil
}

// group is the station that stands for all that hear multicast and, sending, for the access point's
// queue of it.
func (e *Emulated) group() int { return 2 * len(e.senders) }

func (e *Emulated) packet(station, length int, up bool, number int) *queue.Packet {
	p := &queue.Packet{}
	if last := len(e.free) - 1; last >= 0 {
		p, e.free = e.free[last], e.free[:last]
	}
	*p = queue.Packet{Length: length, Station: station, Up: up, Flow: uint32(station), AckNumber: uint32(number)}
	return p
}

// Allow sets a window and sends what it allows.
func (e *Emulated) Allow(terminal, packets int) {
	s := &e.senders[terminal]
	s.window, s.cwnd = packets, max(s.cwnd, initialWindow)
	if s.sent == s.acked {
		s.progress = e.now
	}
	e.send(terminal, e.now)
}

func (e *Emulated) send(terminal int, at time.Duration) {
	s := &e.senders[terminal]
	for s.sent-s.acked < min(s.window, s.cwnd) && s.sent-s.received-s.lost < queued {
		s.sent++
		if s.timed == 0 {
			s.timed, s.timedAt = s.sent, at
		}
		e.medium.Push(e.packet(terminal, dataBytes, true, 0), int64(at))
	}
}

// Say sends a report to the access point, which sends it to all.
func (e *Emulated) Say(terminal, bytes int, heard func(time.Duration)) {
	station := terminal
	if e.config.Marked {
		station += len(e.senders)
	}
	p := e.packet(station, bytes+udpIPv6Bytes, true, 0)
	e.said[p] = heard
	e.medium.Push(p, int64(e.now))
}

func (e *Emulated) deliver(p *queue.Packet, atNs int64) {
	at := time.Duration(atNs)
	if heard := e.said[p]; heard != nil {
		delete(e.said, p)
		length, station := p.Length, p.Station
		e.free = append(e.free, p)
		if station == e.group() {
			heard(at)
			return
		}
		again := e.packet(e.group(), length, e.config.Marked, 0)
		e.said[again] = heard
		e.medium.Push(again, atNs)
		return
	}
	terminal, number := p.Station, int(p.AckNumber)
	up := p.Up
	e.free = append(e.free, p)
	s := &e.senders[terminal]
	if !up {
		e.acknowledge(terminal, number+s.lost, at)
		return
	}
	s.received++
	e.send(terminal, at)
	if e.config.Wire > 0 {
		e.wire = max(e.wire, at) + time.Duration((dataBytes+wireBytes)*8/e.config.Wire*float64(time.Second))
	}
	if s.received-s.told >= 2 {
		s.told = s.received
		e.acks = append(e.acks, ack{max(e.wire, at) + 2*e.config.Delay, terminal, s.received})
	}
}

// acknowledge takes in that so many packets of all that were sent have arrived or are lost.
func (e *Emulated) acknowledge(terminal, upTo int, at time.Duration) {
	s := &e.senders[terminal]
	if upTo <= s.acked {
		return
	}
	s.passed.Bits += float64(upTo-s.acked) * packetBits
	s.cwnd = min(s.cwnd+upTo-s.acked, s.window)
	s.acked, s.progress = upTo, at
	if s.timed > 0 && upTo >= s.timed {
		rtt := at - s.timedAt
		if s.passed.MinRTT == 0 || rtt < s.passed.MinRTT {
			s.passed.MinRTT = rtt
		}
		s.rtts, s.rttSum, s.timed = s.rtts+1, s.rttSum+rtt, 0
		s.lastRTT = rtt
	}
	e.send(terminal, at)
}

// drop: a lost packet makes room, as when it is sent again; a lost acknowledgement is made good by
// the next.
func (e *Emulated) drop(p *queue.Packet) {
	if e.said[p] == nil && p.Up {
		e.senders[p.Station].lost++
	}
	delete(e.said, p)
	e.free = append(e.free, p)
}

// Take takes what has come through since the last call.
func (e *Emulated) Take(terminal int) Passed {
	s := &e.senders[terminal]
	if s.sent > s.acked && e.now-s.progress > max(leastTimeout, 2*s.lastRTT) {
		// All acknowledgements that would have let it go on were lost.
		s.progress, s.timed, s.cwnd = e.now, 0, timeoutWindow
		e.acknowledge(terminal, s.received+s.lost, e.now)
	}
	p := s.passed
	if s.rtts > 0 {
		p.RTT = s.rttSum / time.Duration(s.rtts)
	}
	s.passed, s.rtts, s.rttSum = Passed{}, 0, 0
	return p
}

// Advance lets time pass.
func (e *Emulated) Advance(now time.Duration) {
	for {
		next := time.Duration(e.medium.Next())
		if len(e.acks) > 0 && e.acks[0].at < next {
			next = e.acks[0].at
			if next > now {
				break
			}
			a := e.acks[0]
			e.acks = e.acks[1:]
			e.now = next
			e.medium.Push(e.packet(a.terminal, ackBytes, false, a.number), int64(next))
			continue
		}
		if next > now {
			break
		}
		e.now = next
		e.medium.Advance(int64(next))
	}
	e.now = max(e.now, now)
}

// Alone is what the first terminal reaches when it alone sends, in bit/s: half a second after it
// has begun, for two seconds.
func (e *Emulated) Alone() float64 {
	const settle, measure = 500 * time.Millisecond, 2 * time.Second
	e.Allow(0, freeWindow)
	e.Advance(e.now + settle)
	e.Take(0)
	e.Advance(e.now + measure)
	return e.Take(0).Bits / measure.Seconds()
}

// Airtime is what marked reports took of the medium so far, collisions among it, without
// acknowledgements.
func (e *Emulated) Airtime() time.Duration {
	ns := int64(0)
	for station := len(e.senders); station <= e.group(); station++ {
		ns += e.medium.Station(station).AirtimeNs
	}
	return time.Duration(ns)
}

package simulate

import (
	"container/heap"
	"fmt"
	"math/rand/v2"
	"time"

	"airtide/internal/cell/medium"
	"airtide/internal/cell/queue"
	"airtide/internal/stats"
)

// Emulated is an air with every frame: the 802.11 medium of package internal/cell/medium with its
// contention, collisions and A-MPDUs, an access point with one queue, a wire and a delay. A sender
// grows to its window, whatever is lost, and a receiver acknowledges every second packet. After a
// timeout a sender begins anew.
type Emulated struct {
	config   EmulatedConfig
	medium   *medium.Medium
	flows    []emulatedFlow
	free     []*queue.Packet
	reports  map[*queue.Packet]func(time.Duration)
	events   events
	order    uint64
	now      time.Duration
	wireUp   time.Duration // when the wire is free in this direction
	wireDown time.Duration
	// rttSketches are the RTTs of each terminal's flows in nanoseconds since the last TakeRTTs.
	rttSketches []stats.Sketch
}

// EmulatedConfig describes an emulated air.
type EmulatedConfig struct {
	Seed uint64
	Band medium.Band
	// Radios are the terminals' radios, one after another over time. Radios of 802.11b, g and a
	// send single frames.
	Radios [][]medium.RateFrom
	// SingleFrames says that no radio has A-MPDUs.
	SingleFrames bool
	// Flows are the flows. Without any each terminal has one upload.
	Flows []EmulatedFlow
	// WireBps is the capacity of the wire in each direction, in bit/s; 0 is without limit.
	WireBps float64
	// Delay is the delay behind the access point, each way.
	Delay time.Duration
	// APQueue is the queue of the access point, in packets; 0 is 1000.
	APQueue int
	// Marked reports have the access category for video, by their DSCP. Else they wait among all
	// packets.
	Marked bool
}

// EmulatedFlow describes a flow.
type EmulatedFlow struct {
	Terminal int
	Download bool
	// Delay is added to that of the configuration, each way.
	Delay time.Duration
	// DemandBps limits the sender, in bit/s of payload; 0 is unlimited.
	DemandBps float64
}

// emulatedFlow is the state of a flow. Numbers count packets.
type emulatedFlow struct {
	EmulatedFlow
	window, cwnd   int
	sent, acked    int // acked: acknowledged or lost
	received, lost int
	reported       int             // received as of the last acknowledgement
	counted        int             // received as of the last progress
	sentAt         []time.Duration // of the packets from acked on
	progress       Progress
	rtts           int
	rttSum         time.Duration
	lastRTT        time.Duration
	progressAt     time.Duration
	data           float64 // packets that the application has written and that are not sent
	writtenAt      time.Duration
	waking         bool
}

const (
	ackBytes = 52
	// wireBytes are around a packet on the wire: Ethernet's preamble, header, FCS and gap.
	wireBytes = 38
	// udpIPv6Bytes are around a report.
	udpIPv6Bytes = 48
	// stationQueue is how many packets of an upload wait below its socket at most, by TCP's small
	// queues; the others wait in the socket, behind reports.
	stationQueue = 128
	// defaultAPQueue is the access point's queue, in packets.
	defaultAPQueue = 1000
	// initialWindow is Linux's. timeoutWindow is what is left after a timeout.
	initialWindow, timeoutWindow = 10, 2
	// minTimeout without an acknowledgement, and at least twice the round-trip time, is a timeout.
	minTimeout = 300 * time.Millisecond
	// delayedAck is when a single packet is acknowledged.
	delayedAck = 40 * time.Millisecond
	// basicMbps is the rate of multicast.
	basicMbps = 6
	// mostData is how many packets an application with a demand writes ahead.
	mostData = 64
)

// NewEmulated makes an air at time zero. Besides the terminals there are stations for their queues
// of reports, and one for the access point's queue of multicast.
func NewEmulated(c EmulatedConfig) (*Emulated, error) {
	e := &Emulated{config: c, reports: map[*queue.Packet]func(time.Duration){}}
	if len(c.Flows) == 0 {
		for i := range c.Radios {
			c.Flows = append(c.Flows, EmulatedFlow{Terminal: i})
		}
	}
	for _, f := range c.Flows {
		e.flows = append(e.flows, emulatedFlow{EmulatedFlow: f})
	}
	aggregation := medium.Aggregation{Bytes: 1 << 20}
	if c.SingleFrames {
		aggregation = medium.Aggregation{}
	}
	m := medium.Config{Band: c.Band, Rand: rand.New(rand.NewPCG(c.Seed, 3)), Deliver: e.deliver}
	m.Drop = func(p *queue.Packet, _ queue.Place, _ int64) { e.drop(p) }
	for _, rates := range c.Radios {
		station := medium.Station{Rates: rates, Aggregation: aggregation}
		if singleFrames(rates) {
			station.Aggregation = medium.Aggregation{}
		}
		m.Stations = append(m.Stations, station)
		e.rttSketches = append(e.rttSketches, stats.NewSketch())
	}
	video := medium.Access{Category: medium.Video}
	for _, rates := range c.Radios {
		m.Stations = append(m.Stations, medium.Station{Rates: rates, Access: video})
	}
	standard := medium.Std11a
	if c.Band == medium.Band2GHz {
		standard = medium.Std11g
	}
	basic, err := medium.Legacy(standard, basicMbps)
	if err != nil {
		return nil, fmt.Errorf("simulating a cell: %w", err)
	}
	m.Stations = append(m.Stations, medium.Station{Rates: []medium.RateFrom{{PHY: basic}}, Access: video})
	limit := c.APQueue
	if limit == 0 {
		limit = defaultAPQueue
	}
	m.AP = medium.AccessPoint{
		Aggregation: aggregation, Queue: queue.NewSharedFIFO(len(m.Stations), queue.Limit{Packets: limit}, m.Drop),
	}
	if e.medium, err = medium.New(m); err != nil {
		return nil, fmt.Errorf("simulating a cell: %w", err)
	}
	return e, nil
}

// singleFrames says that a radio is of a standard without A-MPDUs.
func singleFrames(rates []medium.RateFrom) bool {
	return len(rates) > 0 && rates[0].PHY.Standard < medium.Std11n
}

// group is the station of all that hear multicast and, sending, of the access point's queue of it.
func (e *Emulated) group() int { return 2 * len(e.config.Radios) }

func (e *Emulated) packet(station, flow, length int, up bool, number int) *queue.Packet {
	p := &queue.Packet{}
	if last := len(e.free) - 1; last >= 0 {
		p, e.free = e.free[last], e.free[:last]
	}
	*p = queue.Packet{Length: length, Station: station, Up: up, Flow: uint32(flow), AckNumber: uint32(number)}
	return p
}

// at does something at a time, or now if that has passed.
func (e *Emulated) at(t time.Duration, do func()) {
	e.order++
	heap.Push(&e.events, event{max(t, e.now), e.order, do})
}

// onWire returns when a packet has crossed the wire that begins to be free at a time.
func (e *Emulated) onWire(free *time.Duration, at time.Duration) time.Duration {
	if e.config.WireBps == 0 {
		return at
	}
	*free = max(*free, at) + time.Duration((packetBytes+wireBytes)*8/e.config.WireBps*float64(time.Second))
	return *free
}

func (e *Emulated) delay(f *emulatedFlow) time.Duration { return e.config.Delay + f.Delay }

// SetWindow sets a window and sends what it allows.
func (e *Emulated) SetWindow(flow int, w Window) {
	f := &e.flows[flow]
	f.window, f.cwnd = w.Packets, max(f.cwnd, initialWindow, w.Least)
	if f.sent == f.acked {
		f.progressAt = e.now
	}
	e.send(flow, e.now)
}

func (e *Emulated) send(flow int, at time.Duration) {
	f := &e.flows[flow]
	if f.DemandBps > 0 && f.window > 0 {
		f.data = min(f.data+f.DemandBps/payloadBits*(at-f.writtenAt).Seconds(), mostData)
		f.writtenAt = at
	}
	for f.Download || f.sent-f.received-f.lost < stationQueue {
		if f.DemandBps > 0 && f.data < 1 {
			e.wakeWithData(flow, at)
			return
		}
		if f.sent-f.acked >= min(f.window, f.cwnd) {
			f.progress.Limited = f.window > 0
			return
		}
		f.sent++
		f.data--
		f.sentAt = append(f.sentAt, at)
		if !f.Download {
			e.medium.Push(e.packet(f.Terminal, flow, packetBytes, true, 0), int64(at))
			continue
		}
		e.at(e.onWire(&e.wireDown, at)+e.delay(f), func() {
			e.medium.Push(e.packet(f.Terminal, flow, packetBytes, false, 0), int64(e.now))
		})
	}
	f.progress.Limited = true // the window is greater than what waits in the socket
}

// wakeWithData sends again when the application has written a packet.
func (e *Emulated) wakeWithData(flow int, at time.Duration) {
	f := &e.flows[flow]
	if f.waking || f.window == 0 {
		return
	}
	f.waking = true
	e.at(at+time.Duration((1-f.data)*payloadBits/f.DemandBps*float64(time.Second))+time.Microsecond, func() {
		f.waking = false
		e.send(flow, e.now)
	})
}

// SendReport sends a report to the access point, which sends it to all.
func (e *Emulated) SendReport(terminal, bytes int, heard func(time.Duration)) {
	station := terminal
	if e.config.Marked {
		station += len(e.config.Radios)
	}
	p := e.packet(station, 0, bytes+udpIPv6Bytes, true, 0)
	e.reports[p] = heard
	e.medium.Push(p, int64(e.now))
}

func (e *Emulated) deliver(p *queue.Packet, atNs int64) {
	at := time.Duration(atNs)
	if heard := e.reports[p]; heard != nil {
		delete(e.reports, p)
		length, station := p.Length, p.Station
		e.free = append(e.free, p)
		if station == e.group() {
			heard(at)
			return
		}
		again := e.packet(e.group(), 0, length, e.config.Marked, 0)
		e.reports[again] = heard
		e.medium.Push(again, atNs)
		return
	}
	flow, number, up := int(p.Flow), int(p.AckNumber), p.Up
	e.free = append(e.free, p)
	f := &e.flows[flow]
	switch {
	case up == f.Download && f.Download: // the server is behind the delay
		e.at(at+e.delay(f), func() { e.acknowledge(flow, number, e.now, false) })
		return
	case up == f.Download:
		e.acknowledge(flow, number, at, false)
		return
	}
	f.received++
	if !f.Download {
		e.send(flow, at)
		at = e.onWire(&e.wireUp, at)
	}
	if f.received-f.reported >= 2 {
		e.sendAck(flow, at)
		return
	}
	received := f.received
	e.at(at+delayedAck, func() {
		if f.reported < received {
			e.sendAck(flow, e.now)
		}
	})
}

// sendAck sends an acknowledgement of all that was received.
func (e *Emulated) sendAck(flow int, at time.Duration) {
	f := &e.flows[flow]
	f.reported = f.received
	number := f.received
	if f.Download {
		e.medium.Push(e.packet(f.Terminal, flow, ackBytes, true, number), int64(at))
		return
	}
	e.at(at+2*e.delay(f), func() {
		e.medium.Push(e.packet(f.Terminal, flow, ackBytes, false, number), int64(e.now))
	})
}

// acknowledge notes that so many packets have arrived. All lost ones make room as well.
func (e *Emulated) acknowledge(flow, received int, at time.Duration, timeout bool) {
	f := &e.flows[flow]
	upTo := received + f.lost
	if upTo <= f.acked {
		return
	}
	f.progress.Bits += float64(max(received-f.counted, 0)) * payloadBits
	f.counted = max(f.counted, received)
	f.cwnd = min(f.cwnd+upTo-f.acked, max(f.window, timeoutWindow))
	sentAt := f.sentAt[upTo-f.acked-1]
	f.sentAt = f.sentAt[upTo-f.acked:]
	f.acked, f.progressAt = upTo, at
	if !timeout {
		rtt := at - sentAt
		if f.progress.LeastRTT == 0 || rtt < f.progress.LeastRTT {
			f.progress.LeastRTT = rtt
		}
		f.rtts, f.rttSum = f.rtts+1, f.rttSum+rtt
		f.lastRTT = rtt
		e.rttSketches[f.Terminal].Add(int64(rtt))
	}
	e.send(flow, at)
}

// drop: a lost packet makes room as if it was sent again; the next acknowledgement replaces a lost
// one.
func (e *Emulated) drop(p *queue.Packet) {
	f := &e.flows[p.Flow]
	if e.reports[p] == nil && p.Up != f.Download {
		f.lost++
	}
	delete(e.reports, p)
	e.free = append(e.free, p)
}

// Drain returns the progress of a flow since the last call.
func (e *Emulated) Drain(flow int) Progress {
	f := &e.flows[flow]
	if f.sent > f.acked && e.now-f.progressAt > max(minTimeout, 2*f.lastRTT) {
		// All acknowledgements that would have let it go on were lost.
		f.progressAt, f.cwnd = e.now, timeoutWindow
		e.acknowledge(flow, f.received, e.now, true)
	}
	p := f.progress
	if f.rtts > 0 {
		p.MeanRTT = f.rttSum / time.Duration(f.rtts)
	}
	f.progress, f.rtts, f.rttSum = Progress{}, 0, 0
	return p
}

// TakeRTTs returns the RTTs of a terminal's flows in nanoseconds since the last call.
func (e *Emulated) TakeRTTs(terminal int) stats.Sketch {
	taken := e.rttSketches[terminal]
	e.rttSketches[terminal] = stats.NewSketch()
	return taken
}

// Advance lets time pass.
func (e *Emulated) Advance(now time.Duration) {
	for {
		next := time.Duration(e.medium.Next())
		if len(e.events) > 0 && e.events[0].at < next {
			if e.events[0].at > now {
				break
			}
			first := heap.Pop(&e.events).(event)
			e.now = max(e.now, first.at)
			first.do()
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

// Alone is what the first flow reaches if it alone sends, in bit/s: half a second after it has
// begun, for two seconds.
func (e *Emulated) Alone() float64 {
	const settle, measure = 500 * time.Millisecond, 2 * time.Second
	e.SetWindow(0, Window{Packets: freeWindow})
	e.Advance(e.now + settle)
	e.Drain(0)
	e.Advance(e.now + measure)
	return e.Drain(0).Bits / measure.Seconds()
}

// ReportAirtime is the airtime of marked reports so far, with collisions and without
// acknowledgements.
func (e *Emulated) ReportAirtime() time.Duration {
	ns := int64(0)
	for station := len(e.config.Radios); station <= e.group(); station++ {
		ns += e.medium.Station(station).AirtimeNs
	}
	return time.Duration(ns)
}

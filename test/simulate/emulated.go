package simulate

import (
	"cmp"
	"container/heap"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"airtide/internal/cell/medium"
	"airtide/internal/cell/queue"
	"airtide/internal/stats"
)

// Emulated is an air with every frame: the 802.11 medium of package internal/cell/medium with its
// contention, collisions and A-MPDUs, an access point with one queue, a wire and a delay. Senders
// are CUBIC, bounded by the windows that are set; receivers acknowledge every second packet. A lost
// packet is replaced by a new one, which takes as much to carry as its retransmission.
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
	// Aggregation limits A-MPDUs; the zero value is without limit.
	Aggregation medium.Aggregation
	// CWMin is the least contention window of all contenders in slots; 0 is the standard's.
	// RTSBytes is the length from which on RTS precedes a PPDU; 0 is never.
	CWMin, RTSBytes int
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
	window         int
	cubic          cubic
	held           bool // by the congestion window, when it last wanted to send
	full           bool // so was the window that is set, since the last progress
	sent, acked    int  // acked: acknowledged or lost
	received, lost int
	losses         []int           // numbers of lost packets, in order, that the sender has not noticed
	noticed        int             // lost packets that it has noticed
	reported       int             // received as of the last acknowledgement
	counted        int             // received as of the last progress
	sentAt         []time.Duration // send times of the packets, the first not yet acknowledged first
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
	// stationQueue is the greatest number of packets of an upload below its socket, by TCP's small
	// queues; the others wait in the socket, behind reports.
	stationQueue = 128
	// defaultAPQueue is the access point's queue, in packets.
	defaultAPQueue = 1000
	// wireQueue is the greatest number of packets that wait for the wire in each direction.
	wireQueue = 1000
	// initialWindow is Linux's.
	initialWindow = 10
	// minTimeout without an acknowledgement, and at least twice the round-trip time, is a timeout.
	minTimeout = 300 * time.Millisecond
	// delayedAck is when a single packet is acknowledged.
	delayedAck = 40 * time.Millisecond
	// basicMbps is the rate of multicast.
	basicMbps = 6
	// mostData is the number of packets that an application with a demand writes ahead.
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
	aggregation := cmp.Or(c.Aggregation, medium.Aggregation{Bytes: 1 << 20})
	if c.SingleFrames {
		aggregation = medium.Aggregation{}
	}
	m := medium.Config{Band: c.Band, Rand: rand.New(rand.NewPCG(c.Seed, 3)), Deliver: e.deliver}
	m.Drop = func(p *queue.Packet, _ queue.Place, _ int64) { e.drop(p) }
	for _, rates := range c.Radios {
		station := medium.Station{Rates: rates, Aggregation: aggregation, Access: medium.Access{CWMin: c.CWMin}}
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
	m.RTSBytes = c.RTSBytes
	m.AP = medium.AccessPoint{
		Access: medium.Access{CWMin: c.CWMin}, Aggregation: aggregation,
		Queue: queue.NewSharedFIFO(len(m.Stations), queue.Limit{Packets: limit}, m.Drop),
	}
	e.medium, err = medium.New(m)
	if err != nil {
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
		p = e.free[last]
		e.free = e.free[:last]
	}
	*p = queue.Packet{Length: length, Station: station, Up: up, Flow: uint32(flow), AckNumber: uint32(number)}
	return p
}

// at does something at a time, or now if that has passed.
func (e *Emulated) at(t time.Duration, do func()) {
	e.order++
	heap.Push(&e.events, event{max(t, e.now), e.order, do})
}

// onWire returns when a packet has crossed the wire that begins to be free at a time, or false if
// the queue of the wire is full.
func (e *Emulated) onWire(free *time.Duration, at time.Duration) (arrives time.Duration, ok bool) {
	if e.config.WireBps == 0 {
		return at, true
	}
	each := time.Duration((packetBytes + wireBytes) * 8 / e.config.WireBps * float64(time.Second))
	if *free-at > wireQueue*each {
		return at, false
	}
	*free = max(*free, at) + each
	return *free, true
}

func (e *Emulated) delay(f *emulatedFlow) time.Duration { return e.config.Delay + f.Delay }

// SetWindow sets a window and sends what it allows.
func (e *Emulated) SetWindow(flow int, w Window) {
	f := &e.flows[flow]
	if f.cubic.cwnd == 0 {
		f.cubic = newCubic()
	}
	f.window = w.Packets
	if !f.Download && w.Packets > 0 { // the receive window bounds downloads
		f.cubic.bound(float64(w.Least), float64(w.Packets))
	}
	if f.sent == f.acked {
		f.progressAt = e.now
	}
	e.send(flow, e.now)
}

func (e *Emulated) send(flow int, at time.Duration) {
	f := &e.flows[flow]
	f.held = false
	if f.DemandBps > 0 && f.window > 0 {
		f.data = min(f.data+f.DemandBps/payloadBits*(at-f.writtenAt).Seconds(), mostData)
		f.writtenAt = at
	}
	for f.Download || f.sent-f.received-f.lost < stationQueue {
		if f.DemandBps > 0 && f.data < 1 {
			e.wakeWithData(flow, at)
			return
		}
		inFlight := f.sent - f.acked
		if inFlight >= f.window {
			f.full = f.full || f.window > 0
		}
		if inFlight >= min(f.window, int(f.cubic.cwnd)) {
			f.held = inFlight >= int(f.cubic.cwnd)
			f.progress.Limited = f.window > 0 && (f.full || !f.Download)
			return
		}
		f.sent++
		f.data--
		f.sentAt = append(f.sentAt, at)
		number := f.sent
		if !f.Download {
			e.medium.Push(e.packet(f.Terminal, flow, packetBytes, true, number), int64(at))
			continue
		}
		arrives, ok := e.onWire(&e.wireDown, at)
		if !ok {
			e.lose(f, number)
			continue
		}
		e.at(arrives+e.delay(f), func() {
			e.medium.Push(e.packet(f.Terminal, flow, packetBytes, false, number), int64(e.now))
		})
	}
	f.progress.Limited = true // the window is greater than what waits in the socket
}

// lose notes a lost packet. Its sender notices when a packet after it is acknowledged.
func (e *Emulated) lose(f *emulatedFlow, number int) {
	f.lost++
	f.progress.Lost++
	at, _ := slices.BinarySearch(f.losses, number)
	f.losses = slices.Insert(f.losses, at, number)
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
		length := p.Length
		station := p.Station
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
	flow := int(p.Flow)
	number := int(p.AckNumber)
	up := p.Up
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
	if !f.Download {
		arrives, ok := e.onWire(&e.wireUp, at)
		if !ok {
			e.lose(f, number)
			e.send(flow, at)
			return
		}
		f.received++
		e.send(flow, at)
		at = arrives
	} else {
		f.received++
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

// acknowledge notes that so many packets have arrived, and the lost ones before the newest of them.
func (e *Emulated) acknowledge(flow, received int, at time.Duration, timeout bool) {
	f := &e.flows[flow]
	for len(f.losses) > 0 && (timeout || f.losses[0] <= received+f.noticed+1) {
		if !timeout {
			f.cubic.lost(f.losses[0], f.sent)
		}
		f.losses = f.losses[1:]
		f.noticed++
	}
	upTo := received + f.noticed
	if upTo <= f.acked {
		return
	}
	newly := upTo - f.acked
	f.progress.Bits += float64(max(received-f.counted, 0)) * payloadBits
	f.counted = max(f.counted, received)
	sentAt := f.sentAt[newly-1]
	f.sentAt = f.sentAt[newly:]
	f.acked = upTo
	f.progressAt = at
	if !timeout {
		rtt := at - sentAt
		if f.progress.LeastRTT == 0 || rtt < f.progress.LeastRTT {
			f.progress.LeastRTT = rtt
		}
		f.rtts++
		f.rttSum += rtt
		f.lastRTT = rtt
		e.rttSketches[f.Terminal].Add(int64(rtt))
		most := float64(max(f.window, 1))
		// A window that is set holds the sender before CUBIC does.
		f.cubic.acknowledged(at, newly, upTo, f.sent, rtt, f.held && f.cubic.cwnd < most)
		if !f.Download {
			f.cubic.bound(0, most)
		}
	}
	e.send(flow, at)
}

func (e *Emulated) drop(p *queue.Packet) {
	f := &e.flows[p.Flow]
	if e.reports[p] == nil && p.Up != f.Download {
		e.lose(f, int(p.AckNumber))
	}
	delete(e.reports, p)
	e.free = append(e.free, p)
}

// Drain returns the progress of a flow since the last call.
func (e *Emulated) Drain(flow int) Progress {
	f := &e.flows[flow]
	if f.sent > f.acked && e.now-f.progressAt > max(minTimeout, 2*f.lastRTT) {
		// All acknowledgements that would have let it go on were lost, or waited. The sender begins
		// anew if data was lost, too: otherwise F-RTO finds that the timeout was none.
		f.progressAt = e.now
		if len(f.losses) > 0 {
			f.cubic.timeout(f.sent)
		}
		e.acknowledge(flow, f.received, e.now, true)
	}
	p := f.progress
	if f.rtts > 0 {
		p.MeanRTT = f.rttSum / time.Duration(f.rtts)
	}
	f.progress = Progress{}
	f.full = false
	f.rtts = 0
	f.rttSum = 0
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

// Alone is the rate of the first flow if it alone sends, in bit/s: half a second after it has
// begun, for two seconds.
func (e *Emulated) Alone() float64 {
	const settle, measure = 500 * time.Millisecond, 2 * time.Second
	e.SetWindow(0, Window{Packets: freeWindow, Least: freeWindow})
	e.Advance(e.now + settle)
	e.Drain(0)
	e.Advance(e.now + measure)
	return e.Drain(0).Bits / measure.Seconds()
}

// Busy is the time so far in which the medium was busy.
func (e *Emulated) Busy() time.Duration { return time.Duration(e.medium.BusyNs(int64(e.now))) }

// ReportAirtime is the airtime of marked reports so far, with collisions and without
// acknowledgements.
func (e *Emulated) ReportAirtime() time.Duration {
	ns := int64(0)
	for station := len(e.config.Radios); station <= e.group(); station++ {
		ns += e.medium.Station(station).AirtimeNs
	}
	return time.Duration(ns)
}

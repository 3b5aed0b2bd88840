// Package medium is the 802.11 medium of an emulated cell. An access point and stations contend by
// DCF or EDCA, send frames and A-MPDUs at the rates of their standards, collide, lose frames and
// repeat them. It is a state machine in virtual time without I/O, clock or goroutines: the same
// seed and the same pushes give the same run.
//
// All contenders hear each other. There are no hidden terminals, no capture, no protection
// of 802.11g against 802.11b and no power save. A contender that gets its first packet senses a
// carrier at once. A contender at the end of its back-off hears a carrier after 4 us. Control
// frames are lost only by collisions. Beacons take airtime and are never lost. A frame error
// concerns the receiver; bystanders decode the frames that the receiver decodes.
package medium

import (
	"fmt"
	"math/rand/v2"
	"slices"

	"airtide/internal/cell/queue"
)

type phase uint8

const (
	idle     phase = iota // contenders count slots
	sending               // one PPDU is on the air
	answered              // SIFS and the ACK or BlockAck
	collided              // several PPDUs are on the air
	beaconed              // a beacon, with PIFS before it
)

// Medium is made by New and driven by Push, Next and Advance.
type Medium struct {
	sifsNs, eifsNs     int64
	rtsBytes           int
	barAfterCollision  bool
	eifsAfterCollision bool
	contention         *contention // nil without adaptive windows
	rand               *rand.Rand
	deliver            func(p *queue.Packet, atNs int64)
	drop               func(p *queue.Packet, at queue.Place, atNs int64)
	room               func(station int, atNs int64)

	// The access point is contender 0, station i is contender i+1.
	contenders    []contender
	steps         []step
	apart         []int32 // contenders that count by themselves; without steps all, in order
	ready, late   []int32 // scratch
	transmissions []transmission
	counters      []Counters
	downs         []Counters // the access point's, by station
	inFlight      []int      // packets that have left the queue and are not acknowledged
	terminals     []terminal
	apQueue       queue.Discipline
	repeating     int // down links with something to repeat
	lastDown      int // station that the access point served last
	beacons       beaconing
	held          bool
	beginNs       int64 // zero of the rates' times

	phase       phase
	nextNs      int64
	onAir       []int // contenders whose PPDUs are on the air
	heardNs     int64 // when the others hear the present transmission
	txopStartNs int64
	busyFromNs  int64 // when the medium last became busy
	busyNs      int64 // sum of the busy times before that
	running     bool

	// dropped and the following fields hold the arguments of postponed callbacks.
	dropped []*queue.Packet
	roomy   []int
}

// terminal is a station's side of the medium.
type terminal struct {
	rates          []rate
	rate           int // index of the present one
	queue          *queue.FIFO
	limit          int
	frameErrorRate float64
	up, down       link
}

// rate is a radio from a time on, with the aggregation that it allows in both directions.
type rate struct {
	fromNs   int64
	radio    radio
	up, down limits
}

func (t *terminal) limits(down bool) limits {
	if down {
		return t.rates[t.rate].down
	}
	return t.rates[t.rate].up
}

// radioAt is the radio of a station at a time, which never goes back.
func (m *Medium) radioAt(station int, nowNs int64) *radio {
	t := &m.terminals[station]
	for !m.held && t.rate+1 < len(t.rates) && t.rates[t.rate+1].fromNs <= nowNs-m.beginNs {
		t.rate++
	}
	return &t.rates[t.rate].radio
}

// Begin lets the times of rates that were held count from now on.
func (m *Medium) Begin(nowNs int64) {
	if m.held {
		m.held = false
		m.beginNs = nowNs
	}
}

// RateBps is the PHY rate of a station at a time, which never goes back.
func (m *Medium) RateBps(station int, nowNs int64) int64 { return m.radioAt(station, nowNs).RateBps }

// New makes a medium at time zero.
func New(c Config) (*Medium, error) {
	if err := c.prepare(); err != nil {
		return nil, fmt.Errorf("setting up the medium: %w", err)
	}
	m := &Medium{
		sifsNs: c.sifsNs(), eifsNs: c.eifsNs(), rtsBytes: c.RTSBytes, barAfterCollision: c.BarAfterCollision,
		eifsAfterCollision: c.EIFSAfterCollision, rand: c.Rand, deliver: c.Deliver, drop: c.Drop, room: c.Room,
		apQueue: c.AP.Queue, beacons: c.beaconing(), held: c.Held,
		counters: make([]Counters, len(c.Stations)+1), downs: make([]Counters, len(c.Stations)),
		inFlight:  make([]int, len(c.Stations)+1),
		terminals: make([]terminal, len(c.Stations)), transmissions: make([]transmission, len(c.Stations)+1),
	}
	m.nextNs = m.beacons.nextNs
	newest := Std11b
	for i := range c.Stations {
		newest = max(newest, c.Stations[i].standard())
	}
	m.contenders = append(m.contenders, newContender(c.AP.Access.withDefaults(newest), &c))
	for i := range c.Stations {
		s := &c.Stations[i]
		access := s.Access.withDefaults(s.standard())
		m.contenders = append(m.contenders, newContender(access, &c))
		qos := s.standard().aggregates() || access.Category != DCF
		t := &m.terminals[i]
		t.frameErrorRate = s.FrameErrorRate
		t.limit = s.QueuePackets
		t.queue = queue.NewFIFO(queue.Limit{Packets: s.QueuePackets}, queue.PlaceStationQueue,
			func(p *queue.Packet, at queue.Place, atNs int64) {
				m.counters[i+1].Drops[at]++
				m.drop(p, at, atNs)
			})
		for _, r := range s.Rates {
			bound := rate{fromNs: r.FromNs, radio: c.radio(r.PHY, qos)}
			bound.up = limits{s.Aggregation.frames(s.standard()), s.Aggregation.bytes(&bound.radio)}
			bound.down = limits{c.AP.Aggregation.frames(s.standard()), c.AP.Aggregation.bytes(&bound.radio)}
			t.rates = append(t.rates, bound)
		}
		t.up = newLink(i, i+1, agreement(t.rates[0].up, s.standard()))
		t.down = newLink(i, 0, agreement(t.rates[0].down, s.standard()))
	}
	if c.AdaptiveWindows {
		m.contention = &contention{window: leastWindow, most: leastWindow}
		for i := range m.contenders {
			m.contention.most = max(m.contention.most, float64(m.contenders[i].cwMax))
		}
	}
	m.group()
	for i := range m.transmissions {
		m.transmissions[i].seqs = make([]uint32, 0, windowHE)
	}
	return m, nil
}

// smallGroup is the number of contenders up to which counting each one is as fast as a step.
const smallGroup = 8

// group finds the contenders that may count together. At first each one counts separately.
func (m *Medium) group() {
	for i := range m.contenders {
		c := &m.contenders[i]
		m.apart = append(m.apart, int32(i))
		if len(m.contenders) <= smallGroup {
			continue
		}
		k := slices.IndexFunc(m.steps, func(s step) bool {
			return s.slotNs == c.slotNs && s.aifsNs == c.aifsNs && s.edca == c.edca
		})
		if k < 0 {
			k = len(m.steps)
			m.steps = append(m.steps, step{slotNs: c.slotNs, aifsNs: c.aifsNs, edca: c.edca})
		}
		m.steps[k].grow(c.cwMax)
		c.step = int32(k)
	}
}

// agreement is the window of a link: a BlockAck agreement's when it aggregates, else one frame.
func agreement(l limits, s Standard) int {
	if l.frames > 1 {
		return windowOf(s)
	}
	return 1
}

// Next returns the time of the next event, or math.MaxInt64 if there is none.
func (m *Medium) Next() int64 { return m.nextNs }

// Advance handles every event up to and including a time.
func (m *Medium) Advance(nowNs int64) {
	m.running = true
	for m.nextNs <= nowNs {
		at := m.nextNs
		switch m.phase {
		case idle:
			if at < m.beacons.nextNs {
				m.access(at)
				continue
			}
			m.onAir = m.onAir[:0]
			m.heardNs = at + ccaNs
			m.busyFromNs = at
			m.beacons.failed = false
			m.beacon(at)
		case beaconed:
			m.listen(at, 0, m.beacons.failed)
		case sending:
			m.arrive(at)
		case answered:
			m.succeed(at)
		case collided:
			m.collide(at)
		}
	}
	m.running = false
}

// Free is the number of packets that a station's queue still takes, large if it has no limit.
func (m *Medium) Free(station int) int {
	t := &m.terminals[station]
	if t.limit == 0 {
		return 1 << 30
	}
	return t.limit - t.queue.Len()
}

// Push takes a packet into the queue of its station, or of the access point. Events before this
// time are handled first.
func (m *Medium) Push(p *queue.Packet, nowNs int64) {
	if !m.running && m.nextNs < nowNs {
		m.Advance(nowNs - 1)
	}
	i := 0
	if p.Up {
		i = p.Station + 1
		if !m.terminals[p.Station].queue.Push(p, nowNs) {
			return
		}
	} else {
		m.apQueue.Push(p, nowNs)
	}
	m.backlog(i, nowNs)
	c := &m.contenders[i]
	if c.accessNs != never || c.onAir {
		return // it contends, or will when its exchange is over
	}
	m.leave(i)
	switch {
	case m.phase != idle:
		// A packet for an empty queue that finds the medium busy has to back off, if no back-off is
		// left (10.3.4.2).
		c.freeze(m.heardNs)
		c.startNs = never // frozen
		if c.slots == 0 {
			m.draw(c)
		}
		c.accessNs = never - 1
	default:
		c.wake(nowNs)
		m.nextNs = min(m.nextNs, c.accessNs)
	}
}

// hasFrames reports whether a contender has something to send.
func (m *Medium) hasFrames(i int) bool {
	if i == 0 {
		return m.repeating > 0 || m.apQueue.Len() > 0
	}
	t := &m.terminals[i-1]
	return t.up.hasRepeats() || t.queue.Head() != nil
}

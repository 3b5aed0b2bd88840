package engine

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"testing"

	"airtide/internal/cell/queue"
)

// lineConfig describes a line between the stations and the wire: each direction has a queue, a rate
// and a delay, and each station a queue of its own towards it.
type lineConfig struct {
	RateBps float64 `json:"rate_bps"` // of IP packets; 0 is without limit
	DelayNs int64   `json:"delay_ns"` // one way
	Limit   int     `json:"limit"`    // of a station's queue in packets; 0 is without
	Fail    string  `json:"fail"`     // refuse to be built
	Panic   bool    `json:"panic"`    // at the first packet
	// Observed is the number of further bytes that Status copies.
	Observed int `json:"observed"`
}

// line serves each station's queue in order of arrival. A packet is under way from when it leaves
// its queue, which is when its transmission begins.
type line struct {
	config  lineConfig
	call    Callbacks
	up      lane
	down    lane
	waiting []int // packets in each station's queue
	seen    lineCounts
	copied  lineCounts
}

type lineCounts struct {
	Pushed  uint64 `json:"pushed"`
	Acks    uint64 `json:"acks"`
	Longest int    `json:"longest"` // queue of a station
	Flows   int    `json:"flows"`
	BeganNs int64  `json:"began_ns"`
	More    []byte `json:"more,omitempty"`
	flows   map[uint32]bool
}

// lane is one direction, with its waiting packets and its packets on the way. Both are in order of
// time.
type lane struct {
	waiting, flying ring
	freeNs          int64 // when the transmission under way ends
}

type entry struct {
	p  *queue.Packet
	at int64
}

// ring is a queue that does not allocate once it has grown.
type ring struct {
	entries    []entry
	head, size int
}

func (r *ring) push(e entry) {
	if r.size == len(r.entries) {
		grown := make([]entry, max(64, 2*r.size))
		for i := range r.size {
			grown[i] = r.entries[(r.head+i)%len(r.entries)]
		}
		r.entries = grown
		r.head = 0
	}
	r.entries[(r.head+r.size)%len(r.entries)] = e
	r.size++
}

func (r *ring) front() entry { return r.entries[r.head] }

func (r *ring) pop() entry {
	e := r.entries[r.head]
	r.head = (r.head + 1) % len(r.entries)
	r.size -= 1
	return e
}

func buildLine(config json.RawMessage, c Callbacks) (World, error) {
	l := &line{call: c, waiting: make([]int, 128)}
	if err := json.Unmarshal(config, &l.config); err != nil {
		return nil, err
	}
	if l.config.Fail != "" {
		return nil, fmt.Errorf("%s", l.config.Fail)
	}
	l.Begin(0)
	return l, nil
}

func (l *line) Push(p *queue.Packet, now int64) {
	if l.config.Panic {
		panic("this world was told to fail")
	}
	l.seen.Pushed++
	if p.Ack {
		l.seen.Acks++
	}
	l.seen.flows[p.Flow] = true
	lane := &l.down
	if p.Up {
		lane = &l.up
		if l.Room(p.Station) <= 0 {
			l.call.Drop(p, queue.PlaceStationQueue, now)
			return
		}
		l.waiting[p.Station]++
		l.seen.Longest = max(l.seen.Longest, l.waiting[p.Station])
	}
	lane.waiting.push(entry{p, now})
}

func (l *line) Room(station int) int {
	if l.config.Limit == 0 {
		return math.MaxInt
	}
	return l.config.Limit - l.waiting[station]
}

func (l *line) Next() int64 { return min(l.up.next(), l.down.next()) }

func (l *lane) next() int64 {
	next := int64(math.MaxInt64)
	if l.waiting.size > 0 {
		next = max(l.freeNs, l.waiting.front().at)
	}
	if l.flying.size > 0 {
		next = min(next, l.flying.front().at)
	}
	return next
}

func (l *line) Advance(now int64) {
	for {
		lane := &l.up
		if l.down.next() < lane.next() {
			lane = &l.down
		}
		at := lane.next()
		if at > now {
			return
		}
		l.step(lane, at)
	}
}

func (l *line) step(lane *lane, at int64) {
	if lane.flying.size > 0 && lane.flying.front().at == at {
		p := lane.flying.pop().p
		if station := l.call.StationOf(p); p.Up && station != NoStation {
			// From station to station: carried once more.
			p.Station = station
			p.Up = false
			l.down.waiting.push(entry{p, at})
			return
		}
		l.call.Deliver(p, at)
		return
	}
	p := lane.waiting.pop().p
	if p.Up {
		l.waiting[p.Station]--
	}
	lane.freeNs = at
	if l.config.RateBps > 0 {
		lane.freeNs += int64(float64(p.Length) * 8e9 / l.config.RateBps)
	}
	lane.flying.push(entry{p, lane.freeNs + l.config.DelayNs})
}

func (l *line) Begin(now int64) {
	l.seen = lineCounts{BeganNs: now, flows: map[uint32]bool{}, More: make([]byte, l.config.Observed)}
	l.copied.More = make([]byte, l.config.Observed)
}

func (l *line) Observe(int64) {
	more := l.copied.More
	copy(more, l.seen.More)
	l.copied = l.seen
	l.copied.Flows = len(l.seen.flows)
	l.copied.More = more
}

func (l *line) Observation() any { return l.copied }

func TestMain(m *testing.M) {
	if IsEngine() {
		os.Exit(Main(buildLine))
	}
	if os.Getenv(parentVariable) != "" {
		os.Exit(beParent())
	}
	if address := os.Getenv(probeVariable); address != "" {
		fmt.Fprintln(os.Stderr, sendProbes(address))
		os.Exit(1)
	}
	os.Exit(m.Run())
}

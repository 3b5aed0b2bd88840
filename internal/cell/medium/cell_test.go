package medium

import (
	"math/rand/v2"
	"testing"

	"airtide/internal/cell/queue"
)

// packetLength is an IP packet with 1470 bytes of UDP payload.
const (
	payload      = 1470
	packetLength = payload + 28
)

// world is a cell in virtual time with sources that keep queues full.
type world struct {
	m        *Medium
	ap       *sharedFIFO
	up, down bool // which directions are saturated
	relay    bool // station 0 sends to station 1 through the access point
	free     []*queue.Packet
	next     int // station of the next packet down
	got      []int64
	gotDown  []int64
	dropped  [queue.NumPlaces]int64
	onUp     func(p *queue.Packet, atNs int64)
}

func newWorld(t testing.TB, c Config, seed uint64, apLimit int) *world {
	t.Helper()
	w := &world{got: make([]int64, len(c.Stations)), gotDown: make([]int64, len(c.Stations))}
	w.ap = &sharedFIFO{limit: apLimit, ofs: make([]int, len(c.Stations)), drop: w.lose}
	c.AP.Queue = w.ap
	c.Rand = rand.New(rand.NewPCG(seed, 1))
	c.Deliver = w.deliver
	c.Drop = w.lose
	c.Room = w.fill
	m, err := New(c)
	if err != nil {
		t.Fatal(err)
	}
	w.m = m
	return w
}

func (w *world) packet(station int, up bool) *queue.Packet {
	var p *queue.Packet
	if n := len(w.free); n > 0 {
		p = w.free[n-1]
		w.free = w.free[:n-1]
	} else {
		p = new(queue.Packet)
	}
	p.Length = packetLength
	p.Station = station
	p.Up = up
	return p
}

func (w *world) lose(p *queue.Packet, at queue.Place, _ int64) {
	w.dropped[at]++
	w.free = append(w.free, p)
}

func (w *world) fill(station int, nowNs int64) {
	if !w.up || w.relay && station != 0 {
		return
	}
	for w.m.Free(station) > 0 {
		w.m.Push(w.packet(station, true), nowNs)
	}
}

func (w *world) fillAP(nowNs int64) {
	for w.ap.Len() < w.ap.limit {
		w.m.Push(w.packet(w.next, false), nowNs)
		w.next = (w.next + 1) % len(w.got)
	}
}

func (w *world) deliver(p *queue.Packet, atNs int64) {
	switch {
	case p.Up && w.relay:
		p.Up = false
		p.Station = 1
		w.m.Push(p, atNs)
		return
	case p.Up:
		w.got[p.Station]++
		if w.onUp != nil {
			w.onUp(p, atNs)
		}
	default:
		w.gotDown[p.Station]++
	}
	w.free = append(w.free, p)
	if w.down && !p.Up {
		w.fillAP(atNs)
	}
}

// start fills the queues at time zero.
func (w *world) start() {
	for i := range w.got {
		w.fill(i, 0)
	}
	if w.down {
		w.fillAP(0)
	}
}

// measure runs to a time, forgets what was counted, and runs on.
func (w *world) measure(warmNs, untilNs int64) {
	w.m.Advance(warmNs)
	w.m.Restart(warmNs)
	clear(w.got)
	clear(w.gotDown)
	w.m.Advance(untilNs)
}

func must(p PHY, err error) PHY {
	if err != nil {
		panic(err)
	}
	return p
}

func saturated(p PHY, a Aggregation) Station {
	return Station{Rates: []RateFrom{{PHY: p}}, Aggregation: a, QueuePackets: 500}
}

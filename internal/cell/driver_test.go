package cell

import (
	"testing"

	"airtide/internal/cell/engine"
	"airtide/internal/cell/medium"
	"airtide/internal/cell/path"
	"airtide/internal/cell/queue"
)

const (
	// udpPacket is the IP packet of a datagram with payloadBytes.
	udpPacket    = 1498
	payloadBytes = 1470
	wireNs       = 12_304 // time of a udpPacket at 1 Gbit/s
)

// driver runs a World in virtual time with traffic that never ends.
type driver struct {
	t     testing.TB
	w     *World
	nowNs int64
	free  []*queue.Packet

	// saturated stations always have something to send: to another station, or to the server.
	saturated map[int]int
	// down stations are sent a datagram each in turn, every downNs.
	down            []int
	turn            int
	downNs, nextNs  int64
	pushed, dropped int64
	delivered       []int64 // packets by receiver: stations, then the server
	digest          uint64  // hash of the deliveries and their times
}

func newDriver(t testing.TB, c Config) *driver {
	t.Helper()
	d := &driver{t: t, saturated: map[int]int{}, delivered: make([]int64, len(c.Terminals)+1)}
	w, err := NewWorld(c, engine.Callbacks{
		Deliver: func(p *queue.Packet, atNs int64) {
			to := d.stationOf(p)
			if to < 0 {
				to = len(d.delivered) - 1
			}
			d.delivered[to]++
			d.digest = (d.digest ^ uint64(atNs) ^ uint64(p.Flow)) * 0x9e3779b97f4a7c15
			d.free = append(d.free, p)
		},
		Drop: func(p *queue.Packet, at queue.Place, atNs int64) {
			d.dropped++
			d.digest = (d.digest ^ uint64(atNs) ^ uint64(at)) * 0x9e3779b97f4a7c15
			d.free = append(d.free, p)
		},
		Copy: func(p *queue.Packet) *queue.Packet {
			d.pushed++
			second := d.take()
			second.Length = p.Length
			second.Station = p.Station
			second.Up = p.Up
			second.Flow = p.Flow
			return second
		},
		StationOf: d.stationOf,
	})
	if err != nil {
		t.Fatal(err)
	}
	d.w = w
	return d
}

// toServer is the destination behind the wire.
const toServer = engine.NoStation

// A packet's flow says where it goes.
func (d *driver) stationOf(p *queue.Packet) int { return int(int8(p.Flow)) }

func (d *driver) take() *queue.Packet {
	if last := len(d.free) - 1; last >= 0 {
		p := d.free[last]
		d.free = d.free[:last]
		return p
	}
	return &queue.Packet{}
}

// send pushes a packet of a station, or of the server when from is toServer.
func (d *driver) send(from, to, length int) {
	p := d.take()
	p.Data = nil
	p.Length = length
	p.Flow = uint32(uint8(from))<<8 | uint32(uint8(to))
	p.Station = from
	p.Up = true
	if from == toServer {
		p.Station = to
		p.Up = false
	}
	d.pushed++
	d.w.Push(p, d.nowNs)
}

// run goes on until a time.
func (d *driver) run(untilNs int64) {
	for {
		for from, to := range d.saturated {
			for d.w.Room(from) > 0 {
				d.send(from, to, udpPacket)
			}
		}
		at := d.w.Next()
		if len(d.down) > 0 {
			at = min(at, d.nextNs)
		}
		if at > untilNs {
			break
		}
		d.nowNs = at
		d.w.Advance(at)
		if len(d.down) > 0 && at == d.nextNs {
			d.nextNs += d.downNs
			d.send(toServer, d.down[d.turn%len(d.down)], udpPacket)
			d.turn++
		}
	}
	d.nowNs = untilNs
	d.w.Advance(untilNs)
}

func (d *driver) status() *Status {
	d.w.Observe(d.nowNs)
	return d.w.Observation().(*Status)
}

// conserved checks that no packet is lost without being counted.
func (d *driver) conserved() {
	d.t.Helper()
	var delivered int64
	for _, n := range d.delivered {
		delivered += n
	}
	underWay := d.status().UnderWay
	if d.pushed != delivered+d.dropped+underWay {
		d.t.Errorf("%d packets entered; %d arrived, %d were dropped, %d are under way", d.pushed, delivered, d.dropped,
			underWay)
	}
}

func must[T any](v T, err error) T {
	if err != nil {
		panic(err)
	}
	return v
}

// radio is a radio of one rate, with the standard's aggregation and the queue of a driver.
func radio(p medium.PHY) *Radio { return &Radio{PHY: []PHYStep{{0, p}}, QueuePackets: 500} }

func ac867() *Radio { return radio(must(medium.AtRate(medium.Std11ac, 80, 2, 866.7))) }

// gigabit is a wire of 1 Gbit/s with a delay of 1 ms for each terminal.
func gigabit(terminals ...Terminal) Config {
	wire := []WireStep{{0, path.Wire{RateBps: 1e9, Limit: queue.Limit{Packets: 1000}}}}
	line := []LineStep{{0, path.Line{DelayNs: 1e6}}}
	c := Config{
		Seed: 1, AP: AccessPoint{Limit: queue.Limit{Packets: 500}}, WireUp: wire, WireDown: wire,
		Servers: []Server{{Name: "server"}},
	}
	for i := range terminals {
		if terminals[i].Up == nil {
			terminals[i].Up = line
			terminals[i].Down = line
		}
	}
	c.Terminals = terminals
	return c
}

package control

import (
	"cmp"
	"math/rand/v2"
	"net/netip"
	"slices"
	"time"

	"airtide/internal/share/allocate"
)

// testCell is a cell as simple as it can be and still have what the control has to do with:
// stations that come to the medium equally often, each access costing its overhead and then as many
// frames as wait; an access point that comes as often as each of them, for their ACKs; a wire
// behind it; windows.
type testCell struct {
	now      time.Duration
	wire     float64 // bit/s
	wireFree time.Duration
	stations []*testStation
	turns    []int // left of a round, in random order; the number of stations means the access point
	random   *rand.Rand
}

type testStation struct {
	phy       float64 // bit/s
	aggregate int     // frames of an access at most
	base      time.Duration
	known     time.Duration // base as the station knows it; 0: the true one
	demand    float64       // bit/s, 0 for all it can get
	away      bool

	window   int // frames
	backlog  int
	flying   int
	released float64 // frames that a limited application has written
	acks     []testAck
	acked    int // frames since the last report

	control  *ShareController
	decision Decision
}

type testAck struct {
	at     time.Duration
	frames int
}

const testOverhead = 300 * time.Microsecond

// alone returns the rate that a station reaches alone.
func (s *testStation) alone() float64 {
	bits := float64(s.aggregate * packetBits)
	return bits / (testOverhead.Seconds() + bits/s.phy)
}

func newTestCell(wire float64, stations ...testStation) *testCell {
	c := &testCell{wire: wire, random: rand.New(rand.NewPCG(1, 2))}
	for i := range stations {
		s := &stations[i]
		s.window = 1000 // the window without control
		s.control = NewShareController(Options{})
		c.stations = append(c.stations, s)
	}
	return c
}

// until runs the cell to a time.
func (c *testCell) until(end time.Duration) {
	for c.now < end {
		for _, s := range c.stations {
			if fresh := s.window - s.flying - s.backlog; fresh > 0 && !s.away {
				if s.demand > 0 {
					fresh = min(fresh, int(s.released))
					s.released -= float64(fresh)
				}
				s.backlog += fresh
			}
		}
		before := c.now
		if !c.access() {
			c.now += 100 * time.Microsecond
		}
		for _, s := range c.stations {
			s.released = min(s.released+s.demand*(c.now-before).Seconds()/packetBits, 1e4)
		}
	}
}

// access lets the next station that has something send. One more than there are stations stands for
// the access point, which takes all ACKs that have come to it at once.
func (c *testCell) access() bool {
	for range 2 * (len(c.stations) + 1) {
		if len(c.turns) == 0 {
			c.turns = c.random.Perm(len(c.stations) + 1)
		}
		next := c.turns[0]
		c.turns = c.turns[1:]
		if next == len(c.stations) {
			if c.acknowledge() {
				return true
			}
			continue
		}
		s := c.stations[next]
		frames := min(s.backlog, s.aggregate)
		if frames == 0 {
			continue
		}
		bits := float64(frames * packetBits)
		c.now += testOverhead + seconds(bits/s.phy)
		c.wireFree = max(c.wireFree, c.now) + seconds(bits/c.wire)
		s.backlog -= frames
		s.flying += frames
		s.acks = append(s.acks, testAck{c.wireFree + s.base, frames})
		return true
	}
	return false
}

// acknowledge is an access of the access point. It reports whether a frame waited.
func (c *testCell) acknowledge() (some bool) {
	now := c.now
	for _, s := range c.stations {
		for len(s.acks) > 0 && s.acks[0].at <= now {
			s.flying -= s.acks[0].frames
			s.acked += s.acks[0].frames
			s.acks = s.acks[1:]
			if !some {
				some = true
				c.now += testOverhead
			}
		}
	}
	return some
}

func seconds(s float64) time.Duration { return time.Duration(s * float64(time.Second)) }

// least returns the smallest round-trip time that the station assumes.
func (s *testStation) least() time.Duration { return cmp.Or(s.known, s.base) + time.Millisecond }

func source(i int) netip.AddrPort {
	return netip.AddrPortFrom(netip.AddrFrom4([4]byte{10, 0, byte(i >> 8), byte(i)}), 1)
}

// reports returns the reports of all stations on the time since their last report.
func (c *testCell) reports(since time.Duration) (all []Terminal) {
	for i, s := range c.stations {
		t := Terminal{
			Source: source(i), Max: s.alone(), Rate: float64(s.acked*packetBits) / since.Seconds(),
			Demand: allocate.Unlimited, MinRTT: s.least(),
		}
		if s.away {
			t.Demand = 0
		}
		if s.demand > 0 {
			t.Demand = 1.25 * s.demand
		}
		if t.Rate > 0 {
			t.RTT = seconds(float64((s.backlog+s.flying)*packetBits) / t.Rate)
		}
		s.acked = 0
		all = append(all, t)
	}
	return all
}

// run lets the stations control themselves for a time and tells what each delivered in each tenth
// of a second.
func (c *testCell) run(length time.Duration) (rates [][]float64) {
	const period = 100 * time.Millisecond
	heard := c.reports(period)
	for end := c.now + length; c.now < end; {
		c.until(c.now + period)
		fresh := c.reports(period)
		row := make([]float64, len(fresh))
		for i, s := range c.stations {
			// Reports of others are a period old, and sometimes lost.
			known := slices.Clone(heard)
			known[i] = fresh[i]
			d, err := s.control.Step(c.now, i, known)
			if err != nil {
				panic(err)
			}
			s.decision = d
			window := d.Window(1, s.least()) / 1500
			if d.Whole {
				window = WholeAggregates(window)
			}
			s.window = max(int(window), 4)
			row[i] = fresh[i].Rate
		}
		for i := range heard {
			if c.random.Float64() < 0.9 {
				heard[i] = fresh[i]
			}
		}
		rates = append(rates, row)
	}
	return rates
}

// mean returns each station's mean delivery in the last rows.
func mean(rates [][]float64, last int) []float64 {
	m := make([]float64, len(rates[0]))
	for _, row := range rates[len(rates)-last:] {
		for i, x := range row {
			m[i] += x / float64(last)
		}
	}
	return m
}

package path

import (
	"math"
	"math/rand/v2"
	"testing"

	"airtide/internal/cell/queue"
)

// far records the packets that arrive at the other end of a path, and those that do not.
type far struct {
	arrived []arrival
	dropped []arrival
	places  [queue.NumPlaces]int
}

type arrival struct {
	packet *queue.Packet
	atNs   int64
}

func (f *far) callbacks() Callbacks {
	return Callbacks{
		Deliver: func(p *queue.Packet, atNs int64) { f.arrived = append(f.arrived, arrival{p, atNs}) },
		Drop: func(p *queue.Packet, at queue.Place, atNs int64) {
			f.dropped = append(f.dropped, arrival{p, atNs})
			f.places[at]++
		},
		Copy: func(p *queue.Packet) *queue.Packet {
			c := *p
			return &c
		},
	}
}

func newPath(t testing.TB, c Config) (*Path, *far) {
	t.Helper()
	f := &far{}
	p, err := New(c, rand.NewPCG(1, 2), f.callbacks())
	if err != nil {
		t.Fatal(err)
	}
	return p, f
}

// drain advances a path from event to event until nothing is under way, as an engine does.
func drain(t testing.TB, p *Path) {
	t.Helper()
	last := int64(math.MinInt64)
	for next := p.Next(); next != math.MaxInt64; next = p.Next() {
		if next < last {
			t.Fatalf("the next event is at %d ns, after one at %d ns", next, last)
		}
		last = next
		p.Advance(next)
	}
	if n := p.UnderWay(); n != 0 {
		t.Fatalf("%d packets are under way and have no event", n)
	}
}

func near(got, want, tolerance float64) bool { return math.Abs(got-want) <= tolerance*math.Abs(want) }

// saturate keeps the queue of a wire full for a time and gives the payload's rate in bit/s behind
// it.
func saturate(t *testing.T, rateBps int64, ipLength, payload int, durationNs int64) float64 {
	t.Helper()
	arrived := int64(0)
	p, err := New(Config{
		Wire: Wire{RateBps: rateBps, Limit: queue.Limit{Packets: 100}}, Lines: make([]Line, 1),
	}, rand.NewPCG(1, 2),
		Callbacks{
			Deliver: func(*queue.Packet, int64) { arrived++ },
			Drop:    func(*queue.Packet, queue.Place, int64) { t.Fatal("a packet was dropped") },
		})
	if err != nil {
		t.Fatal(err)
	}
	packet := &queue.Packet{Length: ipLength}
	for range 50 {
		p.Push(packet, 0)
	}
	for next := p.Next(); next <= durationNs; next = p.Next() {
		p.Advance(next)
		p.Push(packet, next)
	}
	return float64(arrived) * float64(payload) * 8e9 / float64(durationNs)
}

func TestWireRateIsEthernets(t *testing.T) {
	for _, c := range []struct {
		name              string
		rateBps           int64
		ipLength, payload int
		wantBps           float64
	}{
		{"100BASE-TX, whole frames", 100e6, 1500, 1538, 100e6},
		{"100BASE-TX, TCP with timestamps", 100e6, 1500, 1448, 100e6 * 1448 / 1538},
		{"100BASE-TX, UDP of 1470 bytes", 100e6, 1498, 1470, 100e6 * 1470 / 1536},
		{"100BASE-TX, UDP of 1472 bytes", 100e6, 1500, 1472, 100e6 * 1472 / 1538},
		{"100BASE-TX, acknowledgements", 100e6, 52, 52, 100e6 * 52 / 90},
		{"100BASE-TX, padded frames", 100e6, 40, 40, 100e6 * 40 / 84},
		{"1000BASE-T", 1e9, 1500, 1448, 1e9 * 1448 / 1538},
		{"10GBASE-T, where a frame is no whole number of ns", 10e9, 1500, 1448, 10e9 * 1448 / 1538},
		{"a rate that divides nothing", 99_999_989, 1500, 1538, 99_999_989},
	} {
		if got := saturate(t, c.rateBps, c.ipLength, c.payload, 2e9); !near(got, c.wantBps, 1e-4) {
			t.Errorf("%s: %.4f Mbit/s, want %.4f", c.name, got/1e6, c.wantBps/1e6)
		}
	}
}

// Osugi 2012, table 3: iperf between a BeagleBoard and a PC over 100 Mbit/s Ethernet, the mean of
// both directions.
func TestWireRateIsWhatWasMeasured(t *testing.T) {
	for _, c := range []struct {
		name              string
		ipLength, payload int
		measured          float64
	}{
		{"TCP", 1500, 1448, 94.1},
		{"UDP, 1470 bytes", 1498, 1470, 95.7},
	} {
		if got := saturate(t, 100e6, c.ipLength, c.payload, 2e9) / 1e6; !near(got, c.measured, 0.003) {
			t.Errorf("%s: %.2f Mbit/s, measured %.1f", c.name, got, c.measured)
		}
	}
}

func TestRoundingDoesNotAddUp(t *testing.T) {
	p, f := newPath(t, Config{Wire: Wire{RateBps: 10e9}, Lines: make([]Line, 1)})
	const packets = 100000
	for range packets {
		p.Push(&queue.Packet{Length: 1500}, 0)
	}
	drain(t, p)
	// 1230.4 ns each; the last one's gap is not waited for.
	want := int64(packets*12304/10 - gapBytes*8/10)
	if got := f.arrived[packets-1].atNs; got < want-1 || got > want+1 {
		t.Errorf("the last packet arrived at %d ns, want %d", got, want)
	}
}

func TestTerminalsShareTheWireInOrder(t *testing.T) {
	p, f := newPath(t, Config{Wire: Wire{RateBps: 100e6}, Lines: make([]Line, 3)})
	for i := range 30 {
		p.Push(&queue.Packet{Station: i % 3, Length: 1500}, 0)
	}
	drain(t, p)
	for i, a := range f.arrived {
		// Preamble to FCS are 1526 byte times of 80 ns; a frame begins each 1538.
		if want := int64(i*1538*80 + 1526*80); a.packet.Station != i%3 || a.atNs != want {
			t.Errorf("arrival %d: station %d at %d ns, want %d at %d", i, a.packet.Station, a.atNs, i%3, want)
		}
	}
}

func TestWireQueueHoldsItsLimit(t *testing.T) {
	for _, c := range []struct {
		name  string
		limit queue.Limit
		taken int
	}{
		{"packets", queue.Limit{Packets: 10}, 11}, // and the one on the wire
		{"bytes", queue.Limit{Bytes: 7000}, 8},
		{"none", queue.Limit{}, 100},
	} {
		p, f := newPath(t, Config{Wire: Wire{RateBps: 100e6, Limit: c.limit}, Lines: make([]Line, 1)})
		for range 100 {
			p.Push(&queue.Packet{Length: 1000}, 5)
		}
		if got := 100 - len(f.dropped); got != c.taken || f.places[queue.PlaceWireQueue] != len(f.dropped) {
			t.Errorf("%s: %d taken, want %d", c.name, got, c.taken)
		}
		if got, want := p.WireStatistics().Length.Max(), int64(c.taken-1); got != want {
			t.Errorf("%s: %d waited, want %d", c.name, got, want)
		}
		// One frame later there is room for one more.
		before := len(f.dropped)
		frameNs := int64(EthernetBytes(1000)) * 80
		p.Push(&queue.Packet{Length: 1000}, 5+frameNs)
		p.Push(&queue.Packet{Length: 1000}, 5+frameNs)
		if got := 2 - (len(f.dropped) - before); c.limit != (queue.Limit{}) && got != 1 {
			t.Errorf("%s: %d taken a frame later, want 1", c.name, got)
		}
		drain(t, p)
		s := p.WireStatistics()
		if s.Pushed != s.Popped+s.Dropped || s.Popped != int64(len(f.arrived)) || s.Length.Value() != 0 {
			t.Errorf("%s: %d pushed, %d popped, %d dropped, %d wait", c.name, s.Pushed, s.Popped, s.Dropped,
				s.Length.Value())
		}
	}
}

func TestWireStatisticsAreThoseOfItsQueue(t *testing.T) {
	p, _ := newPath(t, Config{Wire: Wire{RateBps: 100e6}, Lines: make([]Line, 1)})
	for range 4 {
		p.Push(&queue.Packet{Length: 1500}, 0)
	}
	const frameNs = 1538 * 80
	p.Advance(4 * frameNs)
	s := p.WireStatistics()
	// 3, 2, 1 and 0 wait.
	if got := s.Length.Mean(4 * frameNs); got != 1.5 {
		t.Errorf("mean length %v, want 1.5", got)
	}
	if s.Sojourn.Min() != 0 || s.Sojourn.Max() != 3*frameNs || s.Sojourn.Mean() != 1.5*frameNs {
		t.Errorf("sojourn %d to %d, mean %v", s.Sojourn.Min(), s.Sojourn.Max(), s.Sojourn.Mean())
	}
}

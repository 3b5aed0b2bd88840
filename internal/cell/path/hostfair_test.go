package path

import (
	"math/rand/v2"
	"testing"

	"airtide/internal/cell/queue"
)

// offer pushes packets of a host's flows at a constant rate that is beyond the wire's.
func offer(p *Path, host, flows, length int, everyNs, fromNs, toNs int64) []func() {
	var all []func()
	for at, i := fromNs, 0; at < toNs; at, i = at+everyNs, i+1 {
		packet := &queue.Packet{Length: length, Station: host, Flow: uint32(1000*host + i%flows)}
		all = append(all, func() {
			p.Advance(at)
			p.Push(packet, at)
		})
	}
	return all
}

// bytesOf are the bytes that arrived from each host until a time.
func (f *far) bytesOf(hosts int, untilNs int64) []int {
	bytes := make([]int, hosts)
	for _, a := range f.arrived {
		if a.atNs > untilNs {
			break
		}
		bytes[a.packet.Station] += a.packet.Length
	}
	return bytes
}

func TestHostsHaveEqualTimeOnTheWire(t *testing.T) {
	p, f := newPath(t, Config{
		Wire: Wire{RateBps: 100e6, Limit: queue.Limit{Packets: 1000}, HostFair: true}, Lines: make([]Line, 2),
	})
	one := offer(p, 0, 1, 1500, 100_000, 0, 2e9)   // 120 Mbit/s in one flow
	many := offer(p, 1, 16, 1500, 100_000, 0, 2e9) // as much in 16
	for i := range one {
		one[i]()
		many[i]()
	}
	drain(t, p)
	bytes := f.bytesOf(2, 2e9)
	if !near(float64(bytes[0]), float64(bytes[1]), 0.02) {
		t.Errorf("one flow has %d bytes, 16 flows of another host have %d", bytes[0], bytes[1])
	}
	if c := p.Counters(0); c.Pushed != c.Delivered+c.QueueDropped {
		t.Errorf("packets are lost: %+v", c)
	}
}

func TestSmallPacketsAreNoDisadvantage(t *testing.T) {
	p, f := newPath(t, Config{
		Wire: Wire{RateBps: 100e6, Limit: queue.Limit{Packets: 1000}, HostFair: true}, Lines: make([]Line, 2),
	})
	large := offer(p, 0, 1, 1500, 100_000, 0, 2e9)
	small := offer(p, 1, 1, 500, 30_000, 0, 2e9) // 133 Mbit/s
	for i, j := 0, 0; i < len(large); i++ {
		for ; j < len(small) && int64(j)*30_000 <= int64(i)*100_000; j++ {
			small[j]()
		}
		large[i]()
	}
	drain(t, p)
	bytes := f.bytesOf(2, 2e9)
	want := float64(EthernetBytes(1500)*500) / float64(EthernetBytes(500)*1500) // of equal time
	if got := float64(bytes[1]) / float64(bytes[0]); !near(got, want, 0.05) {
		t.Errorf("small packets have %g of the bytes of large ones, want %g", got, want)
	}
}

func TestBelowTheRateHostFairIsAFIFO(t *testing.T) {
	var arrived [2][]arrival
	for i, fair := range []bool{false, true} {
		p, f := newPath(t, Config{Wire: Wire{RateBps: 100e6, HostFair: fair}, Lines: make([]Line, 3)})
		random := rand.New(rand.NewPCG(3, 4))
		at := int64(0)
		for range 1000 {
			at += 130_000 + random.Int64N(100_000)
			p.Advance(at)
			p.Push(&queue.Packet{Length: 60 + random.IntN(1440), Station: random.IntN(3)}, at)
		}
		drain(t, p)
		arrived[i] = f.arrived
	}
	for i := range arrived[0] {
		if a, b := arrived[0][i], arrived[1][i]; a.atNs != b.atNs || a.packet.Length != b.packet.Length {
			t.Fatalf("packet %d arrives at %d ns, by a FIFO at %d ns", i, b.atNs, a.atNs)
		}
	}
}

func TestARateThatChangesHoldsForHostsToo(t *testing.T) {
	slow := Wire{RateBps: 10e6, HostFair: true}
	c := Config{
		Wire: Wire{RateBps: 100e6, HostFair: true}, Lines: make([]Line, 1),
		Schedule: []Change{{AtNs: 1e9, Wire: &slow}},
	}
	p, f := newPath(t, c)
	for _, push := range offer(p, 0, 1, 1500, 100_000, 0, 2e9) {
		push()
	}
	p.Advance(2e9)
	before := 0
	after := 0
	for _, a := range f.arrived {
		if a.atNs <= 1e9 {
			before++
		} else {
			after++
		}
	}
	if !near(float64(before), 10*float64(after), 0.02) {
		t.Errorf("%d packets in the first second, %d in the second with a tenth of the rate", before, after)
	}
	slow.HostFair = false
	if err := c.Validate(); err == nil {
		t.Error("a change of the discipline in mid-run is taken")
	}
}

package cell

import (
	"bytes"
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"airtide/internal/cell/medium"
	"airtide/internal/cell/path"
	"airtide/internal/cell/queue"
)

func TestPacketsTakeTheWayTheirEndsSay(t *testing.T) {
	line := func(ms int64) []LineStep { return []LineStep{{0, path.Line{DelayNs: ms * 1e6}}} }
	c := gigabit(
		Terminal{Name: "wired", Up: line(10), Down: line(20)},
		Terminal{Name: "one", Radio: ac867(), Up: line(100), Down: line(200)},
		Terminal{Name: "two", Radio: ac867(), Up: line(100), Down: line(200)},
	)
	const one, two, wired = 0, 1, 2 // radios have the first numbers
	for _, way := range []struct {
		from, to     int
		ms           int64
		up, down     int64 // times over the medium
		wireUp, wire int64
	}{
		{one, toServer, 100, 1, 0, 1, 0},
		{toServer, two, 200, 0, 1, 0, 1},
		{one, two, 0, 1, 1, 0, 0},
		{wired, toServer, 10, 0, 0, 1, 0},
		{toServer, wired, 20, 0, 0, 0, 1},
		{wired, two, 210, 0, 1, 1, 1},
		{one, wired, 120, 1, 0, 1, 1},
	} {
		t.Run(fmt.Sprint(way.from, " to ", way.to), func(t *testing.T) {
			d := newDriver(t, c)
			d.send(way.from, way.to, 1000)
			// A wire takes 8.3 us more, and the medium some 150 with contention.
			d.run(way.ms*1e6 + 8e3)
			if d.status().UnderWay != 1 {
				t.Errorf("it arrived before %d ms", way.ms)
			}
			d.run(way.ms*1e6 + 500e3)
			to := way.to
			if to == toServer {
				to = 3
			}
			if d.delivered[to] != 1 {
				t.Fatalf("it has not arrived after %d ms", way.ms)
			}
			s := d.status()
			var up, down int64
			for _, terminal := range s.Terminals {
				up += terminal.Up.DeliveredPackets
				down += terminal.Down.DeliveredPackets
			}
			if up != way.up || down != way.down || s.WireUp.Queue.Popped != way.wireUp ||
				s.WireDown.Queue.Popped != way.wire {
				t.Errorf("over the medium %d up, %d down, over the wire %d up, %d down; want %d, %d, %d, %d", up, down,
					s.WireUp.Queue.Popped, s.WireDown.Queue.Popped, way.up, way.down, way.wireUp, way.wire)
			}
		})
	}
}

// anyConfig is a cell made by chance, with losses of every kind.
func anyConfig(r *rand.Rand) Config {
	phys := []medium.PHY{
		must(medium.AtRate(medium.Std11ac, 80, 2, 866.7)), must(medium.AtRate(medium.Std11n, 20, 1, 65)),
		must(medium.AtRate(medium.Std11a, 0, 0, 54)), must(medium.AtRate(medium.Std11ac, 20, 1, 6.5)),
	}
	line := func() []LineStep {
		l := path.Line{
			DelayNs: r.Int64N(20e6), Jitter: path.Jitter{Ns: r.Int64N(5e6), MayReorder: r.IntN(2) == 0},
			Loss: path.Loss{Random: r.Float64() * 0.02}, Reorder: path.Reorder{Share: r.Float64() * 0.05},
			Duplicate: r.Float64() * 0.05,
		}
		return []LineStep{{0, l}, {150e6, path.Line{DelayNs: r.Int64N(50e6)}}}
	}
	var terminals []Terminal
	for i := range 2 + r.IntN(6) {
		terminal := Terminal{Name: fmt.Sprint("t", i), Up: line(), Down: line()}
		if i == 0 || r.IntN(4) > 0 {
			p := phys[r.IntN(len(phys))]
			terminal.Radio = radio(p)
			terminal.Radio.QueuePackets = 1 + r.IntN(100)
			terminal.Radio.FrameErrors = r.Float64() * 0.3
			if p.Standard == medium.Std11ac {
				terminal.Radio.PHY = append(terminal.Radio.PHY, PHYStep{100e6, phys[3]})
			}
		}
		terminals = append(terminals, terminal)
	}
	c := gigabit(terminals...)
	c.Seed = r.Uint64()
	c.AP.Discipline = []Discipline{FIFO, FIFOPerStation, FQCoDel, AirtimeFair}[r.IntN(4)]
	c.AP.Limit.Packets = 20 + r.IntN(300)
	c.AP.AckThinning = r.IntN(2) == 0
	c.WireUp = []WireStep{
		{0, path.Wire{RateBps: 1e8, Limit: queue.Limit{Packets: 100}}},
		{200e6, path.Wire{RateBps: 1e7, Limit: queue.Limit{Packets: 100}}},
	}
	return c
}

// play runs such a cell with traffic in all directions.
func play(t testing.TB, seed uint64) *driver {
	r := rand.New(rand.NewPCG(seed, 1))
	c := anyConfig(r)
	d := newDriver(t, c)
	n := len(c.Terminals)
	for station := range n {
		d.down = append(d.down, station)
	}
	d.downNs = 50e3 + r.Int64N(1e6)
	d.w.Begin(0)
	for d.nowNs < 400e6 {
		for range r.IntN(50) {
			from := r.IntN(n)
			to := r.IntN(n+1) - 1
			if to != from {
				d.send(from, to, 40+r.IntN(1461))
			}
		}
		d.run(d.nowNs + r.Int64N(5e6))
	}
	return d
}

func TestNoPacketIsLostUncounted(t *testing.T) {
	for seed := range uint64(40) {
		d := play(t, seed)
		d.conserved()
		// All packets that entered leave the cell.
		d.down = nil
		d.run(d.nowNs + 60e9)
		d.conserved()
		if left := d.status().UnderWay; left != 0 {
			t.Errorf("seed %d: %d packets are under way for ever", seed, left)
		}
		var drops int64
		s := d.status()
		var downs RadioCounts
		for _, terminal := range s.Terminals {
			drops += terminal.Drops.Total()
			downs.AirtimeNs += terminal.Down.AirtimeNs
			downs.TXOPs += terminal.Down.TXOPs
			downs.BlockAckRequests += terminal.Down.BlockAckRequests
			downs.PPDUs += terminal.Down.PPDUs
			downs.Collisions += terminal.Down.Collisions
			downs.Frames += terminal.Down.Frames
			downs.Retries += terminal.Down.Retries
			downs.FrameErrors += terminal.Down.FrameErrors
			downs.GivenUp += terminal.Down.GivenUp
			for frames, n := range terminal.Down.Sizes {
				downs.Sizes[frames] += n
			}
			downs.DeliveredPackets += terminal.Down.DeliveredPackets
			downs.DeliveredBytes += terminal.Down.DeliveredBytes
		}
		ap := s.AP.Radio
		ap.Backlog = Area{}
		ap.Sojourn = queue.Histogram{}
		if ap != downs {
			t.Errorf("seed %d: the access point's transmissions are %s, the sum of those to each terminal %s", seed,
				must(json.Marshal(ap)), must(json.Marshal(downs)))
		}
		if s.BusyNs < ap.AirtimeNs || s.BusyNs > s.TimeNs || s.BusyNs == 0 && downs.PPDUs > 0 {
			t.Errorf("seed %d: the medium was busy for %d of %d ns, the access point sent for %d", seed, s.BusyNs,
				s.TimeNs, ap.AirtimeNs)
		}
		if drops != d.dropped {
			t.Errorf("seed %d: %d packets were dropped, the terminals' drops are %d", seed, d.dropped, drops)
		}
	}
}

func TestTheSameSeedGivesTheSameRun(t *testing.T) {
	differ := false
	for seed := range uint64(10) {
		a := play(t, seed)
		b := play(t, seed)
		if a.digest != b.digest || a.pushed != b.pushed {
			t.Errorf("seed %d gave two runs", seed)
		}
		differ = differ || a.digest != play(t, seed+100).digest
	}
	if !differ {
		t.Error("different seeds gave the same runs")
	}
}

func TestSchedulesCountFromBegin(t *testing.T) {
	fast := must(medium.AtRate(medium.Std11ac, 80, 2, 866.7))
	slow := must(medium.AtRate(medium.Std11ac, 20, 1, 65))
	terminal := Terminal{Name: "one", Radio: radio(fast)}
	terminal.Radio.PHY = append(terminal.Radio.PHY, PHYStep{2e9, slow})
	terminal.Up = []LineStep{{0, path.Line{}}, {1e9, path.Line{DelayNs: 30e6}}}
	c := gigabit(terminal)
	c.WireDown = []WireStep{{0, path.Wire{RateBps: 1e9}}, {3e9, path.Wire{RateBps: 1e6}}}
	d := newDriver(t, c)
	d.run(10e9)
	d.w.Begin(d.nowNs)
	upNs := func() int64 {
		began := d.nowNs
		before := d.delivered[1]
		d.send(0, toServer, 1000)
		for d.delivered[1] == before {
			d.run(d.w.Next())
		}
		return d.nowNs - began
	}
	if got := upNs(); got > 1e6 {
		t.Errorf("before its first step the line took %d ns", got)
	}
	d.run(11.5e9)
	if got := upNs(); got < 30e6 || got > 31e6 {
		t.Errorf("after its step the line took %d ns, want 30 ms", got)
	}
	if got := d.status().Terminals[0].PHYRateBps; got != fast.RateBps {
		t.Errorf("PHY rate of %d bit/s before its step", got)
	}
	d.run(12e9)
	if got := d.status().Terminals[0].PHYRateBps; got != slow.RateBps {
		t.Errorf("PHY rate of %d bit/s after its step, want %d", got, slow.RateBps)
	}
	if s := d.status(); s.WireDown.RateBps != 1e9 || s.TimeNs != 2e9 {
		t.Errorf("2 s after Begin: time %d, wire of %d bit/s", s.TimeNs, s.WireDown.RateBps)
	}
	d.run(13e9)
	if s := d.status(); s.WireDown.RateBps != 1e6 {
		t.Errorf("wire of %d bit/s after its step", s.WireDown.RateBps)
	}
}

func TestWhatIsWarmDoesNotAllocate(t *testing.T) {
	c := gigabit(Terminal{Name: "a", Radio: ac867()}, Terminal{Name: "b", Radio: ac867()}, Terminal{Name: "c"})
	d := newDriver(t, c)
	d.saturated[0] = toServer
	d.saturated[1] = 0
	d.down = []int{0, 1, 2}
	d.downNs = 20e3
	d.run(1e9)
	if n := testing.AllocsPerRun(100, func() { d.run(d.nowNs + 1e6) }); n > 0 {
		t.Errorf("%g allocations in each millisecond", n)
	}
}

// TestAWindowKnowsItsOwnExtremes: what was longer before counts no more.
func TestAWindowKnowsItsOwnExtremes(t *testing.T) {
	d := newDriver(t, gigabit(Terminal{Name: "one", Radio: ac867()}))
	d.w.Begin(0)
	bursts := func(packets int) (RadioWindow, QueueWindow) {
		from := d.status()
		for range 20 {
			for range packets {
				d.send(0, toServer, udpPacket)
			}
			d.run(d.nowNs + 20e6)
		}
		one := Between(from, d.status()).Terminals[0]
		return one.Up, one.Queue
	}
	if up, q := bursts(200); up.AggregationMax != 64 || up.AggregationMedian != 64 ||
		q.MaxPackets < 190 || q.MaxPackets > 200 || q.P95Packets >= q.MaxPackets {
		t.Errorf("bursts of 200 packets: %+v, %+v", up, q)
	}
	if up, q := bursts(10); up.AggregationMax < 5 || up.AggregationMax > 10 ||
		up.AggregationP95 > up.AggregationMax || q.MaxPackets < 5 || q.MaxPackets > 10 || q.P95Packets > 1 {
		t.Errorf("bursts of 10 packets: %+v, %+v", up, q)
	}
}

func TestAStatusSurvivesItsJSON(t *testing.T) {
	s := play(t, 3).status()
	var read Status
	if err := json.Unmarshal(must(json.Marshal(s)), &read); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(must(json.Marshal(s)), must(json.Marshal(&read))) {
		t.Error("it is another one")
	}
	if got := read.AP.Radio.Sizes; got == (Sizes{}) || got != s.AP.Radio.Sizes {
		t.Errorf("%v became %v", s.AP.Radio.Sizes, got)
	}
	if got := read.AP.Queue.Lengths; got.Max() == 0 || got != s.AP.Queue.Lengths {
		t.Errorf("%v became %v", s.AP.Queue.Lengths, got)
	}
	for _, text := range []string{`{"-1": 2}`, `{"257": 2}`, `[1]`} {
		if json.Unmarshal([]byte(text), &Sizes{}) == nil {
			t.Errorf("%s was taken for numbers of frames", text)
		}
	}
}

func TestStatusOfOneTerminalAlone(t *testing.T) {
	c := gigabit(Terminal{Name: "one", Radio: ac867()})
	d := newDriver(t, c)
	d.saturated[0] = toServer
	d.run(1e9)
	d.w.Begin(d.nowNs)
	from := d.status()
	before := d.delivered[1]
	d.run(3e9)
	to := d.status()
	w := Between(from, to)
	one := w.Terminals[0]
	got := float64(d.delivered[1]-before) * udpPacket * 8 / 2e9 * 1e3
	for _, v := range []struct {
		what              string
		is, least, atMost float64
	}{
		{"rate, Mbit/s", one.Up.RateMbps, got * 0.999, got * 1.001},
		{"rate of the wire, Mbit/s", w.WireUp.RateMbps, got * 0.999, got * 1.001},
		{"airtime, %", one.AirtimePercent, 83, 88}, // the reference has 80 for A-MPDUs of 42 frames
		{"aggregation", one.Up.AggregationFrames, 60, 64},
		{"its median", float64(one.Up.AggregationMedian), 64, 64},
		{"its 95th percentile", float64(one.Up.AggregationP95), 64, 64},
		{"its most", float64(one.Up.AggregationMax), 64, 64},
		{"collisions, %", one.Up.CollisionsPercent, 0, 0},
		{"queue", one.Queue.MeanPackets, 490, 500},
		{"its 95th percentile", float64(one.Queue.P95Packets), 496, 500},
		{"its longest", float64(one.Queue.MaxPackets), 500, 500},
		{"access point's queue", float64(w.AP.Queue.MaxPackets), 0, 0},
		// Little's law: the mean stay is the mean length by the rate.
		{
			"sojourn, ms", one.Queue.Sojourn.MeanMs, one.Queue.MeanPackets / (got / 8 / udpPacket * 1e3) * 0.98,
			one.Queue.MeanPackets / (got / 8 / udpPacket * 1e3) * 1.02,
		},
		{"access point's airtime", w.AP.Radio.AirtimePercent, 0, 0},
	} {
		if v.is < v.least || v.is > v.atMost || math.IsNaN(v.is) {
			t.Errorf("%s: %g, want %g to %g", v.what, v.is, v.least, v.atMost)
		}
	}
	if w.FromNs != 0 || w.ToNs != 2e9 {
		t.Errorf("the window is from %d to %d", w.FromNs, w.ToNs)
	}
}

// TestWhoWaitsLessGetsMore holds each of a radio's values of access against the standard's own at a
// second station, and basic rates against none.
func TestWhoWaitsLessGetsMore(t *testing.T) {
	for _, c := range []struct {
		name   string
		access Access
		less   bool // less than the other gets
	}{
		{"AIFSN", Access{AIFSN: 9}, true},
		{"first window", Access{CWMin: 3}, false},
		{"last window", Access{CWMin: 7, CWMax: 7}, false},
		{"category", Access{Category: medium.Background}, true},
	} {
		config := gigabit(
			Terminal{Name: "a", Radio: radio(must(medium.Legacy(medium.Std11a, 54)))},
			Terminal{Name: "b", Radio: radio(must(medium.Legacy(medium.Std11a, 54)))},
		)
		config.Terminals[0].Radio.Access = c.access
		w := saturatedUp(t, config)
		if a, b := w.Terminals[0].Up.RateMbps, w.Terminals[1].Up.RateMbps; c.less && a > 0.8*b || !c.less && b > 0.8*a {
			t.Errorf("%s: %.1f Mbit/s beside %.1f", c.name, a, b)
		}
	}
	alone := gigabit(Terminal{Name: "a", Radio: radio(must(medium.Legacy(medium.Std11a, 54)))})
	usual := saturatedUp(t, alone).Terminals[0].Up.RateMbps
	alone.BasicRatesKbps = []int{6000}
	if slow := saturatedUp(t, alone).Terminals[0].Up.RateMbps; slow > 0.97*usual {
		t.Errorf("with answers at 6 Mbit/s %.1f Mbit/s, at 24 %.1f", slow, usual)
	}
}

// saturatedUp is a second of a cell whose terminals all have something to send.
func saturatedUp(t *testing.T, c Config) *Window {
	t.Helper()
	d := newDriver(t, c)
	for i := range c.Terminals {
		d.saturated[i] = toServer
	}
	d.w.Begin(d.nowNs)
	from := d.status()
	d.run(1e9)
	return Between(from, d.status())
}

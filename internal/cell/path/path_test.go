package path

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"airtide/internal/cell/queue"
)

func TestADelayChangesMidRunAndKeepsTheOrder(t *testing.T) {
	const changeNs = 500e6
	for _, c := range []struct {
		name           string
		beforeNs, toNs int64
	}{
		{"longer", 32e6, 128e6},
		{"shorter", 128e6, 32e6},
	} {
		p, f := newPath(t, Config{
			Lines:    []Line{{DelayNs: c.beforeNs}, {DelayNs: c.beforeNs}},
			Schedule: []Change{{AtNs: changeNs, Station: 1, Line: &Line{DelayNs: c.toNs}}},
		})
		for nowNs := int64(0); nowNs < 1e9; nowNs += 1e6 {
			p.Advance(nowNs)
			for s := range 2 {
				p.Push(&queue.Packet{Station: s, Length: 100}, nowNs)
			}
		}
		drain(t, p)
		last := [2]int64{-1, -1}
		for _, a := range f.arrived {
			s := a.packet.Station
			enteredNs := a.packet.EnteredNs
			if enteredNs <= last[s] {
				t.Fatalf("%s: a packet was overtaken", c.name)
			}
			last[s] = enteredNs
			wantNs := c.beforeNs
			if s == 1 && enteredNs >= changeNs {
				wantNs = c.toNs
				// None arrives before those that entered before the change.
				wantNs = max(wantNs, changeNs-1e6+c.beforeNs-enteredNs)
			}
			if got := a.atNs - enteredNs; got != wantNs {
				t.Fatalf("%s: terminal %d, entered at %d ms: delay %d ns, want %d", c.name, s, enteredNs/1e6, got,
					wantNs)
			}
		}
	}
}

func TestAShortenedDelayMayReorderWhereTheLineMay(t *testing.T) {
	jitter := Jitter{Ns: 1, MayReorder: true}
	p, f := newPath(t, Config{
		Lines:    []Line{{DelayNs: 100e6}},
		Schedule: []Change{{AtNs: 50e6, Line: &Line{DelayNs: 10e6, Jitter: jitter}}},
	})
	for i := range 100 {
		p.Push(&queue.Packet{Length: 100, Flow: uint32(i)}, int64(i)*1e6)
	}
	drain(t, p)
	if first := f.arrived[0]; first.packet.Flow != 50 || len(f.arrived) != 100 {
		t.Errorf("packet %d arrived first at %d ns", first.packet.Flow, first.atNs)
	}
}

func TestARateChangesMidRunForThoseThatWait(t *testing.T) {
	const frame = 1538 * 8 // bits
	for _, c := range []struct {
		name     string
		from, to int64
	}{
		{"faster", 100e6, 1e9},
		{"slower", 1e9, 100e6},
		{"to a wire that takes no time", 100e6, 0},
	} {
		fromNs := frame * 1_000_000_000 / c.from
		toNs := int64(0)
		gapNs := int64(0)
		if c.to > 0 {
			toNs = frame * 1_000_000_000 / c.to
			gapNs = gapBytes * 8 * 1_000_000_000 / c.to
		}
		// The change falls into the fourth frame.
		p, f := newPath(t, Config{
			Wire: Wire{RateBps: c.from}, Lines: []Line{{DelayNs: 7e6}, {}},
			Schedule: []Change{{AtNs: 3*fromNs + 10, Wire: &Wire{RateBps: c.to}}},
		})
		for i := range 10 {
			p.Push(&queue.Packet{Length: 1500, Flow: uint32(i), Station: i % 2}, 0)
		}
		drain(t, p)
		slices.SortFunc(f.arrived, func(a, b arrival) int { return int(a.packet.Flow) - int(b.packet.Flow) })
		for i, a := range f.arrived {
			want := int64(i+1)*fromNs - gapBytes*8*1_000_000_000/c.from
			if i >= 4 {
				want = 4*fromNs + int64(i-3)*toNs - gapNs
			}
			if i%2 == 0 {
				want += 7e6
			}
			if a.atNs != want {
				t.Errorf("%s: packet %d arrived at %d ns, want %d", c.name, i, a.atNs, want)
			}
		}
		if s := p.WireStatistics(); s.Sojourn.Max() != 4*fromNs+5*toNs || s.Popped != 10 {
			t.Errorf("%s: %d packets waited up to %d ns, want %d", c.name, s.Popped, s.Sojourn.Max(), 4*fromNs+5*toNs)
		}
	}
}

func TestChangesAreMadeInTimeWhetherPushedOrAdvanced(t *testing.T) {
	config := func() Config {
		return Config{
			Wire: Wire{RateBps: 10e6}, Lines: []Line{{DelayNs: 5e6}},
			Schedule: []Change{
				{AtNs: 3e6, Wire: &Wire{RateBps: 50e6}},
				{AtNs: 6e6, Line: &Line{DelayNs: 1e6}},
				{AtNs: 9e6, Wire: &Wire{RateBps: 20e6}},
			},
		}
	}
	// One engine looks after each event, another one only now and then.
	diligent, want := newPath(t, config())
	lazy, got := newPath(t, config())
	for nowNs := int64(0); nowNs < 30e6; nowNs += 700e3 {
		for next := diligent.Next(); next <= nowNs; next = diligent.Next() {
			diligent.Advance(next)
		}
		if nowNs%(4*700e3) == 0 {
			lazy.Advance(nowNs)
		}
		diligent.Push(&queue.Packet{Length: 1500}, nowNs)
		lazy.Push(&queue.Packet{Length: 1500}, nowNs)
	}
	drain(t, diligent)
	lazy.Advance(math.MaxInt64)
	if len(want.arrived) != len(got.arrived) {
		t.Fatalf("%d and %d arrived", len(want.arrived), len(got.arrived))
	}
	for i := range want.arrived {
		if want.arrived[i].atNs != got.arrived[i].atNs {
			t.Errorf("packet %d arrived at %d ns or at %d ns", i, want.arrived[i].atNs, got.arrived[i].atNs)
		}
	}
}

// everything is a path on which all happens at once.
func everything() Config {
	l := Line{
		DelayNs: 10e6, Jitter: Jitter{Ns: 3e6, MayReorder: true}, Reorder: Reorder{Share: 0.05, Gap: 3},
		Duplicate: 0.02,
		Loss:      Loss{Random: 0.01, Gilbert: GilbertElliott{P: 0.01, R: 0.3, LossBad: 0.9, LossGood: 0.001}},
	}
	ordered := l
	ordered.Jitter.MayReorder = false
	ordered.Jitter.Distribution = Normal
	plain := Line{DelayNs: 2e6}
	return Config{
		Wire: Wire{RateBps: 100e6, Limit: queue.Limit{Packets: 50}}, Lines: []Line{l, ordered, plain},
		Schedule: []Change{
			{AtNs: 100e6, Station: 0, Line: &ordered},
			{AtNs: 200e6, Wire: &Wire{RateBps: 30e6, Limit: queue.Limit{Bytes: 20000}}},
			{AtNs: 300e6, Station: 2, Line: &l},
			{AtNs: 400e6, Wire: &Wire{RateBps: 1e9}},
			{AtNs: 500e6, Station: 0, Line: &plain},
		},
	}
}

// trafficOn sends packets at random times and checks that nothing is lost without a word.
func trafficOn(t *testing.T, c Config, seed uint64) []arrival {
	t.Helper()
	f := &far{}
	p, err := New(c, rand.NewPCG(seed, 3), f.callbacks())
	if err != nil {
		t.Fatal(err)
	}
	random := rand.New(rand.NewPCG(7, 7))
	nowNs := int64(0)
	for i := range 20000 {
		nowNs += random.Int64N(60e3)
		p.Advance(nowNs)
		p.Push(&queue.Packet{Station: random.IntN(3), Length: 40 + random.IntN(1461), Flow: uint32(i)}, nowNs)
		pushed := int64(0)
		gone := int64(0)
		for s := range 3 {
			c := p.Counters(s)
			pushed += c.Pushed + c.Duplicated
			gone += c.Delivered + c.Lost + c.QueueDropped
		}
		if pushed != gone+int64(p.UnderWay()) {
			t.Fatalf("%d pushed, %d gone, %d under way", pushed, gone, p.UnderWay())
		}
	}
	drain(t, p)
	for i := 1; i < len(f.arrived); i++ {
		if f.arrived[i].atNs < f.arrived[i-1].atNs {
			t.Fatal("deliveries are not in order of time")
		}
	}
	if f.places[queue.PlacePath] == 0 || f.places[queue.PlaceWireQueue] == 0 || len(f.arrived) < 10000 {
		t.Fatalf("drops by place %v, %d arrived: the traffic proved nothing", f.places, len(f.arrived))
	}
	return f.arrived
}

func TestTheSameSeedGivesTheSameRun(t *testing.T) {
	same := func(a, b arrival) bool { return a.atNs == b.atNs && a.packet.Flow == b.packet.Flow }
	first := trafficOn(t, everything(), 1)
	if !slices.EqualFunc(first, trafficOn(t, everything(), 1), same) {
		t.Error("two runs with the same seed differ")
	}
	if slices.EqualFunc(first, trafficOn(t, everything(), 2), same) {
		t.Error("two runs with different seeds are the same")
	}
}

func TestATerminalsFateDoesNotDependOnTheOthers(t *testing.T) {
	lost := func(others bool) (of []uint32) {
		l := Line{Loss: Loss{Random: 0.1}}
		p, f := newPath(t, Config{Lines: []Line{l, l}})
		for i := range 1000 {
			if others {
				p.Push(&queue.Packet{Station: 0, Length: 100}, int64(i))
			}
			p.Push(&queue.Packet{Station: 1, Length: 100, Flow: uint32(i)}, int64(i))
		}
		for _, d := range f.dropped {
			if d.packet.Station == 1 {
				of = append(of, d.packet.Flow)
			}
		}
		return of
	}
	if alone := lost(false); len(alone) == 0 || !slices.Equal(alone, lost(true)) {
		t.Errorf("%d packets lost, and others with more traffic beside them", len(alone))
	}
}

func TestThePathDoesNotAllocate(t *testing.T) {
	jittery := Line{
		DelayNs: 10e6, Jitter: Jitter{Ns: 3e6, MayReorder: true}, Reorder: Reorder{Share: 0.1},
		Loss: Loss{Random: 0.01},
	}
	for name, l := range map[string]Line{"constant delay": {DelayNs: 10e6}, "jitter": jittery} {
		p, err := New(Config{
			Wire: Wire{RateBps: 100e6, Limit: queue.Limit{Packets: 100}}, Lines: []Line{l, l},
		}, rand.NewPCG(1, 2),
			Callbacks{Deliver: func(*queue.Packet, int64) {}, Drop: func(*queue.Packet, queue.Place, int64) {}})
		if err != nil {
			t.Fatal(err)
		}
		packets := []*queue.Packet{{Length: 1500}, {Length: 1500, Station: 1}}
		nowNs := int64(0)
		step := func() {
			for i := range 2 {
				p.Push(packets[i], nowNs)
			}
			nowNs += 200e3
			p.Advance(nowNs)
		}
		for range 20000 { // until no queue grows any more
			step()
		}
		if n := testing.AllocsPerRun(10000, step); n != 0 {
			t.Errorf("%s: %v allocations for two packets", name, n)
		}
	}
}

func TestImpossiblePathsAreRefused(t *testing.T) {
	one := []Line{{}}
	for _, c := range []struct {
		config Config
		want   string
	}{
		{Config{Wire: Wire{RateBps: -1}}, "wire's rate of -1 bit/s"},
		{Config{Wire: Wire{RateBps: 2e12}}, "wire's rate of 2000000000000 bit/s"},
		{Config{Wire: Wire{Limit: queue.Limit{Packets: -1}}}, "wire's limit of -1 packets"},
		{Config{Lines: []Line{{}, {DelayNs: -5}}}, "terminal 1: a delay of -5 ns"},
		{Config{Lines: []Line{{Loss: Loss{Random: 1.5}}}}, "terminal 0: random loss of 1.5"},
		{Config{Lines: []Line{{Loss: Loss{Gilbert: GilbertElliott{R: -0.1}}}}}, "Gilbert-Elliott r of -0.1"},
		{Config{Lines: []Line{{Duplicate: math.NaN()}}}, "duplication of NaN"},
		{Config{Lines: []Line{{Reorder: Reorder{Gap: -1}}}}, "reordering gap of -1"},
		{Config{Lines: []Line{{Jitter: Jitter{Distribution: 9}}}}, "distribution 9"},
		{Config{Lines: one, Schedule: []Change{{AtNs: 5}}}, "change 0 of the schedule: changes nothing"},
		{Config{Lines: one, Schedule: []Change{{Line: &Line{}, Station: 1}}}, "terminal 1 does not exist"},
		{
			Config{Lines: one, Schedule: []Change{{AtNs: 5, Line: &Line{}}, {AtNs: 4, Line: &Line{}}}},
			"change 1 of the schedule: 4 ns is before",
		},
	} {
		_, err := New(c.config, rand.NewPCG(1, 2), Callbacks{})
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%+v: error %v, want %q", c.config, err, c.want)
		}
	}
}

func TestHeapGivesTheEarliestFirst(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var h heap
	var want []event
	for n := range uint64(3000) {
		e := event{atNs: random.Int64N(500), number: n}
		if n%3 == 0 {
			want = append(want, e)
			h = append(h, e)
		}
	}
	h.heapify()
	for n := range uint64(3000) {
		e := event{atNs: random.Int64N(500), number: 3000 + n}
		want = append(want, e)
		h.push(e)
	}
	slices.SortFunc(want, func(a, b event) int {
		if a.before(&b) {
			return -1
		}
		return 1
	})
	for i, w := range want {
		if got := h.pop(); got != w {
			t.Fatalf("event %d is %v, want %v", i, got, w)
		}
	}
}

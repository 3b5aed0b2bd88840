package queue

import (
	"fmt"
	"math/rand/v2"
	"testing"
)

const testStations = 5

// disciplines are all access point queues, small enough that random traffic reaches their limits.
var disciplines = []struct {
	name  string
	limit Limit
	// each is the limit of one station's packets, zero when there is none.
	each int
	make func(drop Drop) Thinnable
}{
	{"one FIFO", Limit{Packets: 50}, 0, func(d Drop) Thinnable {
		return NewSharedFIFO(testStations, Limit{Packets: 50}, d)
	}},
	{"one FIFO limited in bytes", Limit{Bytes: 20000}, 0, func(d Drop) Thinnable {
		return NewSharedFIFO(testStations, Limit{Bytes: 20000}, d)
	}},
	{"round robin", Limit{Packets: 50}, 15, func(d Drop) Thinnable {
		return NewRoundRobin(testStations, Limit{Packets: 50}, Limit{Packets: 15}, d)
	}},
	{"FQ-CoDel", Limit{Packets: 50}, 0, func(d Drop) Thinnable {
		return NewFQCoDel(testStations,
			FQCoDelOptions{Limit: Limit{Packets: 50}, Flows: 16, DropBatch: 4, CoDel: eager}, d)
	}},
	{"FQ-CoDel limited in bytes", Limit{Bytes: 20000}, 0, func(d Drop) Thinnable {
		return NewFQCoDel(testStations, FQCoDelOptions{Limit: Limit{Bytes: 20000}, Flows: 64, CoDel: eager}, d)
	}},
	{"airtime FQ-CoDel", Limit{Packets: 50}, 0, func(d Drop) Thinnable {
		return NewAirtimeFQCoDel(testStations, FQCoDelOptions{Limit: Limit{Packets: 50}, Flows: 16, CoDel: eager},
			AirtimeOptions{}, d)
	}},
	{"ACK thinning of one FIFO", Limit{Packets: 50}, 0, func(d Drop) Thinnable {
		return NewAckThinning(testStations, d, func(d Drop) Thinnable {
			return NewSharedFIFO(testStations, Limit{Packets: 50}, d)
		})
	}},
	{"ACK thinning of round robin", Limit{Packets: 50}, 15, func(d Drop) Thinnable {
		return NewAckThinning(testStations, d, func(d Drop) Thinnable {
			return NewRoundRobin(testStations, Limit{Packets: 50}, Limit{Packets: 15}, d)
		})
	}},
	{"ACK thinning of airtime FQ-CoDel", Limit{Packets: 50}, 0, func(d Drop) Thinnable {
		return NewAckThinning(testStations, d, func(d Drop) Thinnable {
			return NewAirtimeFQCoDel(testStations, FQCoDelOptions{Limit: Limit{Packets: 50}, Flows: 16, CoDel: eager},
				AirtimeOptions{}, d)
		})
	}},
}

// eager is a CoDel that drops often.
var eager = CoDel{TargetNs: 1e6, IntervalNs: 5e6, MTU: 100}

// traffic drives a discipline at random and holds it against what must be true of every queue.
type traffic struct {
	t       *testing.T
	random  *rand.Rand
	q       Thinnable
	nowNs   int64
	number  map[*Packet]int // of the packets that wait, in the order of entering
	entered int
	// latest number that left of each flow.
	latest                  map[uint32]int
	pushed, popped, dropped int64
	limit                   Limit
	each                    int
}

func (f *traffic) drop(p *Packet, at Place, atNs int64) {
	f.t.Helper()
	if at != PlaceAPQueue || atNs != f.nowNs {
		f.t.Fatalf("dropped at place %d, time %d, want place %d, time %d", at, atNs, PlaceAPQueue, f.nowNs)
	}
	f.forget(p)
	f.dropped++
}

func (f *traffic) forget(p *Packet) {
	f.t.Helper()
	if _, ok := f.number[p]; !ok {
		f.t.Fatal("a packet left that did not wait")
	}
	delete(f.number, p)
}

func (f *traffic) push() {
	p := &Packet{Station: f.random.IntN(testStations), Length: 40 + f.random.IntN(1460)}
	p.Flow = uint32(p.Station*100 + f.random.IntN(4))
	if f.random.IntN(2) == 0 {
		p.Ack = true
		p.Length = 52 + 12*f.random.IntN(2)
		p.AckNumber = uint32(f.entered - f.random.IntN(3))
	}
	f.entered++
	f.number[p] = f.entered
	f.pushed++
	f.q.Push(p, f.nowNs)
}

func (f *traffic) pop(station int) {
	f.t.Helper()
	head := f.q.Head(station, f.nowNs)
	f.nowNs += f.random.Int64N(1e6)
	// Packets that enter meanwhile must not take the head's place.
	for range f.random.IntN(3) {
		f.push()
	}
	if again := f.q.Head(station, f.nowNs); head != nil && again != head {
		f.t.Fatal("the head changed before it was taken")
	}
	p := f.q.Pop(station, f.nowNs)
	if head != nil && p != head {
		f.t.Fatal("something else than the head was taken")
	}
	if p == nil {
		return
	}
	if p.Station != station {
		f.t.Fatalf("station %d was given a packet for %d", station, p.Station)
	}
	if f.number[p] < f.latest[p.Flow] {
		f.t.Fatalf("flow %d: packet %d came after %d", p.Flow, f.number[p], f.latest[p.Flow])
	}
	f.latest[p.Flow] = f.number[p]
	f.forget(p)
	f.popped++
}

func (f *traffic) check() {
	f.t.Helper()
	length := 0
	bytes := 0
	var of [testStations]int
	for p := range f.number {
		length++
		bytes += p.Length
		of[p.Station]++
	}
	if f.q.Len() != length || f.q.Bytes() != bytes {
		f.t.Fatalf("length %d, %d bytes, want %d, %d", f.q.Len(), f.q.Bytes(), length, bytes)
	}
	for s, n := range of {
		if f.q.LenOf(s) != n {
			f.t.Fatalf("length of station %d is %d, want %d", s, f.q.LenOf(s), n)
		}
		if f.each > 0 && n > f.each {
			f.t.Fatalf("%d packets wait for station %d, more than %d", n, s, f.each)
		}
	}
	if f.limit.Over(f.q.Len(), f.q.Bytes()) {
		f.t.Fatalf("%d packets, %d bytes exceed the limit %+v", length, bytes, f.limit)
	}
	if s := f.random.IntN(testStations); (f.q.LenOf(s) > 0) != (f.q.Head(s, f.nowNs) != nil) {
		f.t.Fatalf("%d packets wait for station %d, and it has no head, or the reverse", f.q.LenOf(s), s)
	}
	station, ok := f.q.Turn(f.nowNs)
	if ok != (f.q.Len() > 0) || ok && f.q.LenOf(station) == 0 {
		f.t.Fatalf("turn of station %d (%v) with %d packets", station, ok, f.q.Len())
	}
	if again, _ := f.q.Turn(f.nowNs); again != station {
		f.t.Fatal("the turn passed by itself")
	}
	s := f.q.Statistics()
	if s.Pushed != f.pushed || s.Popped != f.popped || s.Dropped != f.dropped || s.Length.Value() != int64(f.q.Len()) {
		f.t.Fatalf("statistics %d pushed, %d popped, %d dropped, want %d, %d, %d", s.Pushed, s.Popped, s.Dropped,
			f.pushed, f.popped, f.dropped)
	}
	if f.pushed != f.popped+f.dropped+int64(f.q.Len()) {
		f.t.Fatalf("%d pushed, %d popped, %d dropped, %d wait", f.pushed, f.popped, f.dropped, f.q.Len())
	}
}

func TestDisciplinesKeepPacketsOrderAndLimits(t *testing.T) {
	for _, d := range disciplines {
		for seed := range uint64(4) {
			t.Run(fmt.Sprintf("%s/seed %d", d.name, seed), func(t *testing.T) {
				f := &traffic{
					t: t, random: rand.New(rand.NewPCG(seed, 1)), limit: d.limit, each: d.each,
					number: map[*Packet]int{}, latest: map[uint32]int{},
				}
				f.q = d.make(f.drop)
				for range 5000 {
					f.nowNs += f.random.Int64N(3e5)
					// Traffic comes and goes in waves, so the queue is full at times and empty at
					// others.
					if wave := f.nowNs / 300e6 % 2; f.random.IntN(10) < 3+int(wave)*5 {
						f.push()
					} else if station, ok := f.q.Turn(f.nowNs); ok {
						for range 1 + f.random.IntN(4) {
							f.pop(station)
						}
						f.q.Charge(station, f.random.Int64N(4e6))
					} else {
						f.pop(f.random.IntN(testStations))
					}
					f.check()
				}
				if f.dropped == 0 || f.popped == 0 {
					t.Fatalf("%d dropped, %d popped: the traffic proved nothing", f.dropped, f.popped)
				}
				for f.q.Len() > 0 {
					station, _ := f.q.Turn(f.nowNs)
					p := f.q.Pop(station, f.nowNs)
					f.forget(p)
					f.popped++
				}
				f.check()
			})
		}
	}
}

func TestDisciplinesDoNotAllocate(t *testing.T) {
	for _, d := range disciplines {
		t.Run(d.name, func(t *testing.T) {
			var free []*Packet
			for i := range 200 {
				free = append(
					free,
					&Packet{
						Station: i % testStations, Flow: uint32(i % 7), Length: 1500, Ack: i%3 == 0,
						AckNumber: uint32(i),
					},
				)
			}
			q := d.make(func(p *Packet, _ Place, _ int64) { free = append(free, p) })
			nowNs := int64(0)
			turn := func() {
				for range 3 {
					nowNs += 1e5
					p := free[0]
					copy(free, free[1:])
					free = free[:len(free)-1]
					q.Push(p, nowNs)
				}
				for range 2 {
					if station, ok := q.Turn(nowNs); ok {
						q.Head(station, nowNs)
						free = append(free, q.Pop(station, nowNs))
						q.Charge(station, 1e5)
					}
				}
			}
			if n := testing.AllocsPerRun(1000, turn); n != 0 {
				t.Errorf("%v allocations in a turn", n)
			}
		})
	}
}

func TestFIFOKeepsOrderAndLimits(t *testing.T) {
	var dropped []*Packet
	q := NewFIFO(Limit{Packets: 3, Bytes: 3500}, PlaceStationQueue, func(p *Packet, at Place, atNs int64) {
		if at != PlaceStationQueue || atNs != 7 {
			t.Errorf("dropped at place %d, time %d", at, atNs)
		}
		dropped = append(dropped, p)
	})
	packets := []*Packet{{Length: 1500, Station: 9}, {Length: 1500}, {Length: 1500}, {Length: 40}, {Length: 40}}
	for i, want := range []bool{true, true, false, true, false} {
		if got := q.Push(packets[i], 7); got != want {
			t.Errorf("packet %d: taken %v, want %v", i, got, want)
		}
	}
	if len(dropped) != 2 || dropped[0] != packets[2] || dropped[1] != packets[4] {
		t.Errorf("dropped %v", dropped)
	}
	for _, want := range []*Packet{packets[0], packets[1], packets[3], nil} {
		if head := q.Head(); head != want {
			t.Errorf("head %v, want %v", head, want)
		}
		if got := q.Pop(1007); got != want {
			t.Errorf("took %v, want %v", got, want)
		}
	}
	s := q.Statistics()
	if s.Pushed != 5 || s.Popped != 3 || s.Dropped != 2 || s.PoppedBytes != 3040 || s.Length.Max() != 3 ||
		s.Sojourn.Max() != 1000 {
		t.Errorf("statistics %d %d %d %d %d %d", s.Pushed, s.Popped, s.Dropped, s.PoppedBytes, s.Length.Max(),
			s.Sojourn.Max())
	}
}

package path

import (
	"math"
	"math/rand/v2"
	"testing"

	"airtide/internal/cell/queue"
)

func TestAHeldScheduleCountsFromBegin(t *testing.T) {
	var arrived []int64
	p, err := New(Config{
		Lines: make([]Line, 1), Held: true,
		Schedule: []Change{{AtNs: 10e6, Line: &Line{DelayNs: 5e6}}, {AtNs: 20e6, Wire: &Wire{RateBps: 1e6}}},
	}, rand.NewPCG(1, 1), Callbacks{Deliver: func(_ *queue.Packet, atNs int64) { arrived = append(arrived, atNs) }})
	if err != nil {
		t.Fatal(err)
	}
	send := func(atNs int64) {
		p.Advance(atNs)
		p.Push(&queue.Packet{Length: 962}, atNs) // 1000 bytes on the wire
		p.Advance(atNs + 9e6)
	}
	send(50e6)
	if next := p.Next(); next != math.MaxInt64 {
		t.Errorf("before Begin the next event is at %d", next)
	}
	p.Begin(100e6)
	if next := p.Next(); next != 110e6 {
		t.Errorf("after Begin at 100 ms the next event is at %d, want 110 ms", next)
	}
	send(100e6)
	send(110e6)
	send(120e6)
	p.Advance(200e6)
	want := []int64{50e6, 100e6, 115e6, 120e6 + 7.904e6 + 5e6} // the gap of 12 bytes follows the frame
	for i := range want {
		if i >= len(arrived) || arrived[i] != want[i] {
			t.Fatalf("packets arrived at %v, want %v", arrived, want)
		}
	}
	if p.Wire().RateBps != 1e6 {
		t.Errorf("the wire has %d bit/s", p.Wire().RateBps)
	}
	p.Begin(300e6) // a second time means nothing
	if p.Next() != math.MaxInt64 {
		t.Error("the schedule began once more")
	}
}

func TestADuplicateForWhichThereIsNoRoomIsNone(t *testing.T) {
	delivered := 0
	p, err := New(Config{Lines: []Line{{Duplicate: 1}}}, rand.NewPCG(1, 1), Callbacks{
		Deliver: func(*queue.Packet, int64) { delivered++ },
		Copy:    func(*queue.Packet) *queue.Packet { return nil },
	})
	if err != nil {
		t.Fatal(err)
	}
	p.Push(&queue.Packet{Length: 100}, 0)
	p.Advance(1e9)
	if c := p.Counters(0); delivered != 1 || c.Duplicated != 0 || c.Delivered != 1 {
		t.Errorf("%d packets arrived, counted as %+v", delivered, c)
	}
}

func TestWhatWaitsForTheWireLeavesTheStatisticsInTime(t *testing.T) {
	p, err := New(
		Config{Wire: Wire{RateBps: 8e6}, Lines: []Line{{DelayNs: 1e9}}}, rand.NewPCG(1, 1),
		Callbacks{Deliver: func(*queue.Packet, int64) {}},
	)
	if err != nil {
		t.Fatal(err)
	}
	for range 10 {
		p.Push(&queue.Packet{Length: 962}, 0) // 1 ms each
	}
	p.Settle(4.5e6)
	if s := p.WireStatistics(); s.Popped != 5 || s.Length.Value() != 5 {
		t.Errorf("after 4.5 ms %d have left and %d wait, want 5 and 5", s.Popped, s.Length.Value())
	}
}

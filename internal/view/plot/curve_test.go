package plot

import (
	"math/rand/v2"
	"testing"

	"airtide/internal/tcp"
)

// A curve of any number of values keeps the extremes, the ends and its bound on memory.
func TestCurveKeepsExtremesInBoundedMemory(t *testing.T) {
	for _, c := range []struct {
		name   string
		n      int
		step   func(r *rand.Rand) int64 // between two values
		absent float64
	}{
		{"even", 200_000, func(*rand.Rand) int64 { return 50_000 }, 0},
		{"bursts", 200_000, func(r *rand.Rand) int64 {
			if r.IntN(1000) == 0 {
				return 2_000_000_000
			}
			return 300
		}, 0},
		{"same moment", 50_000, func(*rand.Rand) int64 { return 0 }, 0},
		{"with gaps", 200_000, func(*rand.Rand) int64 { return 1000 }, 0.2},
		{"few", 100, func(*rand.Rand) int64 { return 1_000_000 }, 0},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := rand.New(rand.NewPCG(7, 7))
			curve := &curve{limit: 512}
			type value struct{ t, v int64 }
			var all []value
			now := origin
			for range c.n {
				now += c.step(r)
				v := r.Int64N(1000)
				if r.IntN(5000) == 0 {
					v = 1_000_000 + r.Int64N(1000) // a spike of one value
				}
				if r.Float64() < c.absent {
					curve.add(now, tcp.Absent)
					continue
				}
				curve.add(now, v)
				all = append(all, value{now, v})
			}
			if len(curve.buckets) > 512 || len(curve.buckets) == 0 {
				t.Fatalf("%d buckets, want 1 to 512", len(curve.buckets))
			}
			if c.n <= 512 && len(curve.buckets) != c.n {
				t.Fatalf("%d buckets for %d values: a short curve must be exact", len(curve.buckets), c.n)
			}
			// Every bucket has the extremes, the first and the last of exactly the values within
			// it.
			i := 0
			for _, b := range curve.buckets {
				lo := all[i].v
				hi := all[i].v
				first := all[i].v
				last := all[i].v
				for ; i < len(all) && all[i].t <= b.t1 && all[i].t>>curve.shift == b.t0>>curve.shift; i++ {
					lo = min(lo, all[i].v)
					hi = max(hi, all[i].v)
					last = all[i].v
				}
				if b.min != lo || b.max != hi || b.first != first || b.last != last {
					t.Fatalf("bucket %+v: values were first %d, min %d, max %d, last %d", b, first, lo, hi, last)
				}
			}
			if i != len(all) {
				t.Fatalf("buckets hold %d of %d values", i, len(all))
			}
		})
	}
}

func TestCurvePutsLateValuesInOrder(t *testing.T) {
	c := &curve{limit: 8}
	for _, at := range []int64{10, 20, 40, 30, 5, 20} {
		c.add(at, at)
	}
	var times []int64
	for _, b := range c.buckets {
		times = append(times, b.t0)
	}
	want := []int64{5, 10, 20, 30, 40}
	if len(times) != len(want) {
		t.Fatalf("buckets at %v, want %v", times, want)
	}
	for i := range want {
		if times[i] != want[i] {
			t.Fatalf("buckets at %v, want %v", times, want)
		}
	}
}

func TestCurveShowsTheHeldValueAtTheStart(t *testing.T) {
	c := &curve{limit: 8}
	c.add(10, 7)
	c.add(100, 9)
	c.add(200, tcp.Absent)
	for _, x := range []struct {
		from, to int64
		lo, hi   int64
		ok       bool
	}{
		{20, 90, 7, 7, true},
		{20, 150, 7, 9, true},
		{110, 190, 9, 9, true},
		{0, 9, 0, 0, false},
		{210, 300, 0, 0, false}, // gone
	} {
		if lo, hi, ok := c.extremes(x.from, x.to); ok != x.ok || ok && (lo != x.lo || hi != x.hi) {
			t.Errorf("extremes from %d to %d are %d, %d, %v; want %d, %d, %v",
				x.from, x.to, lo, hi, ok, x.lo, x.hi, x.ok)
		}
	}
}

func TestMarksCountEveryEvent(t *testing.T) {
	m := &marks{limit: 100}
	r := rand.New(rand.NewPCG(3, 3))
	now := origin
	for i := range 100_000 {
		now += r.Int64N(1_000_000)
		m.add(mark{t: now, n: 1, lo: int64(i), hi: int64(i) + 1})
	}
	if len(m.list) > 100 {
		t.Errorf("%d marks are kept, want at most 100", len(m.list))
	}
	if n := m.count(origin, now); n != 100_000 {
		t.Errorf("%d events are counted, want 100000", n)
	}
	if len(m.list) < 30 {
		t.Errorf("only %d marks are left of 100", len(m.list))
	}
	if m.list[0].lo != 0 || m.list[len(m.list)-1].hi != 100_000 {
		t.Errorf("the marks reach from %d to %d, want the whole stream", m.list[0].lo, m.list[len(m.list)-1].hi)
	}
}

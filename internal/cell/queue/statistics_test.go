package queue

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
)

func TestHistogramQuantilesAreWithinThreePercent(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for name, draw := range map[string]func() int64{
		"small":       func() int64 { return random.Int64N(40) },
		"uniform":     func() int64 { return random.Int64N(1e7) },
		"exponential": func() int64 { return int64(random.ExpFloat64() * 1e6) },
		"log-uniform": func() int64 { return int64(math.Exp(random.Float64() * 29)) },
	} {
		var whole, even, odd Histogram
		var values []int64
		for i := range 10000 {
			v := draw()
			values = append(values, v)
			whole.Add(v)
			if i%2 == 0 {
				even.Add(v)
			} else {
				odd.Add(v)
			}
		}
		even.Merge(&odd)
		slices.Sort(values)
		for _, share := range []float64{0, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1} {
			want := values[max(0, int(math.Ceil(share*10000))-1)]
			got := whole.Quantile(share)
			if !near(float64(got), float64(want), 1.0/31) {
				t.Errorf("%s: quantile %v is %d, want %d", name, share, got, want)
			}
			if merged := even.Quantile(share); merged != got {
				t.Errorf("%s: quantile %v is %d after merging, %d otherwise", name, share, merged, got)
			}
		}
		if whole.Min() != values[0] || whole.Max() != values[len(values)-1] || whole.Count() != 10000 {
			t.Errorf("%s: min %d, max %d, count %d", name, whole.Min(), whole.Max(), whole.Count())
		}
		var sum float64
		for _, v := range values {
			sum += float64(v)
		}
		if !near(whole.Mean(), sum/10000, 1e-9) {
			t.Errorf("%s: mean %v, want %v", name, whole.Mean(), sum/10000)
		}
	}
}

func TestHistogramTakesAllValues(t *testing.T) {
	var h Histogram
	if h.Quantile(0.5) != 0 || h.Mean() != 0 || h.Count() != 0 {
		t.Error("an empty histogram has values")
	}
	h.Add(math.MaxInt64)
	h.Add(-5)
	if h.Max() != math.MaxInt64 || h.Min() != 0 || h.Quantile(1) != math.MaxInt64 || h.Quantile(0) != 0 {
		t.Errorf("min %d, max %d, quantiles %d and %d", h.Min(), h.Max(), h.Quantile(0), h.Quantile(1))
	}
	h.Reset()
	if h.Count() != 0 || h.Max() != 0 {
		t.Error("values remain after Reset")
	}
	// Every bucket's middle lies in the bucket.
	for b := range buckets {
		if got := bucketOf(middle(b)); got != b {
			t.Fatalf("the middle of bucket %d lies in bucket %d", b, got)
		}
	}
}

func TestLevelIsWeightedByTime(t *testing.T) {
	var l Level
	l.Set(10, 100) // 0 for 100 ns
	l.Add(20, 150) // 10 for 50 ns
	l.Add(-25, 200)
	if got, want := l.Mean(300), (0*100+10*50+30*50+5*100)/300.0; !near(got, want, 1e-12) {
		t.Errorf("mean %v, want %v", got, want)
	}
	if l.Value() != 5 || l.Max() != 30 {
		t.Errorf("value %d, max %d", l.Value(), l.Max())
	}
	l.Restart(300)
	l.Set(7, 400)
	if got := l.Mean(500); got != 6 || l.Max() != 7 {
		t.Errorf("mean %v, max %d after the warm-up", got, l.Max())
	}
}

func TestStatisticsOfAQueueInVirtualTime(t *testing.T) {
	q := NewSharedFIFO(2, Limit{}, noDrop(t))
	for i := range int64(4) {
		q.Push(&Packet{Station: int(i % 2), Length: 100}, i*10)
	}
	for _, nowNs := range []int64{40, 60} {
		q.Pop(0, nowNs)
	}
	s := q.Statistics()
	// 1, 2, 3, 4, then 3 for 20 ns, then 2.
	got := s.Length.Mean(100)
	want := (1+2+3+4)*10/100.0 - 4*10/100.0 + 4*10/100.0*1 + 3*20/100.0 + 2*40/100.0
	if !near(got, want, 1e-12) {
		t.Errorf("mean length %v, want %v", got, want)
	}
	if s.Sojourn.Min() != 40 || s.Sojourn.Max() != 40 || s.Popped != 2 || s.PoppedBytes != 200 {
		t.Errorf("sojourn %d to %d, %d packets, %d bytes", s.Sojourn.Min(), s.Sojourn.Max(), s.Popped, s.PoppedBytes)
	}
	if one := q.StatisticsOf(1); one.Pushed != 2 || one.Popped != 0 || one.Length.Max() != 2 {
		t.Errorf("station 1: %d pushed, %d popped, %d at most", one.Pushed, one.Popped, one.Length.Max())
	}
	q.RestartStatistics(100)
	if s := q.Statistics(); s.Pushed != 2 || s.Popped != 0 || s.Sojourn.Count() != 0 || s.Length.Mean(200) != 2 {
		t.Errorf("after the warm-up: %d pushed, %d popped, mean length %v", s.Pushed, s.Popped, s.Length.Mean(200))
	}
}

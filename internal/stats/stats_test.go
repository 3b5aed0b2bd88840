package stats

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"
)

func TestQuantilesHaveTheNearestRank(t *testing.T) {
	values := make([]float64, 10_000)
	for i := range values {
		values[i] = float64(i)
	}
	for n := 1; n <= len(values); n++ {
		if got, want := Rank(0.95, uint64(n)), uint64(n*95+99)/100; got != want {
			t.Fatalf("rank of P95 of %d values: got %d, want %d", n, got, want)
		}
		if n > 200 && n%997 != 0 {
			continue
		}
		for _, share := range []float64{0, 0.001, 0.05, 0.5, 0.99, 1} {
			want := stat.Quantile(share, stat.Empirical, values[:n], nil)
			if got := values[Rank(share, uint64(n))-1]; got != want {
				t.Fatalf("quantile %g of %d values is number %g, gonum has %g", share, n, got, want)
			}
		}
	}
	if !math.IsNaN(Median(nil)) || !math.IsNaN(WeightedQuantile(nil, nil, 0.5)) {
		t.Error("nothing has a quantile")
	}
	if got := WeightedQuantile([]float64{1, 2, 3}, []float64{1, 1, 8}, 0.25); got != 3 {
		t.Errorf("weighted quantile %g, expected 3", got)
	}
}

func TestMedianOfEvenlyManyIsTheMean(t *testing.T) {
	for want, values := range map[float64][]float64{2: {3, 1, 2}, 2.5: {4, 1, 3, 2}} {
		if got := Median(values); got != want {
			t.Errorf("median of %v is %g, expected %g", values, got, want)
		}
	}
}

func TestEqualValuesShareTheirRank(t *testing.T) {
	if got, want := Ranks([]float64{5, 1, 5, 9}), []float64{1.5, 0, 1.5, 3}; !slices.Equal(got, want) {
		t.Errorf("ranks %v, expected %v", got, want)
	}
}

func TestSketchIsWithinItsAccuracy(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	whole := NewSketch()
	half := NewSketch()
	var values []float64
	for i := range 20_000 {
		v := int64(math.Exp(rng.NormFloat64()*2 + 8))
		if i%7 == 0 {
			v = 0
		}
		for range 1 + i%3 {
			values = append(values, float64(v))
			if i%2 == 0 {
				whole.Add(v)
			} else {
				half.Add(v)
			}
		}
		whole.Add(-5) // ignored
	}
	whole.Merge(&half)
	slices.Sort(values)
	least, greatest, ok := whole.Extremes()
	if !ok || float64(least) != values[0] || float64(greatest) != values[len(values)-1] {
		t.Errorf("extremes %d and %d, expected %g and %g", least, greatest, values[0], values[len(values)-1])
	}
	shares := []float64{0.05, 0.5, 0.95, 0.99}
	for i, got := range whole.Quantiles(shares...) {
		want := values[Rank(shares[i], uint64(len(values)))-1]
		if math.Abs(float64(got)-want) > SketchAccuracy*want+1 {
			t.Errorf("quantile %g is %d, expected %g", shares[i], got, want)
		}
	}
	empty := NewSketch()
	if _, _, ok := empty.Extremes(); ok || empty.Quantiles(0.5) != nil {
		t.Error("an empty sketch has values")
	}
}

func TestSketchOfFewValuesHasTheNearestRank(t *testing.T) {
	for n := 1; n <= 25; n++ {
		s := NewSketch()
		for i := range n - 1 {
			s.Add(20_000 + int64(i))
		}
		s.Add(167_000)
		if got := s.Quantiles(0.99)[0]; got != 167_000 {
			t.Errorf("P99 of %d values is %d, expected the greatest", n, got)
		}
		if got := s.Quantiles(0); n > 1 && math.Abs(float64(got[0])-20_000) > SketchAccuracy*20_000 {
			t.Errorf("the lowest quantile of %d values is %d, expected about 20000", n, got)
		}
	}
}

func TestBucketsHoldTheirValues(t *testing.T) {
	for _, b := range []Buckets{4, 5} {
		for index, before := 0, int64(-1); index < 60<<b; index++ {
			middle := b.Middle(index)
			upper := b.Upper(index)
			if upper < 0 {
				break
			}
			for _, v := range []int64{before + 1, middle, upper} {
				if got := b.Index(v); got != index {
					t.Fatalf("%d bits: %d is in bucket %d, expected %d", b, v, got, index)
				}
			}
			if width := upper - before; float64(width) > float64(upper)/float64(int64(1)<<b)+1 {
				t.Fatalf("%d bits: bucket %d is %d wide at %d", b, index, width, upper)
			}
			before = upper
		}
		if got, want := b.Index(1<<44-1), (44-int(b)+1)<<b-1; got != want {
			t.Errorf("%d bits: the last bucket below 2^44 is %d, expected %d", b, got, want)
		}
	}
}

func TestCounterGrows(t *testing.T) {
	var c Counter
	if _, ok := c.Growth(); ok || c.Take() != 0 {
		t.Error("a counter without a reading grows")
	}
	for _, v := range []int64{100, 130, 170} {
		c.Add(v)
	}
	growth, _ := c.Growth()
	last, _ := c.Last()
	if growth != 70 || last != 170 {
		t.Errorf("growth %d, last %d", growth, last)
	}
	if first, second := c.Take(), c.Take(); first != 70 || second != 0 {
		t.Errorf("took %d, then %d", first, second)
	}
	c.Add(200)
	if growth, _ := c.Growth(); growth != 30 {
		t.Errorf("growth %d after taking, expected 30", growth)
	}
}

func TestTimeMeanWeighsByTime(t *testing.T) {
	var m TimeMean
	if !math.IsNaN(m.Mean(5)) || !math.IsNaN(m.Last()) || !math.IsNaN(m.Greatest()) {
		t.Error("nothing has a mean")
	}
	m.Add(100, 50)
	if got := m.Mean(100); got != 50 {
		t.Errorf("mean %g at the first value", got)
	}
	m.RestartGreatest()
	m.Add(200, 10)
	m.Add(300, 20)
	if got := m.Mean(400); got != (50+10+20)/3.0 {
		t.Errorf("mean %g", got)
	}
	if m.Last() != 20 || m.Greatest() != 20 {
		t.Errorf("last %g, greatest %g", m.Last(), m.Greatest())
	}
}

func TestMeterTakesTheRateOfItsWindow(t *testing.T) {
	const window, ms = 2e9, int64(1e6)
	var m Meter
	if _, ok := m.PerSecond(0, window, 0); ok {
		t.Error("no reading has a rate")
	}
	for i := range int64(50) {
		m.Add(i*100*ms, i*1000, window)
	}
	if rate, ok := m.PerSecond(4900*ms, window, 0); !ok || rate != 10_000 {
		t.Errorf("rate %d, expected 10000", rate)
	}
	// A second after the last reading, half of the window had no growth.
	if rate, _ := m.PerSecond(5900*ms, window, 0); rate != 5000 {
		t.Errorf("rate %d a second later, expected 5000", rate)
	}
	m.Add(5000*ms, 3, window) // another counter
	if _, ok := m.PerSecond(5000*ms, window, 0); ok {
		t.Error("a restarted counter has a rate at once")
	}
}

func TestPeakRateFindsTheBusiestSecond(t *testing.T) {
	m := NewPeakRate(16)
	const tenth = 100_000_000
	for i := range int64(100) {
		bytes := int64(1000)
		if i >= 40 && i < 50 {
			bytes = 5000
		}
		m.Spread(i*tenth, (i+1)*tenth, bytes)
	}
	if got := m.Bps(); got != 50_000*8 {
		t.Errorf("peak %g bit/s, expected 400000", got)
	}
	if again := m.Bps(); again != 50_000*8 {
		t.Errorf("peak %g bit/s when asked again", again)
	}
}

// The ring finds what an array of all seconds finds, also with gaps longer than the ring and with
// bytes that come out of order. A second that has left the ring takes no more bytes.
func TestPeakRateIsThatOfAllSeconds(t *testing.T) {
	const bins, size = 4000, 16
	rng := rand.New(rand.NewPCG(1, 2))
	for range 300 {
		m := NewPeakRate(size)
		seconds := make([]int64, bins+2*size) // by their first bins
		now := int64(size)
		last := int64(0)
		add := func(bin, bytes int64) {
			for first := max(0, bin-binsPerWindow+1, last-size+1); first <= bin; first++ {
				seconds[first] += bytes
			}
		}
		longest := 2 + rng.Int64N(60)
		for now < bins-longest {
			now += rng.Int64N(longest)
			to := now - rng.Int64N(4)
			from := max(0, to-rng.Int64N(5))
			if rng.IntN(4) == 0 {
				from = max(0, to-rng.Int64N(100))
			}
			bytes := rng.Int64N(1 << 20)
			m.Spread(from*binNs+1, to*binNs+1, bytes)
			share := bytes / max(1, to-from)
			for bin := from + 1; bin < to; bin++ {
				if bin > last-size {
					add(bin, share)
				}
				bytes -= share
			}
			last = max(last, to)
			add(to, bytes)
		}
		if got, want := m.Bps(), float64(slices.Max(seconds))*8; got != want {
			t.Fatalf("with steps of %d bins: peak %g bit/s, want %g", longest, got, want)
		}
	}
}

func TestDifferenceKnowsItsSign(t *testing.T) {
	value, interval := Difference([]float64{10, 11, 12}, []float64{1, 2, 3}, 7)
	if value != 9 || interval.Low <= 0 || interval.High < 9 {
		t.Errorf("difference %g, interval %v", value, interval)
	}
	if _, interval := Difference([]float64{1}, []float64{2, 3}, 7); !math.IsNaN(interval.Low) {
		t.Errorf("a single value has the interval %v", interval)
	}
	if text, err := UnknownInterval.MarshalJSON(); err != nil || string(text) != "null" {
		t.Errorf("unknown interval is %s (%v)", text, err)
	}
}

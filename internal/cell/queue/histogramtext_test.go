package queue

import (
	"math/rand/v2"
	"testing"
)

func TestHistogramSurvivesItsText(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{0, 1, 10, 10_000} {
		var h, read Histogram
		for range n {
			h.Add(random.Int64N(1 << random.IntN(45)))
		}
		text, err := h.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		if err := read.UnmarshalText(text); err != nil {
			t.Fatal(err)
		}
		if read != h {
			t.Errorf("%d values: the histogram read is another one than that written", n)
		}
	}
}

func TestHistogramTextThatIsNone(t *testing.T) {
	for _, text := range []string{"!", "AA", "AQEAAAAAAAAAAP////8P", "AQEAAAAAAAAAAP"} {
		var h Histogram
		if h.UnmarshalText([]byte(text)) == nil {
			t.Errorf("%q was taken for a histogram", text)
		}
	}
}

func TestHistogramSinceHasTheValuesBetween(t *testing.T) {
	var h, between Histogram
	for v := range int64(1000) {
		h.Add(v * 1000)
	}
	earlier := h
	for v := range int64(500) {
		h.Add(5e6 + v*1000)
		between.Add(5e6 + v*1000)
	}
	d := h.Since(&earlier)
	if d.Count() != 500 || d.Mean() != between.Mean() {
		t.Fatalf("%d values with a mean of %g, want 500 of %g", d.Count(), d.Mean(), between.Mean())
	}
	for _, share := range []float64{0, 0.5, 0.95, 1} {
		got := float64(d.Quantile(share))
		want := float64(between.Quantile(share))
		if got < want/1.04 || got > want*1.04 {
			t.Errorf("quantile %g is %g, want %g", share, got, want)
		}
	}
	if empty := h.Since(&h); empty.Count() != 0 || empty.Quantile(0.5) != 0 {
		t.Errorf("nothing between a state and itself, not %d values", empty.Count())
	}
}

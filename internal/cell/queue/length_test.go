package queue

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestLengthKnowsForHowLongItHadWhichValue(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for _, most := range []int64{1, 31, 500, 60_000} {
		var l Length
		var values []int64 // one for each nanosecond
		nowNs := int64(0)
		walk := func() {
			for range 2000 {
				took := random.Int64N(9)
				for range took {
					values = append(values, l.Value())
				}
				nowNs += took
				l.Set(random.Int64N(most+1), nowNs)
			}
			nowNs += 3 // what it is now counts too
			values = append(values, l.Value(), l.Value(), l.Value())
		}
		holds := func(times Times, values []int64) {
			t.Helper()
			slices.Sort(values)
			for _, share := range []float64{0.01, 0.5, 0.95, 1} {
				want := values[max(0, int(share*float64(len(values))+0.999)-1)]
				got := times.Quantile(share)
				if !near(float64(got), float64(want), 1.0/31) || want < 32 && got != want {
					t.Errorf("to %d: quantile %g is %d, want %d", most, share, got, want)
				}
			}
			if got, want := times.Max(), values[len(values)-1]; !near(float64(got), float64(want), 1.0/31) {
				t.Errorf("to %d: the greatest is %d, want %d", most, got, want)
			}
		}
		walk()
		earlier := l.Times(nowNs)
		holds(earlier, values)
		values = nil
		most /= 2
		walk()
		both := l.Times(nowNs)
		holds(both.Since(&earlier), values)

		text, err := both.MarshalText()
		if err != nil {
			t.Fatal(err)
		}
		var read Times
		if err := read.UnmarshalText(text); err != nil || read != both {
			t.Errorf("to %d: the times read are others than those written: %v", most, err)
		}
		l.Restart(nowNs)
		if left := l.Times(nowNs); left != (Times{}) {
			t.Errorf("to %d: there are times right after a restart", most)
		}
	}
}

func TestTimesOfNothingAndOfTooMuch(t *testing.T) {
	var none Times
	if none.Quantile(0.95) != 0 || none.Max() != 0 {
		t.Errorf("nothing has a quantile of %d and a maximum of %d", none.Quantile(0.95), none.Max())
	}
	var l Length
	l.Set(1<<40, 0)
	if long := l.Times(5); long.Max() < 64000 {
		t.Errorf("a queue longer than any is %d", long.Max())
	}
	for _, text := range []string{"!", "AA", "/////w8B"} {
		var times Times
		if times.UnmarshalText([]byte(text)) == nil {
			t.Errorf("%q was taken for times", text)
		}
	}
}

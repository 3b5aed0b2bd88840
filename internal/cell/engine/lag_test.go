package engine

import (
	"math/rand/v2"
	"slices"
	"testing"
)

func TestQuantilesAreExactToThreePercent(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	var h histogram
	var all []int64
	for range 100000 {
		ns := int64(random.ExpFloat64() * 1e5)
		h.record(ns)
		all = append(all, ns)
	}
	slices.Sort(all)
	l := h.lateness()
	for _, q := range []struct {
		got  int64
		at   float64
		name string
	}{{l.P50Ns, .5, "p50"}, {l.P99Ns, .99, "p99"}, {l.P999Ns, .999, "p99.9"}} {
		want := all[int(q.at*float64(len(all)))-1]
		if q.got < want || float64(q.got) > float64(want)*1.04 {
			t.Errorf("%s is %d, want %d to 3 %%", q.name, q.got, want)
		}
	}
	if l.MaxNs != all[len(all)-1] || l.Count != 100000 {
		t.Errorf("max %d of %d, want %d", l.MaxNs, l.Count, all[len(all)-1])
	}
	var few histogram
	for _, ns := range []int64{-5, 3, 1 << 50} {
		few.record(ns)
	}
	if l := few.lateness(); l.P50Ns != 3 || l.P999Ns < 1<<40 || l.MaxNs != 1<<50 {
		t.Errorf("of -5, 3 and 2^50: %+v", l)
	}
	if l := new(histogram).lateness(); l != (Lateness{}) {
		t.Errorf("of nothing: %+v", l)
	}
}

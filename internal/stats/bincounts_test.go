package stats

import (
	"math/rand/v2"
	"testing"

	"github.com/DataDog/sketches-go/ddsketch/store"
)

func TestBinCountsEqualADenseStore(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 1))
	for spread := 1; spread <= 4096; spread *= 4 {
		var got binCounts
		want := store.NewDenseStore()
		for range 3000 {
			index := rng.IntN(spread) - rng.IntN(spread)
			count := float64(1 + rng.IntN(5))
			got.add(index, count)
			want.AddWithCount(index, count)
		}
		all := store.NewDenseStore()
		got.each(all.AddWithCount)
		if all.TotalCount() != want.TotalCount() {
			t.Fatalf("spread %d: %v values, want %v", spread, all.TotalCount(), want.TotalCount())
		}
		for rank := 0.0; rank < want.TotalCount(); rank += 7 {
			if all.KeyAtRank(rank) != want.KeyAtRank(rank) {
				t.Fatalf("spread %d: bin %d at rank %v, want %d", spread, all.KeyAtRank(rank), rank,
					want.KeyAtRank(rank))
			}
		}
	}
}

func TestRangeOfValuesTakesNoMemory(t *testing.T) {
	var c binCounts
	for i := range 100 {
		c.add(i, 1)
	}
	for i := range 10 {
		c.add(1000*(i+1), 1)
	}
	if len(c.counts) > 4*100 || len(c.list) < 10 {
		t.Errorf("110 bins take an array of %d and a list of %d", len(c.counts), len(c.list))
	}
}

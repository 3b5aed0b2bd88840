package join

import (
	"math/rand/v2"
	"testing"
)

// The points of all series are bounded, and the remaining ones of each are in order.
func TestRoomIsBounded(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	var r room
	all := make([]series, 3000)
	for i := range 3 * maxAllPoints {
		s := &all[rng.IntN(1+min(len(all)-1, i/1000))]
		r.grow(s, int64(i), int64(i))
		if r.points > maxAllPoints {
			t.Fatalf("%d points behind %d", r.points, i)
		}
	}
	points := 0
	for i := range all {
		values := all[i].Values
		points += len(values)
		for k := 1; k < len(values); k++ {
			if values[k].Value <= values[k-1].Value {
				t.Fatalf("series %d falls at %d", i, k)
			}
		}
		if len(values) < 2 {
			t.Errorf("series %d has %d points", i, len(values))
		}
		r.forget(&all[i])
	}
	if points < maxAllPoints/2 || r.points != 0 || len(r.all) != 0 {
		t.Errorf("%d points, %d left in %d series", points, r.points, len(r.all))
	}
}

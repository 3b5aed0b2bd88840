package tcp

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestByFlowIsAMap compares both over random changes of small numbers, of numbers around the
// length of the table, and of the largest ones.
func TestByFlowIsAMap(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	want := map[FlowID]int{}
	var table ByFlow[int]
	set := FlowSet{}
	for range 20_000 {
		id := []FlowID{0, maxDense - 20, math.MaxUint32 - 40}[random.IntN(3)] + FlowID(random.IntN(40))
		v := random.IntN(3)
		table.Set(id, v)
		want[id] = v
		if v == 0 {
			delete(want, id)
			set.Remove(id)
		} else {
			set.Add(id)
		}
		probe := id ^ 1
		if table.At(id) != v || table.At(probe) != want[probe] {
			t.Fatalf("flows %d and %d have %d and %d, want %d and %d", id, probe, table.At(id), table.At(probe), v,
				want[probe])
		}
		if set.Has(id) != (v != 0) || set.Has(probe) != (want[probe] != 0) || set.Len() != len(want) {
			t.Fatalf("set of %d: %d is %v, %d is %v, want %d: %v, %v", set.Len(), id, set.Has(id), probe,
				set.Has(probe), len(want), v != 0, want[probe] != 0)
		}
	}
	if len(table.dense) > maxDense {
		t.Errorf("the table has %d values, more than %d", len(table.dense), maxDense)
	}
}

func TestANumberOutOfProportionMakesNoTable(t *testing.T) {
	var table ByFlow[int]
	table.Set(3, 1)
	table.Set(4_000_000_000, 2)
	if len(table.dense) > 10 {
		t.Errorf("a number out of proportion made a table of %d", len(table.dense))
	}
}

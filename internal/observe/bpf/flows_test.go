package bpf

import (
	"math/rand/v2"
	"testing"

	"airtide/internal/tcp"
)

// kernelID is the id that the programs give to the nth flow of a processor.
func kernelID(n, cpu uint64) uint64 { return n<<12 | cpu }

func TestAFlowTableHoldsWhatAMapHolds(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	table := newFlowTable()
	want := map[uint64]*flow{}
	var ids []uint64
	next := uint64(0)
	// It grows, and shrinks again.
	for step := range 40_000 {
		grow := 600
		if step > 20_000 {
			grow = 400
		}
		if len(ids) == 0 || random.IntN(1000) < grow {
			next++
			id := kernelID(next, uint64(random.IntN(3)))
			want[id] = table.learn(id, tcp.Flow{}, false)
			ids = append(ids, id)
		} else {
			k := random.IntN(len(ids))
			table.close(ids[k])
			delete(want, ids[k])
			ids[k] = ids[len(ids)-1]
			ids = ids[:len(ids)-1]
		}
		for range 4 {
			id := kernelID(uint64(random.Int64N(int64(next)+2)), uint64(random.IntN(3)))
			if got := table.find(id); got != want[id] {
				t.Fatalf("step %d: flow %x is %p, want %p", step, id, got, want[id])
			}
		}
	}
	if table.used != len(want) {
		t.Errorf("%d slots used for %d flows", table.used, len(want))
	}
	for id, f := range want {
		if table.find(id) != f {
			t.Errorf("flow %x is not found", id)
		}
	}
}

func TestAFlowTableIsAsLargeAsItsOpenFlows(t *testing.T) {
	const open = 1000
	table := newFlowTable()
	table.learn(kernelID(1, 0), tcp.Flow{}, false) // stays open
	for n := uint64(2); n < 1_000_000; n++ {
		table.learn(kernelID(n, n%4), tcp.Flow{}, false)
		if n > open {
			table.close(kernelID(n-open, (n-open)%4))
		}
	}
	if len(table.slots) > 8*open {
		t.Errorf("%d slots for %d open flows", len(table.slots), open)
	}
}

func TestHeldRecordsAreBounded(t *testing.T) {
	table := newFlowTable()
	record := make([]byte, 1<<20)
	for n := range uint64(100) {
		table.hold(table.learn(kernelID(n+1, 0), tcp.Flow{}, true), record)
	}
	if table.heldBytes != maxHeldBytes {
		t.Errorf("%d bytes are held, want %d", table.heldBytes, maxHeldBytes)
	}
	for n := range uint64(100) {
		table.close(kernelID(n+1, 0))
	}
	if table.heldBytes != 0 {
		t.Errorf("%d bytes are held of no flow", table.heldBytes)
	}
}

// BenchmarkFindFlow is the look-up of each record.
func BenchmarkFindFlow(b *testing.B) {
	for _, c := range []struct {
		name  string
		flows uint64
	}{{"1", 1}, {"100", 100}, {"10000", 10_000}} {
		b.Run(c.name, func(b *testing.B) {
			table := newFlowTable()
			for n := range c.flows {
				table.learn(kernelID(n/2+1, n%2), tcp.Flow{}, false)
			}
			n := uint64(0)
			for b.Loop() {
				if table.find(kernelID(n/2+1, n%2)) == nil {
					b.Fatal("a flow is not found")
				}
				n++
				if n == c.flows {
					n = 0
				}
			}
		})
	}
}

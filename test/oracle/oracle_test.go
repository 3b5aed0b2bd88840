package oracle_test

import (
	"reflect"
	"testing"
	"time"

	"airtide/internal/share/control"
	"airtide/test/oracle"
	"airtide/test/scenario"
)

// both steps a core and the oracle with the same inputs, and fails at the first difference.
type both struct {
	core   *control.Core
	oracle *oracle.Oracle
	steps  int
	bound  int
	kinds  map[string]int
}

func newBoth(c control.Config) *both {
	return &both{core: control.New(c), oracle: oracle.New(c), kinds: map[string]int{}}
}

func (b *both) step(t *testing.T, now time.Duration, in control.Inputs) control.Outputs {
	t.Helper()
	got, want := b.core.Step(now, in), b.oracle.Step(now, in)
	b.steps++
	if len(got.Send)+len(got.View.Receive) > 0 {
		b.bound++
	}
	b.kinds[got.View.Probe.String()]++
	if !same(got, want) {
		t.Fatalf("step %d at %s differs\n core   %+v\n oracle %+v", b.steps, now, got, want)
	}
	return got
}

// same compares outputs; nil and empty lists are alike.
func same(a, b control.Outputs) bool {
	if len(a.Send)+len(b.Send) == 0 {
		a.Send, b.Send = nil, nil
	}
	if len(a.Notices)+len(b.Notices) == 0 {
		a.Notices, b.Notices = nil, nil
	}
	return reflect.DeepEqual(a, b)
}

// TestCoreDecidesAsBeforeInACell compares them in a closed loop.
func TestCoreDecidesAsBeforeInACell(t *testing.T) {
	seeds, length := uint64(200), 120*time.Second
	if testing.Short() {
		seeds, length = 20, 60*time.Second
	}
	kinds := map[string]int{}
	bound, steps := 0, 0
	for seed := range seeds {
		var all []*both
		cell := scenario.NewCell(seed, time.Hour, func(_ int, c control.Config) scenario.Step {
			b := newBoth(c)
			all = append(all, b)
			return func(now time.Duration, in control.Inputs) control.Outputs { return b.step(t, now, in) }
		})
		cell.Run(length)
		for _, b := range all {
			bound, steps = bound+b.bound, steps+b.steps
			for k, n := range b.kinds {
				kinds[k] += n
			}
		}
	}
	t.Logf("%d steps, %d with bounds, by probe: %v", steps, bound, kinds)
	if bound < steps/4 || kinds["rate"] == 0 || kinds["rtt"] == 0 || kinds["release"] == 0 {
		t.Error("too little has happened")
	}
}

// FuzzCoreDecidesAsBefore compares them with random inputs.
func FuzzCoreDecidesAsBefore(f *testing.F) {
	for seed := range uint64(60) {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, seed uint64) {
		walk, c := scenario.NewWalk(seed, time.Hour)
		b := newBoth(c)
		for range 1000 {
			in := walk.Step()
			b.step(t, walk.Now, in)
		}
	})
}

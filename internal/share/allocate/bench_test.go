package allocate

import (
	"math"
	"math/rand/v2"
	"testing"
)

func BenchmarkThousandTerminals(b *testing.B) {
	for _, c := range []struct {
		name    string
		alpha   float64
		demands bool
	}{
		{"proportional", 1, false},
		{"proportional with demands", 1, true},
		{"alpha 2", 2, true},
		{"alpha 3", 3, true},
		{"total first", 0, true},
		{"max-min", FairnessFirst, true},
	} {
		b.Run(c.name, func(b *testing.B) {
			rng := rand.New(rand.NewPCG(1, 14))
			terminals := make([]Terminal, 1000)
			for i := range terminals {
				terminals[i] = Terminal{
					Max: math.Pow(10, 6+3*rng.Float64()), Weight: 1 + rng.Float64(), Demand: Unlimited,
				}
				if c.demands && i%2 == 0 {
					terminals[i].Demand = terminals[i].Max / 1000 * rng.Float64()
				}
			}
			var s Solver
			alone, err := s.Solve(c.alpha, Limits{Wire: Unlimited}, terminals)
			if err != nil {
				b.Fatal(err)
			}
			limits := Limits{Wire: alone.Total * 0.7} // both bind
			b.ReportAllocs()
			for b.Loop() {
				if _, err := s.Solve(c.alpha, limits, terminals); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

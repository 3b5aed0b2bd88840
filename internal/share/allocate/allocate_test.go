package allocate

import (
	"fmt"
	"math"
	"strings"
	"testing"
)

// The cell of the project's design: what four terminals reach alone, in Mbit/s.
func designed() []Terminal {
	return []Terminal{
		{Name: "phone", Max: 400, Demand: Unlimited},
		{Name: "laptop", Max: 500, Demand: Unlimited},
		{Name: "tablet1", Max: 50, Demand: Unlimited},
		{Name: "tablet2", Max: 50, Demand: Unlimited},
	}
}

func solve(t *testing.T, alpha float64, l Limits, terminals []Terminal) Result {
	t.Helper()
	r, err := Solve(alpha, l, terminals)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestTheDesignsTable(t *testing.T) {
	for _, c := range []struct {
		wire   float64
		shares []string // printed shares; their digits are compared
		total  string
		binds  Limit
	}{
		{1000, []string{"100", "125", "12.5", "12.5"}, "250", Airtime},
		{Unlimited, []string{"100", "125", "12.5", "12.5"}, "250", Airtime},
		{200, []string{"79", "90", "15.6", "15.6"}, "200", Both},
		{100, []string{"28.1", "28.3", "21.8", "21.8"}, "100", Both},
	} {
		r := solve(t, Proportional, Limits{Wire: c.wire}, designed())
		for i, want := range c.shares {
			_, digits, _ := strings.Cut(want, ".")
			if got := fmt.Sprintf("%.*f", len(digits), r.Shares[i]); got != want {
				t.Errorf("C = %g: terminal %d has %s, want %s", c.wire, i+1, got, want)
			}
		}
		if got := fmt.Sprintf("%.0f", r.Total); got != c.total || r.Binds != c.binds {
			t.Errorf("C = %g: %s in all, limited by %s; want %s, %s", c.wire, got, r.Binds, c.total, c.binds)
		}
		// lambda A + mu C is the sum of the weights: what all terminals together pay.
		if !math.IsInf(c.wire, 1) && math.Abs(r.Lambda+r.Mu*c.wire-4) > 1e-9 {
			t.Errorf("C = %g: the prices are %g and %g", c.wire, r.Lambda, r.Mu)
		}
	}
}

func TestAllocationsKnownInAdvance(t *testing.T) {
	unlimited := func(max ...float64) (all []Terminal) {
		for _, m := range max {
			all = append(all, Terminal{Max: m, Demand: Unlimited})
		}
		return all
	}
	demanding := designed()
	demanding[1].Demand = 25
	demanding[2].Demand = 0
	weighted := unlimited(100, 100)
	weighted[0].Weight = 3
	small := designed()
	for i := range small {
		small[i].Demand = 5
	}
	for _, c := range []struct {
		name      string
		alpha     float64
		limits    Limits
		terminals []Terminal
		want      []float64
		binds     Limit
	}{
		{"one terminal has all airtime", 1, Limits{Wire: Unlimited}, unlimited(30), []float64{30}, Airtime},
		{"one terminal has all of the wire", 1, Limits{Wire: 20}, unlimited(30), []float64{20}, Wire},
		{
			"half of the airtime", 1,
			Limits{Airtime: 0.5, Wire: Unlimited},
			unlimited(100, 10),
			[]float64{25, 2.5},
			Airtime,
		},
		{"wire alone", 1, Limits{Wire: 20}, unlimited(400, 500, 50, 50), []float64{5, 5, 5, 5}, Wire},
		{
			"what one does not use goes to the others", 1,
			Limits{Wire: Unlimited},
			demanding,
			[]float64{190, 25, 0, 23.75},
			Airtime,
		},
		{"all have what they ask for", 1, Limits{Wire: 1000}, small, []float64{5, 5, 5, 5}, Demand},
		{"weights", 1, Limits{Wire: Unlimited}, weighted, []float64{75, 25}, Airtime},
		{
			"alpha 2 is between equal airtime and equal rates", 2,
			Limits{Wire: Unlimited},
			unlimited(400, 100),
			[]float64{400.0 / 3, 200.0 / 3},
			Airtime,
		},
		{
			"max-min in airtime is equal rates", FairnessFirst,
			Limits{Wire: Unlimited},
			unlimited(400, 100),
			[]float64{80, 80},
			Airtime,
		},
		{"max-min with a demand", FairnessFirst, Limits{Wire: 80}, demanding, []float64{27.5, 25, 0, 27.5}, Wire},
		{
			"total first: the fastest has all", TotalFirst,
			Limits{Wire: Unlimited},
			unlimited(400, 500, 50),
			[]float64{0, 500, 0},
			Airtime,
		},
		{
			"total first: those as fast share", TotalFirst,
			Limits{Wire: Unlimited},
			unlimited(50, 500, 500),
			[]float64{0, 250, 250},
			Airtime,
		},
		{
			"total first: the wire's total needs no unfairness", TotalFirst,
			Limits{Wire: 30},
			unlimited(400, 500, 100),
			[]float64{10, 10, 10},
			Wire,
		},
		{
			"total first: what the fastest leaves goes to the next", TotalFirst,
			Limits{Wire: Unlimited},
			demanding,
			[]float64{380, 25, 0, 0},
			Airtime,
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := solve(t, c.alpha, c.limits, c.terminals)
			for i := range c.want {
				if math.Abs(r.Shares[i]-c.want[i]) > 1e-9*500 {
					t.Fatalf("shares %v, want %v", r.Shares, c.want)
				}
			}
			if r.Binds != c.binds {
				t.Errorf("limited by %s, want %s", r.Binds, c.binds)
			}
		})
	}
}

// With both limits and weights, the greatest weighted total mixes two kinds: all airtime to one
// leaves some of the wire, all of the wire to the other takes too much airtime.
func TestTotalFirstMixesTwoKinds(t *testing.T) {
	r := solve(t, TotalFirst, Limits{Wire: 100}, []Terminal{
		{Max: 400, Weight: 1, Demand: Unlimited},
		{Max: 50, Weight: 2, Demand: Unlimited},
	})
	// x/400 + y/50 = 1 and x + y = 100
	if y := 300.0 / 7; math.Abs(r.Shares[1]-y) > 1e-9 || math.Abs(r.Shares[0]-(100-y)) > 1e-9 || r.Binds != Both {
		t.Errorf("%+v", r)
	}
}

func TestWhatIsNoProblem(t *testing.T) {
	with := func(change func(*Terminal)) []Terminal {
		all := designed()
		change(&all[2])
		return all
	}
	for _, c := range []struct {
		name      string
		alpha     float64
		limits    Limits
		terminals []Terminal
		says      string
	}{
		{"no terminals", 1, Limits{Wire: 1}, nil, "no terminals"},
		{"negative alpha", -1, Limits{Wire: 1}, designed(), "alpha -1"},
		{"alpha is no number", math.NaN(), Limits{Wire: 1}, designed(), "alpha NaN"},
		{"no wire", 1, Limits{}, designed(), "wire of 0"},
		{"wire is no number", 1, Limits{Wire: math.NaN()}, designed(), "wire of NaN"},
		{"negative airtime", 1, Limits{Airtime: -1, Wire: 1}, designed(), "airtime of -1"},
		{"unlimited airtime", 1, Limits{Airtime: math.Inf(1), Wire: 1}, designed(), "airtime of +Inf"},
		{"zero rate alone", 1, Limits{Wire: 1}, with(func(t *Terminal) { t.Max = 0 }), "tablet1: found a rate of 0"},
		{
			"rate alone is no number", 1,
			Limits{Wire: 1},
			with(func(t *Terminal) { t.Max = math.NaN() }),
			"tablet1: found a rate of NaN",
		},
		{"infinite rate alone", 1, Limits{Wire: 1}, with(func(t *Terminal) { t.Max = math.Inf(1) }), "tablet1"},
		{
			"rate alone too small to divide by", 1,
			Limits{Wire: 1},
			with(func(t *Terminal) { t.Max = 5e-324 }),
			"tablet1",
		},
		{
			"negative weight", 1,
			Limits{Wire: 1},
			with(func(t *Terminal) { t.Weight = -1 }),
			"tablet1: found a weight of -1",
		},
		{
			"demand is no number", 1,
			Limits{Wire: 1},
			with(func(t *Terminal) { t.Demand = math.NaN() }),
			"tablet1: found a demand of NaN",
		},
		{"without a name", 1, Limits{Wire: 1}, with(func(t *Terminal) {
			t.Name = ""
			t.Max = 0
		}), "terminal 3"},
	} {
		if _, err := Solve(c.alpha, c.limits, c.terminals); err == nil || !strings.Contains(err.Error(), c.says) {
			t.Errorf("%s: %v, want it to say %q", c.name, err, c.says)
		}
	}
}

func TestLimitNames(t *testing.T) {
	for l, want := range map[Limit]string{
		Demand: "demand", Airtime: "airtime", Wire: "wire", Both: "both", 9: "limit 9",
	} {
		if b, err := l.MarshalText(); err != nil || string(b) != want {
			t.Errorf("%d is %q, %v", l, b, err)
		}
	}
}

func TestASolverUsedAgainAllocatesNothing(t *testing.T) {
	var s Solver
	for _, alpha := range []float64{0, 0.5, 1, 2, FairnessFirst} {
		terminals := designed()
		if _, err := s.Solve(alpha, Limits{Wire: 200}, terminals); err != nil {
			t.Fatal(err)
		}
		if n := testing.AllocsPerRun(20, func() { _, _ = s.Solve(alpha, Limits{Wire: 200}, terminals) }); n != 0 {
			t.Errorf("alpha %g: %g allocations", alpha, n)
		}
	}
}

func TestASolverForgetsTheProblemBefore(t *testing.T) {
	var s Solver
	for seed := range uint64(200) {
		p := drawn(seed)
		got, err := s.Solve(p.alpha, p.limits, p.terminals)
		if err != nil {
			t.Fatal(err)
		}
		want := solve(t, p.alpha, p.limits, p.terminals)
		if fmt.Sprint(got) != fmt.Sprint(want) {
			t.Fatalf("problem %d: %v, by a new solver %v", seed, got, want)
		}
	}
}

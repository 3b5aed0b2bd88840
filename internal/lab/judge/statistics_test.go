package judge

import (
	"encoding/json"
	"math"
	"math/rand/v2"
	"slices"
	"testing"

	"gonum.org/v1/gonum/stat"

	"airtide/internal/stats"
)

const tolerance = 1e-9

func near(a, b float64) bool { return math.Abs(a-b) <= tolerance*max(1, math.Abs(a), math.Abs(b)) }

// numbersOf draws n positive numbers that depend on the seed alone.
func numbersOf(seed uint64, n int) []float64 {
	rng := rand.New(rand.NewPCG(seed, 1))
	x := make([]float64, n)
	for i := range x {
		x[i] = 0.1 + 100*rng.Float64()
	}
	return x
}

func TestSummaryHasTheTextbookFigures(t *testing.T) {
	s := Summarise([]float64{2, 4, 4, 4, 5, 5, 7, 9}, 1)
	if s.Runs != 8 || s.Mean != 5 || s.Median != 4.5 || !near(s.SD, math.Sqrt(32.0/7)) {
		t.Errorf("got %+v, expected mean 5, median 4.5, sd sqrt(32/7)", s)
	}
	// Student's interval is 5 -+ 2.365 * 2.138 / sqrt(8) = 3.21 .. 6.79; the bootstrap's has its
	// width and leans to the right.
	if s.Interval.Low < 3.1 || s.Interval.Low > 3.5 || s.Interval.High < 6.7 || s.Interval.High > 7.2 {
		t.Errorf("the interval is %v, expected some 3.3 to 6.9", s.Interval)
	}
	if one := Summarise([]float64{3}, 1); one.Mean != 3 || !math.IsNaN(one.SD) || !math.IsNaN(one.Interval.Low) {
		t.Errorf("one run gave %+v: its spread cannot be known", one)
	}
	if equal := Summarise([]float64{3, 3, 3}, 1); equal.Interval != (Interval{Low: 3, High: 3}) || equal.SD != 0 {
		t.Errorf("three equal runs gave %+v", equal)
	}
}

func TestSummaryMovesWithItsValues(t *testing.T) {
	for seed := range uint64(50) {
		x := numbersOf(seed, 2+int(seed%8))
		for i := range x {
			x[i] -= 1000 // an interval of positive values would be cut at 0
		}
		moved := make([]float64, len(x))
		shuffled := slices.Clone(x)
		for i := range x {
			moved[i] = 3*x[i] + 7
		}
		rand.New(rand.NewPCG(seed, 2)).Shuffle(len(x), func(i, j int) {
			shuffled[i], shuffled[j] = shuffled[j], shuffled[i]
		})
		a := Summarise(x, seed)
		b := Summarise(moved, seed)
		c := Summarise(shuffled, seed)
		for _, pair := range [][2]float64{
			{3*a.Mean + 7, b.Mean},
			{3 * a.SD, b.SD},
			{3*a.Median + 7, b.Median},
			{3*a.Interval.Low + 7, b.Interval.Low},
			{3*a.Interval.High + 7, b.Interval.High},
			{a.Mean, c.Mean},
			{a.SD, c.SD},
			{a.Median, c.Median},
		} {
			if !near(pair[0], pair[1]) {
				t.Fatalf("values %v: %+v, times 3 plus 7 %+v, shuffled %+v", x, a, b, c)
			}
		}
		if a != Summarise(x, seed) {
			t.Fatal("the same seed gave another interval")
		}
		if a.Interval.Low > a.Mean || a.Interval.High < a.Mean {
			t.Fatalf("the interval %v of %v does not hold its mean", a.Interval, x)
		}
	}
}

// An interval is worth its name when it holds the true mean as often as it says. The plain
// percentile interval of three values cannot do so in more than 75 % (all three lie on one side of
// the mean in a quarter of all cases), that of five in some 84 %.
func TestIntervalHoldsTheTrueMean(t *testing.T) {
	for _, c := range []struct {
		runs     int
		from, to float64
	}{{3, 0.905, 0.99}, {5, 0.905, 0.99}, {20, 0.905, 0.99}} {
		const experiments = 200 // 0.95 -+ three standard errors of a share among so many
		rng := rand.New(rand.NewPCG(uint64(c.runs), 3))
		held := 0
		for e := range experiments {
			x := make([]float64, c.runs)
			for i := range x {
				x[i] = 10 + 2*rng.NormFloat64()
			}
			in := stats.Bootstrap(x, func(v []float64) float64 { return stat.Mean(v, nil) }, uint64(e))
			if in.Low <= 10 && 10 <= in.High {
				held++
			}
		}
		if share := float64(held) / experiments; share < c.from || share > c.to {
			t.Errorf("95 %% intervals of %d runs hold the true mean in %.3f of experiments, expected %.2f to %.2f",
				c.runs, share, c.from, c.to)
		}
	}
}

func TestWhatCannotBeSaidIsNullInJSON(t *testing.T) {
	b, err := json.Marshal(Summarise([]float64{3}, 1))
	if err != nil || string(b) != `{"runs":1,"mean":3,"sd":null,"median":3,"interval":null}` {
		t.Errorf("got %s, %v", b, err)
	}
	b, err = json.Marshal(Param{Text: "cubic", Number: math.NaN()})
	var back Param
	if err != nil || json.Unmarshal(b, &back) != nil || back.Text != "cubic" || !math.IsNaN(back.Number) {
		t.Errorf("a parameter came back from %s as %+v, %v", b, back, err)
	}
}

// Counts are not negative, and so are the intervals of their means.
func TestIntervalsOfCountsAreNotNegative(t *testing.T) {
	for _, values := range [][]float64{{7, 32}, {0, 5000}, {0, 0, 1}} {
		s := Summarise(values, 1)
		if s.Interval.Low != 0 || s.Interval.High <= s.Mean {
			t.Errorf("%v: %+v", values, s)
		}
	}
	if s := Summarise([]float64{-1, 1}, 1); s.Interval.Low >= -1 {
		t.Errorf("values of both signs: %+v", s)
	}
	if s := Summarise([]float64{3}, 1); !math.IsNaN(s.Interval.Low) {
		t.Errorf("a single value: %+v", s)
	}
}

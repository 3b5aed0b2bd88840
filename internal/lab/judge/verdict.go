package judge

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"

	"airtide/internal/stats"
)

// Outcome is the result of a claim.
type Outcome string

// The outcomes. A comparison is decided if the whole 95 % interval of the difference lies on one
// side of the bound.
const (
	Held       Outcome = "held"
	NotHeld    Outcome = "not held"
	NotDecided Outcome = "not decided"
)

// NotHeldError says that a claim is not held.
type NotHeldError struct{}

func (NotHeldError) Error() string { return "a claim is not held" }

// ExitStatus returns the exit status of a program that ends with this error.
func (NotHeldError) ExitStatus() int { return 3 }

// Verdict is the outcome of a claim with its comparisons.
type Verdict struct {
	Outcome     Outcome             `json:"outcome"`
	Expression  string              `json:"expression"`
	Comparisons []ComparisonVerdict `json:"comparisons"`
	// Text contains the figures and the outcome in words.
	Text string `json:"text"`
}

// ComparisonVerdict is one comparison of a claim with its figures. Margin is the distance from the
// bound in the unit of the two sides. It is positive if the comparison holds.
type ComparisonVerdict struct {
	Outcome Outcome  `json:"outcome"`
	Left    Estimate `json:"left"`
	Right   Estimate `json:"right"`
	Margin  Estimate `json:"margin"`
	Text    string   `json:"text"`
}

// Estimate is a figure over the runs with its interval. Runs is the smallest number of repeats
// among the points that were read.
type Estimate struct {
	Value    float64  `json:"value"`
	Interval Interval `json:"interval"`
	Runs     int      `json:"runs"`
}

// Judge evaluates the claim on runs. The bootstrap resamples whole runs within each point, so the
// measurements of a run stay together. The same seed gives the same verdict.
func (c *Claim) Judge(runs []Run, seed uint64) (Verdict, error) {
	v := Verdict{Expression: c.expression}
	var failed error
	v.Outcome = c.root.outcome(func(cmp *comparison) Outcome {
		cv, err := c.compare(cmp, runs, seed)
		if err != nil && failed == nil {
			failed = fmt.Errorf("judging %s: %w", c.expression, err)
		}
		v.Comparisons = append(v.Comparisons, cv)
		return cv.Outcome
	})
	if failed != nil {
		return Verdict{}, failed
	}
	texts := make([]string, len(v.Comparisons))
	for i, cv := range v.Comparisons {
		texts[i] = cv.Text
	}
	v.Text = fmt.Sprintf("%s: %s", v.Outcome, strings.Join(texts, "; "))
	return v, nil
}

func (c *Claim) compare(cmp *comparison, runs []Run, seed uint64) (ComparisonVerdict, error) {
	groups := byPoint(runs)
	used := map[*Run]bool{}
	evaluate := func(s side, env environment) (float64, error) {
		v, err := s.program(env)
		return v.number, err
	}
	sides := func(env environment) (left, right, margin float64, err error) {
		left, err = evaluate(cmp.left, env)
		if err != nil {
			return
		}
		right, err = evaluate(cmp.right, env)
		if err != nil {
			return
		}
		margin = right - left
		if strings.HasPrefix(cmp.operator, ">") {
			margin = -margin
		}
		return
	}
	all := make([]*Run, 0, len(runs))
	for _, g := range groups {
		all = append(all, g...)
	}
	left, right, margin, err := sides(c.vocabulary.environment(all, used))
	if err != nil {
		return ComparisonVerdict{}, err
	}
	n := fewest(groups, used)
	cv := ComparisonVerdict{
		Left:   Estimate{left, stats.UnknownInterval, n},
		Right:  Estimate{right, stats.UnknownInterval, n},
		Margin: Estimate{margin, stats.UnknownInterval, n},
	}
	if n >= 2 && !math.IsNaN(margin) {
		rng := stats.Resampler(seed)
		drawn := make([]*Run, len(all))
		env := c.vocabulary.environment(drawn, nil) // reads drawn, which each resample replaces
		var lefts, rights, margins [stats.Resamples]float64
		for i := range stats.Resamples {
			resample(groups, drawn, rng)
			lefts[i], rights[i], margins[i], err = sides(env)
			if err != nil {
				return ComparisonVerdict{}, err
			}
		}
		cv.Left.Interval = stats.IntervalOf(lefts[:], left, n)
		cv.Right.Interval = stats.IntervalOf(rights[:], right, n)
		cv.Margin.Interval = stats.IntervalOf(margins[:], margin, n)
	}
	cv.Outcome = decide(cmp.operator, cv.Margin.Interval)
	cv.Text = cmp.describe(cv)
	return cv, nil
}

// resample draws as many runs of each point as it has, with replacement.
func resample(groups [][]*Run, drawn []*Run, rng *rand.Rand) {
	i := 0
	for _, g := range groups {
		for range g {
			drawn[i] = g[rng.IntN(len(g))]
			i++
		}
	}
}

// fewest returns the smallest number of repeats among the points that were read.
func fewest(groups [][]*Run, used map[*Run]bool) int {
	least := 0
	for _, g := range groups {
		n := 0
		for _, r := range g {
			if used[r] {
				n++
			}
		}
		if n > 0 && (least == 0 || n < least) {
			least = n
		}
	}
	return least
}

// decide derives the outcome from the interval of the margin.
func decide(operator string, margin Interval) Outcome {
	strict := !strings.HasSuffix(operator, "=")
	switch {
	case math.IsNaN(margin.Low):
		return NotDecided
	case margin.Low > 0, margin.Low == 0 && !strict:
		return Held
	case margin.High < 0, margin.High == 0 && strict:
		return NotHeld
	}
	return NotDecided
}

// describe writes the figures in one line: mean(tcp) = 10.9 [10.7, 11.2] < 14.1, 5 runs: held.
func (cmp *comparison) describe(cv ComparisonVerdict) string {
	text := fmt.Sprintf("%s %s %s", cmp.left.describe(cv.Left), cmp.operator, cmp.right.describe(cv.Right))
	switch {
	case math.IsNaN(cv.Margin.Value):
		return text + ": not decided, there are no values"
	case cv.Margin.Runs < 2:
		return text + ": not decided by one run, repeat it"
	case cv.Outcome == NotDecided && math.IsNaN(cv.Margin.Interval.Low):
		return text + ": not decided, some runs have no values"
	case cv.Outcome == NotDecided:
		return fmt.Sprintf("%s, %d runs: not decided, the margin %s straddles the limit", text, cv.Margin.Runs,
			cv.Margin)
	}
	return fmt.Sprintf("%s, %d runs: %s", text, cv.Margin.Runs, cv.Outcome)
}

func (s side) describe(e Estimate) string {
	if s.constant {
		return s.text
	}
	return s.text + " = " + e.String()
}

// String returns the figure with its interval: 10.9 [10.7, 11.2].
func (e Estimate) String() string {
	if math.IsNaN(e.Interval.Low) {
		return fmt.Sprintf("%.4g", e.Value)
	}
	return fmt.Sprintf("%.4g [%.4g, %.4g]", e.Value, e.Interval.Low, e.Interval.High)
}

// outcome follows Kleene's three-valued logic: an undecided term matters only if it could change
// the result. All terms are evaluated, so that all figures are shown.
func (j joined) outcome(decide func(*comparison) Outcome) Outcome {
	decisive := NotHeld
	neutral := Held
	if j.operator == "or" {
		decisive = Held
		neutral = NotHeld
	}
	result := neutral
	for _, t := range j.terms {
		switch o := t.outcome(decide); {
		case o == decisive:
			result = decisive
		case o == NotDecided && result != decisive:
			result = NotDecided
		}
	}
	return result
}

func (n negated) outcome(decide func(*comparison) Outcome) Outcome {
	switch n.term.outcome(decide) {
	case Held:
		return NotHeld
	case NotHeld:
		return Held
	}
	return NotDecided
}

func (cmp *comparison) outcome(decide func(*comparison) Outcome) Outcome { return decide(cmp) }

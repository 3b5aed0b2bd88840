package judge

import (
	"encoding/json"
	"errors"
	"math/rand/v2"
	"strings"
	"testing"
)

var vocabulary = Vocabulary{
	Measurements: []string{"goodput", "each"},
	Axes:         map[string][]string{"protocol": {"tcp", "udp"}, "rtt": {"0 ms", "16 ms", "512 ms"}},
}

// figureEight has runs like figure 8 of Miki et al. 2010: TCP falls with the RTT, UDP does not.
func figureEight(repeats int) []Run {
	rng := rand.New(rand.NewPCG(8, 8))
	var runs []Run
	for range repeats {
		for i, rtt := range []Param{{"0 ms", 0}, {"16 ms", 0.016}, {"512 ms", 0.512}} {
			for j, protocol := range vocabulary.Axes["protocol"] {
				goodput := [2][3]float64{{20, 18, 1.5}, {25, 25, 25}}[j][i]
				runs = append(runs, Run{
					Point: map[string]Param{"rtt": rtt, "protocol": {Text: protocol}},
					Values: map[string][]float64{
						"goodput": {goodput * (1 + 0.01*rng.NormFloat64())},
						"each":    {goodput, goodput, goodput / 2, goodput / 2},
					},
				})
			}
		}
	}
	return runs
}

func TestClaimsAreHeldAgainstTheRuns(t *testing.T) {
	for _, c := range []struct {
		claim string
		want  Outcome
	}{
		{`mean(at(goodput, {protocol: "tcp", rtt: "0 ms"})) < mean(at(goodput, {protocol: "udp", rtt: "0 ms"}))`, Held},
		{
			`mean(at(goodput, {protocol: "tcp", rtt: "0 ms"})) > mean(at(goodput, {protocol: "udp", rtt: "0 ms"}))`,
			NotHeld,
		},
		{
			`mean(at(goodput, {protocol: "tcp", rtt: "512 ms"})) < ` +
				`0.1 * mean(at(goodput, {protocol: "tcp", rtt: "0 ms"}))`,
			Held,
		},
		{`mean(at(goodput, {protocol: "udp", rtt: "0 ms"})) >= 25`, NotDecided},
		{`abs(mean(at(goodput, {protocol: "udp"})) - 25) < 1`, Held},
		{`rank_correlation(at(goodput, {protocol: "tcp"}), "rtt") <= -0.9`, Held},
		{`rank_correlation(at(goodput, {protocol: "tcp"}), "rtt") > 0`, NotHeld},
		{
			`mean(at(goodput, {protocol: "tcp", rtt: "0 ms"})) > 19 and ` +
				`mean(at(goodput, {protocol: "tcp", rtt: "0 ms"})) < 21`,
			Held,
		},
		{`mean(at(goodput, {protocol: "udp", rtt: "0 ms"})) >= 25 and mean(goodput) > 100`, NotHeld},
		{`mean(at(goodput, {protocol: "udp", rtt: "0 ms"})) >= 25 or mean(goodput) > 1`, Held},
		{`mean(at(goodput, {protocol: "udp", rtt: "0 ms"})) >= 25 and mean(goodput) > 1`, NotDecided},
		{`not (mean(goodput) > 100)`, Held},
		// The mean over all RTTs differs by 25/13; UDP is far above at 512 ms alone.
		{`mean(at(goodput, {protocol: "udp"})) < 2 * mean(at(goodput, {protocol: "tcp"}))`, Held},
		{`at_each("rtt", mean(at(goodput, {protocol: "udp"})) < 2 * mean(at(goodput, {protocol: "tcp"})))`, NotHeld},
		{`at_each("rtt", mean(at(goodput, {protocol: "udp"})) > 1.2 * mean(at(goodput, {protocol: "tcp"})))`, Held},
		{`mean(goodput) > 1 and at_each("protocol", at_each("rtt", mean(goodput) > 1.4 and jain(each) > 0.8))`, Held},
		{`not at_each("rtt", mean(goodput) > 14)`, Held},
		{`jain(each) > 0.89 and jain(each) < 0.91`, Held},
		{`normalised_jain(each, [10, 10, 5, 5]) >= 0.999`, Held},
		{`printed_index(at(each, {protocol: "udp"}), [25, 25, 12.5, 12.5]) > 0.99`, Held},
		{`abs(airtime_used(at(each, {protocol: "udp"}), [50, 50, 25, 25]) - 2) < 0.01`, Held},
		{`abs(distance(at(each, {protocol: "udp"}), [100, 100, 50, 50])) < 1e-6`, Held},
		{`distance(at(each, {protocol: "udp"}), [200, 200, 100, 100]) > 0.69`, Held},
		{`distance(at(each, {protocol: "udp"}), [200, 200, 100, 100], 75) < 0.1`, Held},
		{
			`total(at(each, {protocol: "udp"})) >= 75 and ` +
				`median(goodput) > 1 and sd(goodput) > 0.1 and min(goodput) < max(goodput)`,
			Held,
		},
	} {
		claim, err := Compile(c.claim, vocabulary)
		if err != nil {
			t.Errorf("%s: %v", c.claim, err)
			continue
		}
		v, err := claim.Judge(figureEight(5), 1)
		if err != nil || v.Outcome != c.want {
			t.Errorf("%s: %s (%v), expected %s", c.claim, v.Text, err, c.want)
		}
		if _, err := json.Marshal(v); err != nil {
			t.Errorf("%s: %v", c.claim, err)
		}
	}
}

func TestTheSameRunsAndSeedGiveTheSameVerdict(t *testing.T) {
	claim, err := Compile(`mean(goodput) > 10`, vocabulary)
	if err != nil {
		t.Fatal(err)
	}
	first, err := claim.Judge(figureEight(5), 1)
	if err != nil {
		t.Fatal(err)
	}
	again, err := claim.Judge(figureEight(5), 1)
	if err != nil || again.Text != first.Text {
		t.Errorf("got\n%s\n%s (%v)", first.Text, again.Text, err)
	}
	other, err := claim.Judge(figureEight(5), 2)
	if err != nil || other.Comparisons[0].Left.Interval == first.Comparisons[0].Left.Interval {
		t.Errorf("another seed drew the same: %s (%v)", other.Text, err)
	}
}

func TestOneRunDecidesNothing(t *testing.T) {
	claim, err := Compile("mean(goodput) > 0", vocabulary)
	if err != nil {
		t.Fatal(err)
	}
	v, err := claim.Judge(figureEight(1), 1)
	if err != nil || v.Outcome != NotDecided || !strings.Contains(v.Text, "one run, repeat it") {
		t.Errorf("got %+v, %v", v, err)
	}
	v, err = claim.Judge(nil, 1)
	if err != nil || v.Outcome != NotDecided || !strings.Contains(v.Text, "no values") {
		t.Errorf("without runs: got %+v, %v", v, err)
	}
	if _, err := json.Marshal(v); err != nil {
		t.Error(err)
	}
}

func TestVerdictShowsItsFigures(t *testing.T) {
	claim, err := Compile(`mean(at(each, {protocol: "udp"})) < 20`, vocabulary)
	if err != nil {
		t.Fatal(err)
	}
	v, err := claim.Judge(figureEight(3), 1)
	want := `held: mean(at(each, {protocol: "udp"})) = 18.75 [18.75, 18.75] < 20, 3 runs: held`
	if err != nil || v.Text != want {
		t.Errorf("got  %s\nwant %s (%v)", v.Text, want, err)
	}
}

// Whatever the unit, and whichever way round a comparison is written, the outcome is the same.
func TestOutcomeDoesNotDependOnTheWriting(t *testing.T) {
	for seed := range uint64(30) {
		rng := rand.New(rand.NewPCG(seed, 4))
		var runs []Run
		for range 4 {
			for _, protocol := range []string{"tcp", "udp"} {
				runs = append(
					runs,
					Run{
						Point:  map[string]Param{"protocol": {Text: protocol}},
						Values: map[string][]float64{"goodput": {10 + rng.NormFloat64()}},
					},
				)
			}
		}
		const a, b = `mean(at(goodput, {protocol: "tcp"}))`, `mean(at(goodput, {protocol: "udp"}))`
		var outcomes []Outcome
		for _, text := range []string{
			a + " < " + b, b + " > " + a, "1000*" + a + " < 1000*" + b, a + " - " + b + " < 0",
			"not (" + a + " >= " + b + ")",
		} {
			claim, err := Compile(text, vocabulary)
			if err != nil {
				t.Fatal(err)
			}
			v, err := claim.Judge(runs, seed)
			if err != nil {
				t.Fatal(err)
			}
			outcomes = append(outcomes, v.Outcome)
		}
		for _, o := range outcomes {
			if o != outcomes[0] {
				t.Fatalf("seed %d: outcomes differ with the writing: %v", seed, outcomes)
			}
		}
	}
}

func TestMistakesInClaimsAreNamedAndPlaced(t *testing.T) {
	for _, c := range []struct {
		claim, message string
		column         int
	}{
		{`mean(goodptu) < 3`, "unknown name goodptu", 6},
		{`mean(goodput) == 3`, "never exactly equal", 15},
		{`mean(goodput)`, "expected comparisons", 1},
		{
			`mean(at(goodput, {rtt: "17 ms"})) < 3`,
			`rtt takes no value "17 ms" in the sweep, expected one of: 0 ms, 16 ms, 512 ms`, 24,
		},
		{
			`mean(at(goodput, {rrt: "16 ms"})) < 3`,
			`"rrt" is no parameter of the sweep, expected one of: protocol, rtt`, 19,
		},
		{`rank_correlation(goodput, "delay") < 0`, `"delay" is no parameter of the sweep`, 27},
		{`mean(3) < 3`, "3 is a number, expected a measurement", 6},
		{`goodput < 3`, "goodput is a measurement, expected a number, such as mean(goodput)", 1},
		{`mean(goodput) < `, "end of file", 17},
		{`len(goodput) < 3`, "unknown name len", 1},
		{`true`, "expected comparisons", 1},
		{`at_each("delay", mean(goodput) > 1)`, `"delay" is no parameter of the sweep`, 9},
		{`at_each("rtt", mean(at(goodput, {rtt: "17 ms"})) < 3)`, `rtt takes no value "17 ms"`, 39},
		{`at_each("rtt", true)`, "expected comparisons", 16},
		{`at_each("rtt", at_each("rtt", mean(goodput) > 1))`, "at_each has rtt already", 16},
		{`at_each("rtt")`, "1 arguments, expected at_each", 1},
		{`mean(at_each("rtt", mean(goodput) > 1)) > 1`, "at_each joins comparisons", 6},
		{`mean(goodput) < 3 ? true : false`, "unexpected input character", 19},
		{`mean(goodput) < 3 if true else false`, "expected comparisons", 1},
		{`mean(goodput) < 3 # or more`, "end of the claim", 18},
		{`mean(goodput % 2) < 3`, "% does not give a number", 14},
		{`mean(goodput, goodput) < 3`, "2 arguments, expected mean(goodput)", 1},
		{`jain(each) < 3 < 4`, "does not associate", 17},
		{`normalised_jain(each, [1, "x"]) < 3`, "expected a number", 27},
		{`at(goodput, 3) < 3`, "expected swept parameters", 13},
		{``, "end of file", 1},
	} {
		_, err := Compile(c.claim, vocabulary)
		var m *Mistake
		if !errors.As(err, &m) || !strings.Contains(m.Message, c.message) {
			t.Errorf("%s: got %v, expected %q", c.claim, err, c.message)
		} else if m.Column != c.column || m.Line != 1 {
			t.Errorf("%s: %v placed at %d:%d, expected 1:%d", c.claim, err, m.Line, m.Column, c.column)
		}
	}
}

func TestEachPointOfAtEachIsShown(t *testing.T) {
	claim, err := Compile(`at_each("protocol", mean(at(each, {rtt: "0 ms"})) > 1)`, vocabulary)
	if err != nil {
		t.Fatal(err)
	}
	v, err := claim.Judge(figureEight(2), 1)
	if err != nil || len(v.Comparisons) != 2 {
		t.Fatalf("%d comparisons (%v)", len(v.Comparisons), err)
	}
	for i, protocol := range vocabulary.Axes["protocol"] {
		want := `mean(at(at(each, {protocol: "` + protocol + `"}), {rtt: "0 ms"}))`
		if !strings.HasPrefix(v.Comparisons[i].Text, want) {
			t.Errorf("got %s, expected it to begin with %s", v.Comparisons[i].Text, want)
		}
	}
}

func TestLineBreaksMeanNothingInAClaim(t *testing.T) {
	if _, err := Compile("  mean(goodput) > 1\n  and mean(goodput) < 1000\n", vocabulary); err != nil {
		t.Error(err)
	}
	_, err := Compile("mean(goodput) > 1\n  and mean(goodptu) < 1000", vocabulary)
	m, ok := errors.AsType[*Mistake](err)
	if !ok || m.Line != 2 || m.Column != 12 {
		t.Errorf("got %v, expected a mistake at 2:12", err)
	}
}

func FuzzClaim(f *testing.F) {
	f.Add(`mean(at(goodput, {rtt: "16 ms"})) < 3 and not (jain(each) > 0.9)`)
	f.Add(`normalised_jain(each, [1, "x"]) < abs(-1)`)
	runs := figureEight(2)
	f.Fuzz(func(t *testing.T, text string) {
		claim, err := Compile(text, vocabulary)
		if err != nil {
			if m := new(Mistake); !errors.As(err, &m) {
				t.Fatalf("%q: error without a place: %v", text, err)
			}
			return
		}
		// Judging may fail, as for a list of texts, but not crash, and what it says can be stored.
		if v, err := claim.Judge(runs, 1); err == nil {
			if _, err := json.Marshal(v); err != nil {
				t.Fatal(err)
			}
		}
	})
}

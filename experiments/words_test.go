package experiments

import (
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// The same word of a paper has the same limit in all experiments (docs/results/index.md, Words and
// limits): "greatly" never means less than "hardly" does elsewhere.
func TestWordsHaveOneLimit(t *testing.T) {
	rules := []struct {
		word  *regexp.Regexp
		limit string
		keeps func(factor float64) bool
	}{
		{
			regexp.MustCompile(`ほぼ(同|変)`), "a tenth",
			func(f float64) bool { return f <= 0.1 || f >= 0.9 && f <= 1.1 },
		},
		{
			regexp.MustCompile(`大幅`), "a quarter",
			func(f float64) bool { return f <= 0.75 || f >= 1.25 },
		},
	}
	found := make([]int, len(rules))
	for _, name := range Names() {
		text, err := Read(name)
		if err != nil {
			t.Fatal(err)
		}
		_, claims, _ := strings.Cut(string(text), "\nclaims:\n")
		claims, _, _ = strings.Cut(claims, "\nfigures:\n")
		for _, claim := range claimStart.Split(claims, -1) {
			quotation, formula, _ := strings.Cut(claim, "holds:")
			for i, rule := range rules {
				if !rule.word.MatchString(quotation) {
					continue
				}
				for _, m := range meanFactor.FindAllStringSubmatch(formula, -1) {
					found[i]++
					if factor, err := strconv.ParseFloat(m[1], 64); err != nil || !rule.keeps(factor) {
						t.Errorf("%s: %q has the limit %s, and here the factor %s:\n%s",
							name, rule.word, rule.limit, m[1], claim)
					}
				}
			}
		}
	}
	for i, n := range found {
		if n == 0 {
			t.Errorf("no claim has the word %q", rules[i].word)
		}
	}
}

var (
	// claimStart is the line that begins a claim.
	claimStart = regexp.MustCompile(`(?m)^  [a-z0-9_]+:$`)
	// meanFactor is a factor of one mean. Counts of errors, whose factor stands before a bracket,
	// have a limit of their own.
	meanFactor = regexp.MustCompile(`([0-9.]+) \* mean\(`)
)

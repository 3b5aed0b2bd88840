package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"

	"airtide/internal/diagnose"
)

// tally counts verdicts.
type tally struct {
	cases, right, unknown, certain, certainWrong, near int
}

func (t *tally) add(j *judged) {
	t.cases++
	if j.right() {
		t.right++
	}
	if j.got == diagnose.Unknown {
		t.unknown++
	}
	if j.certainty == diagnose.Certain {
		t.certain++
		if !j.right() {
			t.certainWrong++
		}
	}
	if j.share >= 0.9 {
		t.near++
	}
}

func percent(part, of int) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(of))
}

// held reports whether no threshold was set on a seed.
func held(seed uint64) bool { return seed%2 == 0 }

// tallies sums up by end and kind.
func tallies(all []judged, chosen func(uint64) bool) (single [numEnds]tally, changes [numEnds]tally) {
	for i := range all {
		j := &all[i]
		switch {
		case !chosen(j.seed):
		case j.change:
			changes[j.end].add(j)
		default:
			single[j.end].add(j)
		}
	}
	return single, changes
}

// printJudged prints the wrong verdicts and the rates.
func printJudged(out io.Writer, all []judged, half string) error {
	chosen := func(seed uint64) bool { return half == "all" || held(seed) == (half == "even") }
	for i := range all {
		j := &all[i]
		if chosen(j.seed) && j.right() && j.share < 0.9 {
			fmt.Fprintf(out, "%-22s seed %2d %-14s %s: share %.2f\n", j.situation, j.seed, j.end, j.got, j.share)
		}
		if chosen(j.seed) && !j.right() {
			fmt.Fprintf(out, "%-22s seed %2d %-14s want %-32s got %s (%s)\n", j.situation, j.seed, j.end, j.want, j.got,
				j.certainty)
		}
	}
	single, changes := tallies(all, chosen)
	for e := range numEnds {
		for name, t := range map[string]tally{"single": single[e], "changes": changes[e]} {
			if t.cases > 0 {
				fmt.Fprintf(out,
					"%-13s %-7s right %d of %d (%s), unknown %d, certain %d, wrong of these %d, near %s\n", e,
					name, t.right, t.cases, percent(t.right, t.cases), t.unknown, t.certain, t.certainWrong,
					percent(t.near, t.cases))
			}
		}
	}
	return nil
}

const introduction = `# Diagnosis: verdicts against known causes

"go run ./test/bench/diagnosis -record DIR" makes connections whose cause is known and records them;
"-judge DIR -page docs/results/diagnosis.md" wrote this page. Situations and parameters are in
"test/cause". Thresholds were set on the odd seeds and on seed 2. All figures here are of the other
even ones. The causes are single and steady, or change once, in an emulated path: expect less from
real traffic.

`

const meaning = `
*Right* is the limit with the most time. *Shares right*: the true limit has at least 90 %
of the time in which it held.
`

// page writes the results of the seeds that no threshold was set on.
func page(all []judged) string {
	var w strings.Builder
	w.WriteString(introduction)
	single, changes := tallies(all, held)
	w.WriteString("| recorded at | cases | right | unknown | certain | wrong of the certain | shares right |\n" +
		"|---|---|---|---|---|---|---|\n")
	row := func(name string, t tally) {
		if t.cases > 0 {
			fmt.Fprintf(&w, "| %s | %d | %s | %s | %s | %s | %s |\n", name, t.cases, percent(t.right, t.cases),
				percent(t.unknown, t.cases), percent(t.certain, t.cases), percent(t.certainWrong, t.certain),
				percent(t.near, t.cases))
		}
	}
	for e := range numEnds {
		row(e.String()+", one cause", single[e])
		row(e.String()+", a change, per phase", changes[e])
	}
	w.WriteString(meaning)
	for e := range numEnds {
		fmt.Fprintf(&w, "\n## Confusion at the %s\n\n| truth | cases | verdicts |\n|---|---|---|\n", e)
		for _, line := range confusion(all, e) {
			w.WriteString(line)
		}
	}
	return w.String()
}

// confusion has a row for each truth with the counts of the verdicts.
func confusion(all []judged, e end) []string {
	counts := map[string]map[string]int{}
	for i := range all {
		j := &all[i]
		if j.end != e || !held(j.seed) {
			continue
		}
		if counts[j.want] == nil {
			counts[j.want] = map[string]int{}
		}
		counts[j.want][j.got.String()]++
	}
	var lines []string
	for want, got := range counts {
		type pair struct {
			name string
			n    int
		}
		var pairs []pair
		total := 0
		for name, n := range got {
			pairs = append(pairs, pair{name, n})
			total += n
		}
		slices.SortFunc(pairs, func(a, b pair) int { return cmp.Or(b.n-a.n, cmp.Compare(a.name, b.name)) })
		texts := make([]string, len(pairs))
		for i, p := range pairs {
			texts[i] = fmt.Sprintf("%s %d", p.name, p.n)
		}
		lines = append(lines, fmt.Sprintf("| %s | %d | %s |\n", strings.ReplaceAll(want, "|", " or "), total,
			strings.Join(texts, ", ")))
	}
	slices.Sort(lines)
	return lines
}

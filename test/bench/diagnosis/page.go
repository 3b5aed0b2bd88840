package main

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"airtide/internal/diagnose"
	"airtide/test/cause"
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

func (t *tally) merge(o *tally) {
	t.cases += o.cases
	t.right += o.right
	t.unknown += o.unknown
	t.certain += o.certain
	t.certainWrong += o.certainWrong
	t.near += o.near
}

func percent(part, of int) string {
	if of == 0 {
		return "-"
	}
	return fmt.Sprintf("%.1f %%", 100*float64(part)/float64(of))
}

// fresh reports whether a seed was looked at once, with the present rules. The first fresh seed
// rises with each change of a rule.
func fresh(seed uint64) bool { return seed >= 60 }

// known reports whether the rules were made with a seed in view.
func known(seed uint64) bool { return !fresh(seed) }

// group is a row of the first table.
type group int

const (
	groupSingle group = iota
	groupMixture
	groupChange
	numGroups
)

func (g group) String() string { return [...]string{"one cause", "mixtures", "changes, per phase"}[g] }

// groupOf is the group of a verdict. Sweeps have tables of their own.
func groupOf(j *judged) (g group, ok bool) {
	switch j.kind {
	case cause.Single, cause.Healthy:
		return groupSingle, true
	case cause.Mixture:
		return groupMixture, true
	case cause.Change:
		return groupChange, true
	}
	return 0, false
}

// tallies sums up by end and group.
func tallies(all []judged, chosen func(uint64) bool) (sums [numEnds][numGroups]tally) {
	for i := range all {
		j := &all[i]
		if g, ok := groupOf(j); ok && chosen(j.seed) {
			sums[j.end][g].add(j)
		}
	}
	return sums
}

// printJudged prints the wrong verdicts and the rates.
func printJudged(out io.Writer, all []judged) error {
	for i := range all {
		j := &all[i]
		if j.right() && j.share < 0.9 {
			fmt.Fprintf(out, "%-22s seed %2d %-14s %s: share %.2f\n", j.situation, j.seed, j.end, j.got, j.share)
		}
		if !j.right() {
			fmt.Fprintf(out, "%-22s seed %2d %-14s want %-32s got %s (%s)\n", j.situation, j.seed, j.end, j.want, j.got,
				j.certainty)
		}
	}
	sums := tallies(all, func(uint64) bool { return true })
	for e := range numEnds {
		for g := range numGroups {
			if t := sums[e][g]; t.cases > 0 {
				fmt.Fprintf(out, "%-22s %-18s right %d of %d (%s), unknown %d, certain %d, wrong %d, near %s\n",
					e, g, t.right, t.cases, percent(t.right, t.cases), t.unknown, t.certain, t.certainWrong,
					percent(t.near, t.cases))
			}
		}
	}
	return nil
}

const introduction = `# Diagnosis: verdicts against known causes

"go run ./test/bench/diagnosis -record DIR -write" writes situations whose cause is known, each as
a YAML file with its cell, its traffic and the right answers. "-record DIR" records them at both
ends: by BPF for each ACK, by polling, and by tcpdump. "-judge DIR -page
docs/results/diagnosis.md" wrote this page. The first table, the calibration and the confusion are
of fresh seeds: no rule and no threshold was made with them in view, and they were judged once. The
known seeds were recorded while the machine had other work, the fresh ones on a quiet machine.

The way of counting was chosen with other seeds in view, in favour of the diagnosis: the coarser
classes of captures, shares without the first second and the handshake, and runs that are left out.

Half of the paths have a delay that varies by up to 1.5 ms. Runs of which the cell was late were
recorded again or left out, and runs whose transfer was to reach the capacity of the path and got
less than 75 % of it: their cause is not known. Fresh seeds have no sweeps: the table of sweeps is
of known ones. The paths are emulated, so expect less from real traffic.

`

const meaning = `
*Right* is the limit with the most time. *Shares right*: the true limit has at least 90 % of the
time in which it held, without the first second and the handshake. At a capture some limits are
one class: at the sender those of its host (send buffer, bounded cwnd, pacing, own queue, own
device), those of the path's capacity, and both kinds of loss; at the receiver all that it does
not see itself.

`

// page writes the results of fresh and of known seeds, and speeds.
func page(all []judged, speeds string) string {
	var w strings.Builder
	w.WriteString(introduction)
	table(&w, all, fresh)
	w.WriteString(meaning)
	w.WriteString("## Known seeds\n\nThe rules were made with these recordings in view.\n\n")
	table(&w, all, known)
	w.WriteString("\n")
	calibration(&w, all)
	w.WriteString(speeds)
	sweeps(&w, all)
	for e := range numEnds {
		fmt.Fprintf(&w, "\n## Confusion: %s\n\n| truth | cases | verdicts |\n|---|---|---|\n", e)
		for _, line := range confusion(all, e) {
			w.WriteString(line)
		}
	}
	return w.String()
}

// table has a row for each end and group.
func table(w *strings.Builder, all []judged, chosen func(uint64) bool) {
	sums := tallies(all, chosen)
	w.WriteString("| recorded | cases | right | unknown | certain | wrong of the certain | shares right |\n" +
		"|---|---|---|---|---|---|---|\n")
	var whole tally
	for e := range numEnds {
		for g := range numGroups {
			t := sums[e][g]
			if t.cases > 0 {
				t.write(w, fmt.Sprintf("%s, %s", e, g))
			}
			whole.merge(&t)
		}
	}
	whole.write(w, "all")
}

// write writes the row of a table.
func (t *tally) write(w *strings.Builder, name string) {
	fmt.Fprintf(w, "| %s | %d | %s | %s | %s | %s | %s |\n", name, t.cases, percent(t.right, t.cases),
		percent(t.unknown, t.cases), percent(t.certain, t.cases), percent(t.certainWrong, t.certain),
		percent(t.near, t.cases))
}

// calibration compares the certainty of verdicts with their truth, and counts unknown verdicts
// where nothing was wrong.
func calibration(w *strings.Builder, all []judged) {
	w.WriteString("## Calibration\n\n" +
		"| recorded | certain: right | likely: right | unknown where nothing was wrong |\n|---|---|---|---|\n")
	for e := range numEnds {
		var cases, right [diagnose.Certain + 1]int
		healthy := 0
		unknown := 0
		for i := range all {
			j := &all[i]
			if j.end != e || !fresh(j.seed) {
				continue
			}
			if j.kind == cause.Healthy {
				healthy++
				if j.got == diagnose.Unknown {
					unknown++
				}
			}
			cases[j.certainty]++
			if j.right() {
				right[j.certainty]++
			}
		}
		of := func(c diagnose.Certainty) string {
			return fmt.Sprintf("%s of %d", percent(right[c], cases[c]), cases[c])
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s of %d |\n", e, of(diagnose.Certain), of(diagnose.Likely),
			percent(unknown, healthy), healthy)
	}
}

// sweeps lists the verdicts of the sweeps at the sender, with both ends, and of its capture.
func sweeps(w *strings.Builder, all []judged) {
	w.WriteString("\n## Sweeps\n\nNames have the swept value: parts of the path's product of rate and RTT for " +
		"buffers, of its rate for\nreaders, per cent for losses.\n\n" +
		"| sweep | truth | sender | both ends | polled | capture |\n" +
		"|---|---|---|---|---|---|\n")
	type key struct{ name, want string }
	found := map[key]map[end]string{}
	for i := range all {
		j := &all[i]
		if j.kind != cause.Sweep {
			continue
		}
		k := key{strings.TrimPrefix(j.situation, "sweep-"), strings.ReplaceAll(j.want, "|", " or ")}
		if found[k] == nil {
			found[k] = map[end]string{}
		}
		found[k][j.end] = j.got.String()
	}
	keys := slices.SortedFunc(maps.Keys(found), func(a, b key) int { return cmp.Compare(a.name, b.name) })
	for _, k := range keys {
		f := found[k]
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s |\n", k.name, k.want, f[atSender], f[bothEnds], f[polled],
			f[capturedAtSender])
	}
}

// confusion has a row for each truth with the counts of the verdicts.
func confusion(all []judged, e end) []string {
	counts := map[string]map[string]int{}
	for i := range all {
		j := &all[i]
		if j.end != e || !fresh(j.seed) || j.kind == cause.Sweep {
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

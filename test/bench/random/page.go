package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
	"time"

	"airtide/internal/stats"
	"airtide/internal/units"
)

// print writes a cell terminal by terminal.
func (o *outcome) print(out io.Writer) {
	fmt.Fprintf(out, "seed %d: %s\n", o.cell.seed, o.cell)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "terminal\tMbit/s\tdefault\tairtime\tdefault\tRTT p95\tdefault\t")
	for i, s := range o.cell.scenario.Stations {
		note := ""
		if s.NoAgent {
			note = "no agent"
		}
		fmt.Fprintf(w, "%d\t%.2f\t%.2f\t%.3f\t%.3f\t%v\t%v\t%s\n", i+1,
			o.with.Goodputs[i]/1e6, o.without.Goodputs[i]/1e6, o.with.Airtimes[i], o.without.Airtimes[i],
			o.with.RTT95[i].Round(time.Millisecond), o.without.RTT95[i].Round(time.Millisecond), note)
	}
	w.Flush()
	fmt.Fprintf(out, "total %.2f of the default, index %.3f (default %.3f), "+
		"airtime index %.3f (default %.3f), RTT p95 %.2f of the default\n",
		o.total, o.index, o.defaultIndex, o.airtime, o.defaultAirtime, o.rtt)
	for _, notice := range o.with.Notices {
		fmt.Fprintln(out, notice)
	}
}

// line is a cell in a line.
func (o *outcome) line() string {
	return fmt.Sprintf("%d total %.2f (optimum %.2f) index %.3f (default %.3f) airtime %.3f rtt %.2f: %s",
		o.cell.seed, o.total, o.optimal, o.index, o.defaultIndex, o.airtime, o.rtt, o.cell)
}

// group is a part of the cells that the page shows in a row.
type group struct {
	name     string
	includes func(*outcome) bool
}

var groups = []group{
	{"told, all have agents", func(o *outcome) bool { return !o.cell.unknown && o.cell.foreign() == 0 }},
	{"told, 1 or 2 without", func(o *outcome) bool { return !o.cell.unknown && o.cell.foreign() > 0 }},
	{"unknown, all have agents", func(o *outcome) bool { return o.cell.unknown && o.cell.foreign() == 0 }},
	{"unknown, 1 or 2 without", func(o *outcome) bool { return o.cell.unknown && o.cell.foreign() > 0 }},
}

// directions are groups of the cells in which all terminals have agents.
var directions = []group{
	{"up", func(o *outcome) bool { return o.cell.foreign() == 0 && !o.cell.down }},
	{"down", func(o *outcome) bool { return o.cell.foreign() == 0 && !o.cell.up }},
	{"mixed", func(o *outcome) bool { return o.cell.foreign() == 0 && o.cell.up && o.cell.down }},
}

// pageOf is a page of Markdown about all cells.
func pageOf(outcomes []outcome) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Random cells

%d random cells in virtual time, of the seeds %d to %d, with and without agents, means of %s
measured from %d to %d s. Agents are the real control and messages; the 802.11 medium has every
frame; senders are CUBIC, which agents bound. Radios tell how busy the channel is, each second.
Written by `+"`go run ./test/bench/random -cells %[1]d -first %[2]d%[7]s`"+`; `+"`-seed N`"+` shows one.

Cells have 2 to 12 terminals of 802.11b, g, a, n and ac, PHY rates from 5.5 to 1733 Mbit/s, RTTs
from 2 to 200 ms, a wire from 50 Mbit/s to unlimited, access point queues of 50 to 1000 packets, 1
to 4 flows each, up, down or mixed, and lose up to 30 %% of the reports.

Total is the total goodput with agents as a part of the total without. If the total of the
proportionally fair optimum is below 1, too, the default starves slow terminals: then no fair
allocation can keep the default's total. The fair bound is the lower one of the default's total and
the optimum times the airtime that the default uses, since the optimum knows no contention. Index is
Jain's index of the rates of terminals with agents as parts of the proportionally fair optimum;
airtime index is Jain's index of the airtimes that these rates need, which the optimum does not make
equal if the wire limits. RTT is the greatest 95th percentile among terminals with agents as a part
of that without. It can be halved where base RTTs are at most 0.4 of that without.
[random-cells-tcp.md](random-cells-tcp.md) has some of these cells with real TCP.

`, len(outcomes), outcomes[0].cell.seed, outcomes[len(outcomes)-1].cell.seed,
		units.Count(runs, "run"), int(measureFrom.Seconds()), int(measureTo.Seconds()), flags())
	table(&b, outcomes, groups)
	b.WriteString("\nThe cells in which all have agents, by the directions of their flows:\n\n")
	table(&b, outcomes, directions)
	worst(&b, outcomes, "least total", func(o *outcome) float64 { return o.total })
	worst(&b, outcomes, "least index", func(o *outcome) float64 { return o.index })
	return b.String()
}

// flags are the flags that change the outcomes.
func flags() (text string) {
	if runs > 1 {
		text += fmt.Sprintf(" -runs %d", runs)
	}
	if observe {
		text += " -observe"
	}
	if len(off) > 0 {
		text += fmt.Sprintf(" -disable %s", strings.Trim(strings.ReplaceAll(fmt.Sprint(off), " ", ","), "[]"))
	}
	return text
}

// row is a measure of the cells of a group.
type row struct {
	name  string
	value func(cells []*outcome) string
}

func total(o *outcome) float64   { return o.total }
func index(o *outcome) float64   { return o.index }
func airtime(o *outcome) float64 { return o.airtime }

// possible reports whether the optimum has the total of the default.
func possible(o *outcome) bool { return o.optimal >= 1 }

// keepsBound reports whether the total is 0.97 of the fair bound.
func keepsBound(o *outcome) bool { return o.total >= 0.97*min(1, o.optimal*min(1, o.used)) }

// mayHalve reports whether RTTs can be halved: base RTTs leave room for a queue.
func mayHalve(o *outcome) bool { return o.leastRTT <= 0.4 }

var rows = []row{
	{"cells", func(cells []*outcome) string { return strconv.Itoa(len(cells)) }},
	{"total, median", median(2, total)},
	{"total, least", func(cells []*outcome) string { return fmt.Sprintf("%.2f", slices.Min(values(cells, total))) }},
	{"total >= 1", part(all, func(o *outcome) bool { return o.total >= 1 })},
	{"total >= 0.95", part(all, func(o *outcome) bool { return o.total >= 0.95 })},
	{"total >= 0.97", part(all, func(o *outcome) bool { return o.total >= 0.97 })},
	{"optimum >= 1", part(all, possible)},
	{"total >= 1, of cells with optimum >= 1", part(possible, func(o *outcome) bool { return o.total >= 1 })},
	{"total >= 0.97, of cells with optimum >= 1", part(possible, func(o *outcome) bool { return o.total >= 0.97 })},
	{"total >= 0.97 of the fair bound", part(all, keepsBound)},
	{"index, median", median(3, index)},
	{"index, median by default", median(3, func(o *outcome) float64 { return o.defaultIndex })},
	{"index >= 0.95", part(all, func(o *outcome) bool { return o.index >= 0.95 })},
	{"index >= 0.90", part(all, func(o *outcome) bool { return o.index >= 0.9 })},
	{"airtime index, median", median(3, airtime)},
	{"airtime index, median by default", median(3, func(o *outcome) float64 { return o.defaultAirtime })},
	{"airtime index >= 0.95", part(all, func(o *outcome) bool { return o.airtime >= 0.95 })},
	{"airtime index >= 0.90", part(all, func(o *outcome) bool { return o.airtime >= 0.9 })},
	{"RTT, median", median(2, func(o *outcome) float64 { return o.rtt })},
	{"RTT <= 1/2", part(all, func(o *outcome) bool { return o.rtt <= 0.5 })},
	{"RTT <= 1/2, of cells where it can be", part(mayHalve, func(o *outcome) bool { return o.rtt <= 0.5 })},
}

// table has a row for each measure and a column for each group.
func table(b *strings.Builder, outcomes []outcome, groups []group) {
	head := "| "
	line := "|---"
	cells := make([][]*outcome, len(groups))
	for i, g := range groups {
		head += "| " + g.name + " "
		line += "|---"
		for k := range outcomes {
			if g.includes(&outcomes[k]) {
				cells[i] = append(cells[i], &outcomes[k])
			}
		}
	}
	fmt.Fprintf(b, "%s|\n%s|\n", head, line)
	for _, r := range rows {
		fmt.Fprintf(b, "| %s ", r.name)
		for i := range groups {
			text := "-"
			if len(cells[i]) > 0 {
				text = r.value(cells[i])
			}
			fmt.Fprintf(b, "| %s ", text)
		}
		b.WriteString("|\n")
	}
}

func values(cells []*outcome, of func(*outcome) float64) (all []float64) {
	for _, o := range cells {
		all = append(all, of(o))
	}
	return all
}

func median(digits int, of func(*outcome) float64) func([]*outcome) string {
	return func(cells []*outcome) string { return fmt.Sprintf("%.*f", digits, stats.Median(values(cells, of))) }
}

func all(*outcome) bool { return true }

// part is the part of the cells in a base that hold, "-" if none is in it.
func part(base, holds func(*outcome) bool) func([]*outcome) string {
	return func(cells []*outcome) string {
		n := 0
		of := 0
		for _, o := range cells {
			if base(o) {
				of++
				if holds(o) {
					n++
				}
			}
		}
		if of == 0 {
			return "-"
		}
		return fmt.Sprintf("%.0f %%", 100*float64(n)/float64(of))
	}
}

// worst lists the tenth of the cells in which a value is least, at most ten.
func worst(b *strings.Builder, outcomes []outcome, name string, value func(*outcome) float64) {
	sorted := make([]*outcome, len(outcomes))
	for i := range outcomes {
		sorted[i] = &outcomes[i]
	}
	slices.SortStableFunc(sorted, func(x, y *outcome) int { return cmp.Compare(value(x), value(y)) })
	fmt.Fprintf(b, "\n## The cells of the %s\n\n| seed | total | index | RTT | cell |\n|---|---|---|---|---|\n", name)
	for _, o := range sorted[:min(10, (len(sorted)+9)/10)] {
		fmt.Fprintf(b, "| %d | %.2f | %.3f | %.2f | %s |\n", o.cell.seed, o.total, o.index, o.rtt, o.cell)
	}
}

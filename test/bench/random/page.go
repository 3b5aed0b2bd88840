package main

import (
	"cmp"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"airtide/internal/stats"
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
	fmt.Fprintf(out, "total %.2f of the default, index %.3f (default %.3f), RTT p95 %.2f of the default\n",
		o.total, o.index, o.defaultIndex, o.rtt)
	for _, notice := range o.with.Notices {
		fmt.Fprintln(out, notice)
	}
}

// line is a cell in a line.
func (o *outcome) line() string {
	return fmt.Sprintf("%d total %.2f (optimum %.2f) index %.3f (default %.3f) rtt %.2f: %s",
		o.cell.seed, o.total, o.optimal, o.index, o.defaultIndex, o.rtt, o.cell)
}

// group is a part of the cells that the page shows in a row.
type group struct {
	name     string
	includes func(*outcome) bool
}

var groups = []group{
	{"told, all have agents", func(o *outcome) bool { return !o.cell.measured && o.cell.foreign() == 0 }},
	{"told, 1 or 2 without", func(o *outcome) bool { return !o.cell.measured && o.cell.foreign() > 0 }},
	{"measured, all have agents", func(o *outcome) bool { return o.cell.measured && o.cell.foreign() == 0 }},
	{"measured, 1 or 2 without", func(o *outcome) bool { return o.cell.measured && o.cell.foreign() > 0 }},
}

// pageOf is a page of Markdown about all cells.
func pageOf(outcomes []outcome) string {
	var b strings.Builder
	fmt.Fprintf(&b, `# Random cells

%d random cells in virtual time, each once with and once without agents, measured from %d to %d s.
Agents are the real control and messages; the 802.11 medium has every frame; senders are CUBIC,
which agents bound. Written by `+"`go run ./test/bench/random`"+`; `+"`-seed N`"+` shows a cell.

Cells have 2 to 12 terminals of 802.11b, g, a, n and ac, PHY rates from 5.5 to 1733 Mbit/s, RTTs
from 2 to 200 ms, a wire from 50 Mbit/s to unlimited, access point queues of 50 to 1000 packets, 1
to 4 flows each, up, down or mixed, and lose up to 30 %% of the reports.

Total is the total goodput with agents as a part of the total without. If the total of the
proportionally fair optimum is below 1, too, the default starves slow terminals. Index is Jain's
index of the rates of terminals with agents as parts of the proportionally fair optimum. RTT is the
greatest 95th percentile among terminals with agents as a part of that without.

`, len(outcomes), int(measureFrom.Seconds()), int(measureTo.Seconds()))
	b.WriteString("| rates | cells | total, median | optimum < 1 | " +
		"total >= 1 | total >= 0.97 | least total | index, median | " +
		"index >= 0.95 | index >= 0.90 | default index, median | RTT, median | RTT <= 1/2 |\n" +
		"|---|---|---|---|---|---|---|---|---|---|---|---|---|\n")
	for _, g := range groups {
		var totals, optima, indices, defaults, rtts []float64
		for i := range outcomes {
			if o := &outcomes[i]; g.includes(o) {
				totals, optima = append(totals, o.total), append(optima, o.optimal)
				indices = append(indices, o.index)
				defaults, rtts = append(defaults, o.defaultIndex), append(rtts, o.rtt)
			}
		}
		if len(totals) == 0 {
			continue
		}
		fmt.Fprintf(&b, "| %s | %d | %.2f | %s | %s | %s | %.2f | %.3f | %s | %s | %.3f | %.2f | %s |\n",
			g.name, len(totals),
			stats.Median(totals), percent(optima, func(x float64) bool { return x < 1 }),
			atLeast(totals, 1), atLeast(totals, 0.97), slices.Min(totals),
			stats.Median(indices), atLeast(indices, 0.95), atLeast(indices, 0.9), stats.Median(defaults),
			stats.Median(rtts), percent(rtts, func(x float64) bool { return x <= 0.5 }))
	}
	worst(&b, outcomes, "least total", func(o *outcome) float64 { return o.total })
	worst(&b, outcomes, "least index", func(o *outcome) float64 { return o.index })
	return b.String()
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

func atLeast(values []float64, limit float64) string {
	return percent(values, func(x float64) bool { return x >= limit })
}

func percent(values []float64, holds func(float64) bool) string {
	n := 0
	for _, v := range values {
		if holds(v) {
			n++
		}
	}
	return fmt.Sprintf("%.0f %%", 100*float64(n)/float64(len(values)))
}

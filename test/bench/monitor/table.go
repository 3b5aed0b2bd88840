package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"airtide/test/bench/benchtext"
)

// ratios compares each round of a tool with the same round of another.
func ratios(a, b []result, value func(result) float64) benchtext.Spread {
	r := make([]result, len(a))
	for i := range a {
		r[i].rate = value(a[i]) / value(b[i])
	}
	return benchtext.SpreadOf(r, func(x result) float64 { return x.rate })
}

// printComparison prints medians with the extremes of the rounds behind them.
func printComparison(w io.Writer, l load, tools []tool, results [][]result) {
	fmt.Fprintf(w, "\n### %s\n\n", l.name)
	fmt.Fprintln(w, "| tool | Gbit/s | to nothing, by round | segments seen/s | kernel ns per segment (BPF) | of "+
		"which measuring | user CPU ns per segment | system CPU ns per segment | bytes per record | lost | missed "+
		"per million | samples per segment | all ns per segment | all ns per record kept | to airtide, by round |")
	fmt.Fprintln(w, "|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|")
	rate := func(r result) float64 { return r.rate }
	for i, t := range tools {
		list := results[i]
		cell := func(value func(result) float64, format string, there bool) string {
			if !there {
				return "-"
			}
			return benchtext.SpreadOf(list, value).Text(format)
		}
		var lost uint64
		for _, r := range list {
			lost += r.lost
		}
		observed := t.command != nil
		lostText := "-"
		if t.perSegment {
			lostText = fmt.Sprint(lost)
		}
		hasBPF := t.perSegment && list[0].bpfRuns > 0
		toAirtide := "-"
		airtide := slices.IndexFunc(tools, func(t tool) bool { return strings.HasPrefix(t.name, "airtide") })
		if hasBPF && airtide >= 0 {
			toAirtide = ratios(list, results[airtide], result.keptNs).Text("%.2f")
		}
		fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", t.name,
			cell(func(r result) float64 { return r.rate / 1e9 }, "%.2f", true),
			ratios(list, results[0], rate).Text("%.3f"),
			cell(func(r result) float64 { return float64(r.segments) / r.seconds() }, "%.0f", true),
			cell(result.kernelNs, "%.0f", hasBPF),
			cell(func(r result) float64 { return r.bpfFloor }, "%.0f", hasBPF),
			cell(result.userNs, "%.0f", observed),
			cell(result.sysNs, "%.0f", observed),
			cell(result.bytesPerRecord, "%.1f", t.perSegment),
			lostText,
			cell(result.missedPerMillion, "%.1f", t.countsMissed),
			cell(result.samplesPerSegment, "%.4f", t.perSegment),
			cell(result.totalNs, "%.0f", hasBPF),
			cell(result.keptNs, "%.0f", hasBPF),
			toAirtide)
	}
}

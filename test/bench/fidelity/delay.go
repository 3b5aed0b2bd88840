package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"airtide/test/bench/benchtext"
)

// delayRuns are the repeats that medians are taken of.
const delayRuns = 5

// delay prints the difference between a packet's delay and the requested 10 ms, and its causes.
func (f *fidelity) delay(ctx context.Context) error {
	c := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "BenchmarkDelay", "-benchtime", "1x",
		"-count", strconv.Itoa(delayRuns), "./internal/cell/engine")
	var out bytes.Buffer
	c.Stdout = &out
	c.Stderr = os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("%w: %s", err, out.String())
	}
	fmt.Printf("Error of a delay of 10 ms beside TCP of the given rate, in us; the median of %d runs with the "+
		"extremes behind it.\n\n", delayRuns)
	delayTable(os.Stdout, out.String(), &f.verdicts)
	return nil
}

// delayWays maps the names of BenchmarkDelay's ways to labels.
var delayWays = map[string]string{
	"100Mbps/supers=false": "100 Mbit/s, packet by packet",
	"500Mbps/supers=false": "500 Mbit/s, packet by packet",
	"500Mbps/supers=true":  "500 Mbit/s, super-packets at the ends",
}

// delayGoal is in us, of the median and the 99th percentile.
var delayGoal = [2]float64{100, 500}

// delayTable prints the results of BenchmarkDelay, and compares them with the goal.
func delayTable(w io.Writer, out string, v *verdicts) {
	runs := map[string]map[string][]float64{}
	names := []string(nil)
	for line := range strings.Lines(out) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "BenchmarkDelay/") {
			continue
		}
		name := strings.TrimPrefix(fields[0], "BenchmarkDelay/")
		if at := strings.LastIndex(name, "-"); at > 0 { // the number of processors
			name = name[:at]
		}
		if runs[name] == nil {
			runs[name] = map[string][]float64{}
			names = append(names, name)
		}
		for i := 2; i+1 < len(fields); i += 2 {
			if v, err := strconv.ParseFloat(fields[i], 64); err == nil {
				runs[name][fields[i+1]] = append(runs[name][fields[i+1]], v)
			}
		}
	}
	fmt.Fprintln(w, "| TCP beside it | direction | median | 99th percentile | 99.9th | engine, cores | woken late "+
		"(99 %) | a turn (99 %) | taken by the host, % |\n|---|---|---|---|---|---|---|---|---|")
	for _, name := range names {
		r := runs[name]
		way := delayWays[name]
		if way == "" {
			way = name
		}
		of := func(metric, format string) string { return spread(r[metric], format) }
		for i, direction := range []string{"up", "down"} {
			metric := func(q string) float64 { return median(r[direction+"-"+q+"-µs"]) }
			v.add("delay: median within 0.1 ms, 99th percentile within 0.5 ms", delayRow(name, direction),
				metric("p50") <= delayGoal[0] && metric("p99") <= delayGoal[1])
			if i > 0 {
				way = ""
			}
			at := func(q string) string { return of(direction+"-"+q+"-µs", "%.0f") }
			fmt.Fprintf(w, "| %s | %s | %s | %s | %s | %s | %s | %s | %s |\n", way, direction, at("p50"), at("p99"),
				at("p99.9"),
				of("cores", "%.2f"), of("wake-p99-µs", "%.0f"), of("turn-p99-µs", "%.0f"), of("stolen-%", "%.1f"))
		}
	}
}

// delayRow names a row of the table.
func delayRow(name, direction string) string {
	if way, ok := delayWays[name]; ok {
		name = way
	}
	return name + " " + direction
}

// median is not a number of nothing, which is within no goal.
func median(v []float64) float64 {
	if len(v) == 0 {
		return math.NaN()
	}
	return benchtext.SpreadOf(v, func(x float64) float64 { return x }).Median
}

// spread is a median with the extremes behind it; "-" of nothing.
func spread(v []float64, format string) string {
	if len(v) == 0 {
		return "-"
	}
	return benchtext.SpreadOf(v, func(x float64) float64 { return x }).Text(format)
}

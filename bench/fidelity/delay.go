package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"strconv"
	"strings"

	"airtide/internal/benchtext"
)

// delayRuns are the repeats that medians are taken of.
const delayRuns = 5

// delay prints by how much the delay of a packet differs from the 10 ms that are asked for.
func (f *fidelity) delay(ctx context.Context) error {
	c := exec.CommandContext(ctx, "go", "test", "-run", "^$", "-bench", "BenchmarkDelay", "-benchtime", "1x", "-count", strconv.Itoa(delayRuns), "./cell/engine")
	var out bytes.Buffer
	c.Stdout, c.Stderr = &out, os.Stderr
	if err := c.Run(); err != nil {
		return fmt.Errorf("%w: %s", err, out.String())
	}
	runs, names := map[string]map[string][]float64{}, []string(nil)
	for line := range strings.Lines(out.String()) {
		fields := strings.Fields(line)
		if len(fields) < 4 || !strings.HasPrefix(fields[0], "BenchmarkDelay/") {
			continue
		}
		name := strings.TrimPrefix(fields[0], "BenchmarkDelay/")
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
	fmt.Printf("Error of a delay of 10 ms beside TCP of the given rate, in us; the median of %d runs with the extremes behind it.\n\n", delayRuns)
	fmt.Println("| TCP beside it | direction | median | 99th percentile | 99.9th | engine, cores |\n|---|---|---|---|---|---|")
	for _, name := range names {
		for _, direction := range []string{"up", "down"} {
			at := func(q string) string { return spread(runs[name][direction+"-"+q+"-µs"], "%.0f") }
			fmt.Printf("| %s | %s | %s | %s | %s | %s |\n", name, direction, at("p50"), at("p99"), at("p99.9"), spread(runs[name]["cores"], "%.2f"))
		}
	}
	return nil
}

// spread is a median with the extremes behind it; "-" of nothing.
func spread(v []float64, format string) string {
	if len(v) == 0 {
		return "-"
	}
	return benchtext.SpreadOf(v, func(x float64) float64 { return x }).Text(format)
}

package main

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"time"

	"airtide/internal/lab/result"
	"airtide/internal/sys/file"
	"airtide/test/bench/benchlab"
	"airtide/test/simulate"
)

// pair is a cell in virtual time and with real TCP.
type pair struct {
	virtual, real outcome
}

// runReal runs cells with real TCP, or reads their results, and writes a page that compares them to
// virtual time. A cell that the lab could not finish, such as one too fast for this machine, is
// listed with its reason.
func runReal(ctx context.Context, lab *benchlab.Lab, cells int, first uint64) (string, error) {
	if err := os.MkdirAll(lab.Results, 0o755); err != nil {
		return "", err
	}
	var pairs []pair
	var failed []string
	for i := range cells {
		c, err := newCell(first + uint64(i))
		if err != nil {
			return "", err
		}
		fmt.Fprintf(os.Stderr, "%d of %d: seed %d, %s\n", i+1, cells, c.seed, c)
		p := pair{}
		p.real, err = c.judgeReal(ctx, lab)
		if ctx.Err() != nil {
			return "", fmt.Errorf("interrupted at cell %d of %d; the next start goes on there", i+1, cells)
		}
		if err != nil {
			failed = append(failed, fmt.Sprintf("seed %d, %s", c.seed, err))
			continue
		}
		p.virtual, err = c.judge()
		if err != nil {
			return "", fmt.Errorf("cell of seed %d: %w", c.seed, err)
		}
		pairs = append(pairs, p)
	}
	return pageOfReal(pairs, failed), nil
}

// judgeReal runs the cell with and without agents in the lab.
func (c *cell) judgeReal(ctx context.Context, lab *benchlab.Lab) (o outcome, err error) {
	text, err := c.experiment(1)
	if err != nil {
		return o, err
	}
	path := filepath.Join(lab.Results, fmt.Sprintf("random-%d.yaml", c.seed))
	if err := file.Write(path, []byte(text), 0o644); err != nil {
		return o, err
	}
	report, err := lab.ReportFile(ctx, path)
	if report == nil {
		return o, err
	}
	if failures := report.Runs.Failures; len(report.Runs.Missing) > 0 && len(failures) > 0 {
		return o, fmt.Errorf("%s: %s", report.Runs.Missing[0], failures[len(failures)-1].Reason)
	}
	results := map[string]simulate.Result{}
	for _, r := range report.Finished() {
		results[r.Settings["policy"].Text], err = c.resultOf(r)
		if err != nil {
			return o, err
		}
	}
	with := results["shares"]
	without := results["default"]
	if with.Goodputs == nil || without.Goodputs == nil {
		return o, fmt.Errorf("%d of %d runs finished", report.Runs.Finished, report.Runs.Planned)
	}
	return c.compare(with, without)
}

// resultOf is a run's result in the form of virtual time.
func (c *cell) resultOf(r *result.Result) (s simulate.Result, err error) {
	n := len(c.scenario.Stations)
	s.Goodputs = make([]float64, n)
	s.Airtimes = make([]float64, n)
	s.RTT95 = make([]time.Duration, n)
	add := func(measurement string, apply func(terminal int, value float64)) error {
		m, known := r.Measurements[measurement]
		if !known {
			return fmt.Errorf("%s has no measurement %s", r.Run, measurement)
		}
		for i, flow := range m.Of {
			var terminal int
			if _, err := fmt.Sscanf(strings.TrimLeft(flow, "updown"), "%d", &terminal); err != nil {
				return fmt.Errorf("flow %q: %w", flow, err)
			}
			if !math.IsNaN(m.Each[i]) { // a flow without an acknowledgement has no RTT
				apply(terminal-1, m.Each[i])
			}
		}
		return nil
	}
	if err := add("goodput", func(t int, mbps float64) { s.Goodputs[t] += mbps * 1e6 }); err != nil {
		return s, err
	}
	if err := add("rtt_p95", func(t int, ms float64) {
		s.RTT95[t] = max(s.RTT95[t], time.Duration(ms*float64(time.Millisecond)))
	}); err != nil {
		return s, err
	}
	for i, station := range c.scenario.Stations {
		alone, err := c.scenario.Standalone(station.PHYs[0].PHY, 0)
		if err != nil {
			return s, err
		}
		s.Airtimes[i] = s.Goodputs[i] / alone
		s.Total += s.Goodputs[i]
	}
	return s, nil
}

// pageOfReal is a page of Markdown about cells with real TCP.
func pageOfReal(pairs []pair, failed []string) string {
	var b strings.Builder
	var virtual, real []outcome
	for _, p := range pairs {
		virtual = append(virtual, p.virtual)
		real = append(real, p.real)
	}
	fmt.Fprintf(&b, `# Random cells with real TCP

%d of the [random cells](random-cells.md) with the kernel's TCP over the emulated cell, each once
with and once without agents, measured from %d to %d s, beside the same cells in virtual time. The
columns are explained there. Reports are lost only as the cell loses them. Agents know how busy the
channel is, each second. Written by
`+"`go run ./test/bench/random -real`"+`.

## Real TCP

`, len(pairs), int(measureFrom.Seconds()), int(measureTo.Seconds()))
	table(&b, real, groups)
	b.WriteString("\n## The same cells in virtual time\n\n")
	table(&b, virtual, groups)
	b.WriteString("\n## Cell by cell\n\nReal TCP, and virtual time in parentheses.\n\n" +
		"| seed | total | index | index by default | RTT | cell |\n|---|---|---|---|---|---|\n")
	for _, p := range pairs {
		r := &p.real
		v := &p.virtual
		fmt.Fprintf(&b, "| %d | %.2f (%.2f) | %.3f (%.3f) | %.3f (%.3f) | %.2f (%.2f) | %s |\n", r.cell.seed,
			r.total, v.total, r.index, v.index, r.defaultIndex, v.defaultIndex, r.rtt, v.rtt, r.cell)
	}
	if len(failed) > 0 {
		b.WriteString("\nNot finished:\n\n")
		for _, f := range failed {
			fmt.Fprintf(&b, "- %s\n", f)
		}
	}
	return b.String()
}

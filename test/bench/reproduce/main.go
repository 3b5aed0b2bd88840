// Command reproduce runs the experiments of the papers, of sharing and of the congestion controls,
// and writes their results into docs/results: one page for each paper, one for sharing, one for the
// congestion controls. Finished runs in the folder of results are not repeated. Hand-written text
// between the generated parts stays.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"airtide/experiments"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/report"
	"airtide/test/bench/benchlab"
	"airtide/test/bench/benchtext"
)

// ofPapers selects the experiments of the five papers, which take about five and a half hours. The
// other two of p3 go beyond the papers. All experiments take twice as long.
const ofPapers = "p1-*,p2-*,p3-bounds,p3-fig*,p4-*,p5-*"

func main() {
	var (
		lab       benchlab.Lab
		pages     string
		only      string
		tablesAre bool
	)
	flag.StringVar(&lab.Airtide, "airtide", "./airtide", "the binary to run experiments with")
	flag.StringVar(&lab.Results, "results", "results/reproduction",
		"folder for the results; finished runs are not repeated")
	flag.DurationVar(&lab.LagLimit, "lag-limit", 0,
		"greatest lateness of 1 packet in 100 for a run to count (default: the experiment's)")
	flag.IntVar(&lab.AtOnce, "at-once", 0, "number of runs at a time (default: the experiment's)")
	flag.StringVar(&pages, "pages", "docs/results", "the folder of the pages whose tables are written")
	flag.StringVar(&only, "only", ofPapers,
		"only these experiments, separated by commas; a trailing * is a wildcard, and * alone is all")
	flag.BoolVar(&tablesAre, "no-run", false, "write the tables from what is finished, and run nothing")
	flag.Parse()
	benchtext.Run("reproduce", func(ctx context.Context) error { return reproduce(ctx, &lab, pages, only, !tablesAre) })
}

// reproduce runs one experiment after another and writes its page after each, so that an
// interruption loses nothing.
func reproduce(ctx context.Context, lab *benchlab.Lab, pages, only string, run bool) error {
	all, err := reproduced(ctx)
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(e *plan.Plan) bool { return !chosen(e.Experiment.Name, only) })
	if len(all) == 0 {
		return fmt.Errorf("no experiment is %q: see airtide lab list", only)
	}
	if run {
		fmt.Fprintf(os.Stderr, "%d experiments, about %s in all\n", len(all), estimate(all).Round(time.Minute))
	}
	var errs []error
	for i, e := range all {
		name := e.Experiment.Name
		report, err := lab.Finished(ctx, name)
		if run {
			fmt.Fprintf(os.Stderr, "%d of %d: %s (%s)\n", i+1, len(all), name, e.Experiment.Title)
			report, err = lab.Report(ctx, name)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
		if report != nil && report.Runs.Finished > 0 {
			if err := write(ctx, pages, e, report); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

// estimate returns the time of all runs of the experiments on an idle machine.
func estimate(all []*plan.Plan) (sum time.Duration) {
	for _, e := range all {
		sum += e.Time(plan.Overhead)
	}
	return sum
}

// write replaces the row and the section of an experiment on its page below dir.
func write(ctx context.Context, dir string, e *plan.Plan, report *report.Report) error {
	p, err := readPage(dir, pageOf(e.Experiment.Name))
	if err != nil {
		return err
	}
	text := section(e, report, benchtext.Machine(), p.results.paper)
	if p.results.paper {
		pictures, err := draw(context.WithoutCancel(ctx), dir, e, report)
		if err != nil {
			return err
		}
		text += pictures
	}
	p.set(e.Experiment.Name, text, row(e, report, p.results.paper))
	return p.write(dir)
}

// reproduced returns the experiments of the pages in natural order: all but the quickstart and the
// rows of ns-3.
func reproduced(ctx context.Context) ([]*plan.Plan, error) {
	var all []*plan.Plan
	for _, name := range experiments.Names() {
		text, err := experiments.Read(name)
		if err != nil {
			return nil, err
		}
		p, err := plan.Read(ctx, name+experiments.Ending, text)
		if err != nil {
			return nil, err
		}
		if !strings.HasPrefix(p.Experiment.Name, "ns3-") && p.Experiment.Name != "quickstart" {
			all = append(all, p)
		}
	}
	slices.SortFunc(all, func(a, b *plan.Plan) int { return natural(a.Experiment.Name, b.Experiment.Name) })
	return all, nil
}

func chosen(name, only string) bool {
	for pattern := range strings.SplitSeq(only, ",") {
		start, open := strings.CutSuffix(pattern, "*")
		if name == pattern || open && strings.HasPrefix(name, start) {
			return true
		}
	}
	return false
}

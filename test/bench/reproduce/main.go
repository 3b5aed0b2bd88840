// Command reproduce runs the experiments that repeat figures and tables of the papers, and writes what came of them into
// docs/results/reproduction.md. What is finished in the folder of results is not done again; text that somebody wrote between the
// tables stays.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"

	"airtide/experiments"
	"airtide/internal/cell/engine"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/show"
	"airtide/test/bench/benchlab"
	"airtide/test/bench/benchtext"
)

func main() {
	var (
		lab       benchlab.Lab
		page      string
		only      string
		tablesAre bool
	)
	flag.StringVar(&lab.Airtide, "airtide", "./airtide", "the binary to run experiments with")
	flag.StringVar(&lab.Results, "results", "results/reproduction", "folder for the results; what is finished there is not done again")
	flag.DurationVar(&lab.LagLimit, "lag-limit", engine.DefaultLagLimit, "how late 1 packet in 100 may leave the cell for a run to count; more on a busy host, whose figures say less")
	flag.IntVar(&lab.AtOnce, "at-once", 1, "so many runs at a time")
	flag.StringVar(&page, "page", "docs/results/reproduction.md", "the page whose tables are written")
	flag.StringVar(&only, "only", "", "only these experiments, separated by commas; a trailing * takes all that begin so")
	flag.BoolVar(&tablesAre, "no-run", false, "write the tables from what is finished, and run nothing")
	flag.Parse()
	benchtext.Run("reproduce", func(ctx context.Context) error { return reproduce(ctx, &lab, page, only, !tablesAre) })
}

// reproduce runs one experiment after another and writes the page after each, so that an end in between loses nothing.
func reproduce(ctx context.Context, lab *benchlab.Lab, path, only string, run bool) error {
	all, err := papers()
	if err != nil {
		return err
	}
	all = slices.DeleteFunc(all, func(e *plan.Plan) bool { return !chosen(e.Experiment.Name, only) })
	if len(all) == 0 {
		return fmt.Errorf("no experiment is %q: see airtide lab list", only)
	}
	var errs []error
	for i, e := range all {
		name := e.Experiment.Name
		report, err := lab.Finished(name)
		if run {
			fmt.Fprintf(os.Stderr, "%d of %d: %s (%s)\n", i+1, len(all), name, e.Experiment.Title)
			report, err = lab.Report(ctx, name)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("%s: %w", name, err))
		}
		if report != nil && report.Runs.Finished > 0 {
			if err := write(path, e, report); err != nil {
				return err
			}
		}
		if ctx.Err() != nil {
			break
		}
	}
	return errors.Join(errs...)
}

func write(path string, e *plan.Plan, report *show.Report) error {
	p, err := readPage(path)
	if err != nil {
		return err
	}
	p.set(e.Experiment.Name, section(e, report, benchtext.Machine()), row(e, report))
	return p.write(path)
}

// papers are the experiments that repeat something of a paper, in its order.
func papers() ([]*plan.Plan, error) {
	var all []*plan.Plan
	for _, name := range experiments.Names() {
		text, err := experiments.Read(name)
		if err != nil {
			return nil, err
		}
		p, err := plan.Read(name+experiments.Ending, text)
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
		if only == "" || name == pattern || open && strings.HasPrefix(name, start) {
			return true
		}
	}
	return false
}

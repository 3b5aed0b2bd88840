package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"airtide/internal/lab/result"
	"airtide/internal/recording/summary"
	"airtide/internal/recording/trace"
	"airtide/internal/share/fairness"
	"airtide/internal/tcp"
	"airtide/internal/units"
	"airtide/internal/view/terminal"
)

// judgeRecording judges the flows, processes or peers of a recording.
func (f *fairnessFlags) judgeRecording(ctx context.Context, t *terminal.Terminal, path string) error {
	key := map[string]func(*summary.Flow) string{
		"flow":    func(fl *summary.Flow) string { return fmt.Sprintf("%d %s", fl.ID, tcp.Endpoint(fl.Remote)) },
		"process": func(fl *summary.Flow) string { return fmt.Sprintf("%s/%d", cmp.Or(fl.Comm, "?"), fl.PID) },
		"peer":    func(fl *summary.Flow) string { return fl.Remote.Addr().Unmap().String() },
	}[cmp.Or(f.by, "flow")]
	if key == nil {
		return usageError{fmt.Errorf("--by %q: a recording has flow, process and peer", f.by)}
	}
	r, err := openTrace(t, path)
	if err != nil {
		return err
	}
	defer r.Close()
	s := summary.New(summary.Options{Unseen: unseen(r.Metadata().Source)})
	if err := r.scan(ctx, "summing up", trace.ScanOptions{Fields: summary.Fields()}, s); err != nil {
		return err
	}
	r.warnDamage()
	report := s.Report()
	if report.Totals.ActiveS == 0 {
		return fmt.Errorf("%s: no flow sent for long enough to have a rate", path)
	}
	one, err := f.recorded(t, &report, key)
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if err := f.judge(&one); err != nil {
		return err
	}
	return f.print(t, one)
}

// recorded returns the rates by key, without those below --least.
func (f *fairnessFlags) recorded(
	t *terminal.Terminal, report *summary.Report, key func(*summary.Flow) string,
) (judged, error) {
	names, rates := report.Rates(key)
	one := judged{Of: cmp.Or(f.by, "flow")}
	for i, rate := range rates {
		if rate >= f.leastRate {
			one.Names, one.Rates = append(one.Names, names[i]), append(one.Rates, rate)
		}
	}
	if out := len(rates) - len(one.Rates); out > 0 {
		t.Warnf("%d of %s left out: below --least %s", out, units.Count(len(rates), "rate"), f.least)
	}
	if len(one.Rates) == 0 {
		return one, errors.New("no flow has a rate to judge")
	}
	return one, nil
}

// judgeResult judges one run, or the runs of a result and each point's mean.
func (f *fairnessFlags) judgeResult(t *terminal.Terminal) error {
	if f.by != "" && f.by != "terminal" && f.by != "flow" {
		return usageError{fmt.Errorf("--by %q: a result has terminal and flow", f.by)}
	}
	if st, err := os.Stat(f.result); err == nil && !st.IsDir() {
		r, err := result.Read(f.result)
		if err != nil {
			return err
		}
		if !r.Valid {
			t.Warnf("%s: this run is not valid", f.result)
		}
		one, err := f.run(r)
		if err != nil {
			return err
		}
		return f.print(t, one)
	}
	dir, err := f.results.find(f.result)
	if err != nil {
		return err
	}
	folder, err := result.Open(dir)
	if err != nil {
		return err
	}
	runs, problems := folder.Results()
	if len(problems) > 0 {
		return errors.Join(problems...)
	}
	all := judgedResult{Experiment: folder.Plan.Experiment.Name, Runs: []judged{}}
	points := map[string][]fairness.Indices{}
	for _, r := range runs {
		if !r.Valid {
			t.Warnf("%s is left out: the run is not valid", filepath.Join(dir, "runs", r.Run))
			continue
		}
		one, err := f.run(r)
		if err != nil {
			return err
		}
		all.Runs = append(all.Runs, one)
		points[r.Point] = append(points[r.Point], one.Indices)
	}
	if len(all.Runs) == 0 {
		return fmt.Errorf("%s has no finished run", dir)
	}
	for _, p := range folder.Plan.Points {
		if of := points[p.ID]; len(of) > 0 {
			all.Means = append(all.Means, judgedMean{p.ID, fairness.Mean(of)})
		}
	}
	return f.printResult(t, all)
}

// run judges the goodput of one run.
func (f *fairnessFlags) run(r *result.Result) (judged, error) {
	one := judged{Run: r.Run, Point: r.Point, Of: cmp.Or(f.by, "terminal")}
	if r.Cell == nil {
		return one, fmt.Errorf("run %s: the cell counted nothing", r.Run)
	}
	goodputs := r.Goodput(r.Cell)
	if f.by == "flow" {
		for _, flow := range r.Flows {
			if goodput, ok := goodputs.Flows[flow.Name]; ok {
				one.Names, one.Rates = append(one.Names, flow.Name), append(one.Rates, goodput)
			}
		}
	} else {
		for _, t := range r.Cell.Terminals {
			if goodput, ok := goodputs.Machines[t.Name]; ok {
				one.Names, one.Rates = append(one.Names, t.Name), append(one.Rates, goodput)
			}
		}
	}
	if len(one.Rates) == 0 {
		return one, fmt.Errorf("run %s: no flow has a goodput", r.Run)
	}
	return one, f.judge(&one)
}

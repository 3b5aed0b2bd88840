package score

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"path/filepath"

	"airtide/internal/lab/result"
	"airtide/internal/recording/summary"
	"airtide/internal/share/fairness"
	"airtide/internal/tcp"
)

// keys name the sums of the rates of a recording.
var keys = map[string]func(*tcp.Flow) string{
	"flow":    func(fl *tcp.Flow) string { return fmt.Sprintf("%d %s", fl.ID, tcp.Endpoint(fl.Remote)) },
	"process": func(fl *tcp.Flow) string { return fmt.Sprintf("%s/%d", cmp.Or(fl.Comm, "?"), fl.PID) },
	"peer":    func(fl *tcp.Flow) string { return fl.Remote.Addr().Unmap().String() },
}

// CheckRecordingKey refuses a sum that a recording does not have. Empty means flow.
func CheckRecordingKey(by string) error {
	if keys[cmp.Or(by, "flow")] == nil {
		return &OptionError{fmt.Sprintf("--by %q: a recording has flow, process and peer", by)}
	}
	return nil
}

// CheckResultKey refuses a sum that a result does not have. Empty means terminal.
func CheckResultKey(by string) error {
	if by != "" && by != "terminal" && by != "flow" {
		return &OptionError{fmt.Sprintf("--by %q: a result has terminal and flow", by)}
	}
	return nil
}

// Recording judges the flows, processes or peers of a recording. It leaves out rates below least,
// in Mbit/s, and returns how many of how many.
func (o *Options) Recording(s *summary.Summary, by string, least float64) (one Score, out, of int, err error) {
	one.Of = cmp.Or(by, "flow")
	names, rates := s.Rates(keys[one.Of])
	if len(rates) == 0 {
		return one, 0, 0, errors.New("no flow sent for long enough to have a rate")
	}
	for i, rate := range rates {
		if rate >= least {
			one.Names = append(one.Names, names[i])
			one.Rates = append(one.Rates, rate)
		}
	}
	out = len(rates) - len(one.Rates)
	of = len(rates)
	if len(one.Rates) == 0 {
		return one, out, of, errors.New("no flow has a rate to judge")
	}
	return one, out, of, o.Judge(&one)
}

// Result judges the valid runs of a result and the mean of each point. It warns of others.
func (o *Options) Result(
	ctx context.Context, folder *result.Folder, by string, warn func(format string, args ...any),
) (Result, error) {
	all := Result{Experiment: folder.Plan.Experiment.Name, Runs: []Score{}}
	runs, problems := folder.Results(ctx)
	if len(problems) > 0 {
		return all, errors.Join(problems...)
	}
	points := map[string][]fairness.Indices{}
	for _, r := range runs {
		if !r.Valid {
			warn("%s is left out: the run is not valid", filepath.Join(folder.Dir, "runs", r.Run))
			continue
		}
		one, err := o.Run(r, by)
		if err != nil {
			return all, err
		}
		all.Runs = append(all.Runs, one)
		points[r.Point] = append(points[r.Point], one.Indices)
	}
	if len(all.Runs) == 0 {
		return all, fmt.Errorf("%s has no finished run", folder.Dir)
	}
	for _, p := range folder.Plan.Points {
		if of := points[p.ID]; len(of) > 0 {
			all.Means = append(all.Means, Mean{p.ID, fairness.Mean(of)})
		}
	}
	return all, nil
}

// Run judges the goodputs of a run, by terminal or by flow.
func (o *Options) Run(r *result.Result, by string) (Score, error) {
	one := Score{Run: r.Run, Point: r.Point, Of: cmp.Or(by, "terminal")}
	if r.Cell == nil {
		return one, fmt.Errorf("run %s: the cell counted nothing", r.Run)
	}
	goodputs := r.Goodput(r.Cell)
	if by == "flow" {
		for _, flow := range r.Flows {
			if goodput, ok := goodputs.Flows[flow.Name]; ok {
				one.Names = append(one.Names, flow.Name)
				one.Rates = append(one.Rates, goodput)
			}
		}
	} else {
		for _, t := range r.Cell.Terminals {
			if goodput, ok := goodputs.Machines[t.Name]; ok {
				one.Names = append(one.Names, t.Name)
				one.Rates = append(one.Rates, goodput)
			}
		}
	}
	if len(one.Rates) == 0 {
		return one, fmt.Errorf("run %s: no flow has a goodput", r.Run)
	}
	return one, o.Judge(&one)
}

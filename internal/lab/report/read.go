package report

import (
	"context"
	"fmt"
	"math"
	"slices"

	"airtide/internal/lab/judge"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
	"airtide/internal/share/fairness"
)

// Read summarises the result in a folder, finished or not.
func Read(ctx context.Context, dir string, p Progress) (*Report, error) {
	f, err := result.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	e := f.Plan.Experiment
	r := &Report{
		Experiment: e.Name, Title: e.Title, Source: e.Source, Dir: f.Dir, folder: f, plan: f.Plan, seed: e.Seed,
	}
	for _, parameter := range f.Plan.Parameters {
		r.Parameters = append(r.Parameters, parameter.Name)
	}
	if err := r.gather(ctx, f, p); err != nil {
		return nil, err
	}
	for i := range f.Plan.Points {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		p.report("summing up points", i+1, len(f.Plan.Points))
		r.Points = append(r.Points, r.point(&f.Plan.Points[i]))
	}
	if err := r.judge(ctx, p); err != nil {
		return nil, err
	}
	r.warn()
	return r, nil
}

// gather reads the runs.
func (r *Report) gather(ctx context.Context, f *result.Folder, p Progress) error {
	failures, err := f.Failures(ctx)
	if err != nil {
		return err
	}
	r.Runs = RunCount{Planned: len(f.Plan.Runs), Failures: failures}
	for i, run := range f.Plan.Runs {
		if err := ctx.Err(); err != nil {
			return err
		}
		p.report("reading runs", i+1, len(f.Plan.Runs))
		one, err := f.Result(run)
		switch {
		case err != nil:
			r.Runs.Unreadable = append(r.Runs.Unreadable, err.Error())
		case one == nil:
			r.Runs.Missing = append(r.Runs.Missing, run.ID)
		case !one.Valid:
			// A finished run is valid, so somebody has changed the file.
			r.Runs.Unreadable = append(r.Runs.Unreadable, fmt.Sprintf("run %s is not valid: %v", one.Run, one.Problems))
		default:
			r.results = append(r.results, one)
		}
	}
	r.Runs.Finished = len(r.results)
	return nil
}

// point summarises the runs of a point.
func (r *Report) point(p *plan.Point) Point {
	runs := r.Results(p.ID)
	point := Point{ID: p.ID, Settings: p.Settings, Runs: len(runs)}
	for _, m := range r.plan.Experiment.Measure {
		point.Measurements = append(point.Measurements, r.measurement(m, runs))
	}
	return point
}

func (r *Report) measurement(m plan.Item[plan.Measurement], runs []*result.Result) Measurement {
	s := Measurement{Name: m.Name, Quantity: m.Value.Quantity, Unit: m.Value.Unit(), Take: m.Value.Take}
	s.Summary = r.summarise(Values(m.Name, runs))
	var names []string
	var indices []float64
	for _, run := range runs {
		one := run.Measurements[m.Name]
		for _, of := range one.Of {
			if !slices.Contains(names, of) {
				names = append(names, of)
			}
		}
		if len(one.Values) > 1 {
			indices = append(indices, fairness.Jain(one.Values))
		}
	}
	if len(indices) > 0 {
		jain := r.summarise(known(indices))
		s.Jain = &jain
	}
	if len(names) > 1 {
		for _, of := range names {
			s.Each = append(s.Each, Each{of, r.summarise(ValuesOf(m.Name, of, runs))})
		}
	}
	return s
}

func (r *Report) summarise(values []float64) judge.Summary { return judge.Summarise(values, r.seed) }

// Values returns the values of a measurement, one for each run that has a value.
func Values(measurement string, runs []*result.Result) []float64 {
	var values []float64
	for _, run := range runs {
		if v, ok := valueOf(run, measurement); ok {
			values = append(values, v)
		}
	}
	return values
}

// valueOf returns the value of a run, or the mean of its values.
func valueOf(run *result.Result, measurement string) (float64, bool) {
	values := run.Measurements[measurement].Values
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	mean := sum / float64(len(values))
	return mean, !math.IsNaN(mean)
}

// ValuesOf returns the values of a flow or terminal, one for each run that has a value.
func ValuesOf(measurement, of string, runs []*result.Result) []float64 {
	var values []float64
	for _, run := range runs {
		m := run.Measurements[measurement]
		if i := slices.Index(m.Of, of); i >= 0 {
			values = append(values, m.Each[i])
		}
	}
	return known(values)
}

// known removes the values that could not be measured.
func known(values []float64) []float64 { return slices.DeleteFunc(values, math.IsNaN) }

// judge evaluates the claims on the runs.
func (r *Report) judge(ctx context.Context, p Progress) error {
	runs := make([]judge.Run, len(r.results))
	for i, one := range r.results {
		runs[i] = one.Judged()
	}
	for i, c := range r.plan.Claims {
		if err := ctx.Err(); err != nil {
			return err
		}
		p.report("judging claims", i+1, len(r.plan.Claims))
		verdict, err := c.Value.Judge(runs, r.seed)
		if err != nil {
			return fmt.Errorf("claim %s: %w", c.Name, err)
		}
		says, _ := r.plan.Experiment.Claims.Get(c.Name)
		r.Claims = append(r.Claims, Claim{c.Name, says.Says, says.Where, verdict})
	}
	return nil
}

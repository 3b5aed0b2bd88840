package run

import (
	"cmp"
	"context"
	"errors"
	"sync"
	"time"

	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
)

// Options are the options of an experiment.
type Options struct {
	// Tool is the version of this program, for the results.
	Tool string
	// LagLimit is the limit of the lateness of packets in a valid run. At most 1 % of the packets
	// may leave the cell later than the limit, and 0.1 % later than ten times the limit. Zero means
	// that of the experiment, or else engine.DefaultLagLimit.
	LagLimit time.Duration
	// AtOnce is the number of simultaneous runs, each in its own cell, at most plan.MaxAtOnce. They
	// save time if one run leaves the processors idle. A run that was late because of another run
	// does not count. Zero means the number of the experiment, or else 1.
	AtOnce int
	// Notice gets messages for the user. Progress gets the state of each run about every half
	// second. Both may be nil, and their calls do not overlap.
	Notice   func(string)
	Progress func(Progress)
}

// Progress is the state of one run.
type Progress struct {
	// Run is the id of the run. It has the number Number of Total; Finished runs are done. Attempt
	// counts from 1.
	Run                     string
	Number, Total, Finished int
	Attempt                 int
	// Stage is a word for the current step.
	Stage string
	// Elapsed is the time since the run's time zero, negative before it. Left is the time until all
	// runs are done.
	Elapsed, Left time.Duration
}

// Outcome is the end of an experiment.
type Outcome struct {
	Dir      string           `json:"dir"`
	Total    int              `json:"runs"`
	Finished int              `json:"finished"`
	Failed   []result.Failure `json:"failed,omitempty"`
}

// ErrFailed is the error of an experiment in which some runs have no result.
var ErrFailed = errors.New("some runs failed")

// Run runs an experiment from its beginning, into a new folder below root. If it returns an error
// with an outcome, the finished runs are kept.
func Run(ctx context.Context, root string, p *plan.Plan, o Options) (*Outcome, error) {
	return o.execute(ctx, p, func() (*result.Folder, error) { return result.Create(root, p, time.Now()) })
}

// Resume does the missing runs of a result. The plan is the current experiment; nil means the plan
// of the result.
func Resume(ctx context.Context, dir string, p *plan.Plan, o Options) (*Outcome, error) {
	f, err := result.Open(ctx, dir)
	if err != nil {
		return nil, err
	}
	now := p
	if now == nil {
		now = f.Plan
	}
	return o.execute(ctx, now, func() (*result.Folder, error) { return f.Resume(ctx, p) })
}

// execute does the missing runs of a result. It checks that the machine supports them before it
// writes to the disk.
func (o Options) execute(ctx context.Context, p *plan.Plan, open func() (*result.Folder, error)) (*Outcome, error) {
	if err := preflight(p); err != nil {
		return nil, err
	}
	o = o.serialiseCallbacks()
	o.LagLimit = cmp.Or(o.LagLimit, time.Duration(p.Experiment.LagLimit))
	o.AtOnce = cmp.Or(o.AtOnce, p.Experiment.AtOnce)
	if err := o.fetchKernels(ctx, p); err != nil {
		return nil, err
	}
	reserved, err := lockMachine("experiment " + p.Experiment.Name)
	if err != nil {
		return nil, err
	}
	defer reserved.Close()
	folder, err := open()
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	computer := &computer{tool: o.Tool}
	return newScheduler(folder, o, func(
		ctx context.Context, run plan.Run, dir string, p *progress,
	) (*result.Result, error) {
		return newAttempt(folder.Plan, run, dir, computer, o.LagLimit, p).try(ctx)
	}).run(ctx)
}

// serialiseCallbacks makes callbacks run one at a time. It replaces nil by empty functions.
func (o Options) serialiseCallbacks() Options {
	var mu sync.Mutex
	notice := o.Notice
	progress := o.Progress
	o.Notice = func(line string) {
		mu.Lock()
		defer mu.Unlock()
		if notice != nil {
			notice(line)
		}
	}
	o.Progress = func(p Progress) {
		mu.Lock()
		defer mu.Unlock()
		if progress != nil {
			progress(p)
		}
	}
	return o
}

package lab

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"

	"airtide/lab/plan"
	"airtide/lab/result"
)

// Options say how an experiment is run.
type Options struct {
	// Tool is the version of this program, for the results.
	Tool string
	// LagLimit is how late 1 % of the packets may leave the cell for a run to count, and a tenth of how late 0.1 % may; 0
	// means the engine's default, 500 us.
	LagLimit time.Duration
	// Notice is told what the user should know, Progress about every half second how far it is. Both may be nil.
	Notice   func(string)
	Progress func(Progress)
}

// Progress says how far an experiment is.
type Progress struct {
	// Run is the one under way, Number it is of Total; Finished of them are done. Attempt counts from 1 on.
	Run                     string
	Number, Total, Finished int
	Attempt                 int
	// Stage says what is being done.
	Stage string
	// Elapsed is the time since the run's time zero, negative before, and Left until all is done.
	Elapsed, Left time.Duration
}

// Outcome is what an experiment came to.
type Outcome struct {
	Dir      string           `json:"dir"`
	Total    int              `json:"runs"`
	Finished int              `json:"finished"`
	Failed   []result.Failure `json:"failed,omitempty"`
}

const (
	// attempts of a run whose engine fell behind.
	attempts = 5
	// failuresInARow end an experiment: what fails so often will go on failing.
	failuresInARow = 3
)

// ErrFailed says that some runs have no result.
var ErrFailed = errors.New("some runs failed")

// Run runs an experiment's file from its beginning, into a new folder below root. An error that comes with an outcome
// leaves finished runs as they are.
func Run(ctx context.Context, root string, file []byte, o Options) (*Outcome, error) {
	return with(file, func() (*result.Folder, error) { return result.Create(root, file, time.Now()) }, ctx, o)
}

// Resume does the runs that a result lacks. File is the experiment's as it is now, nil for the result's own.
func Resume(ctx context.Context, dir string, file []byte, o Options) (*Outcome, error) {
	return with(file, func() (*result.Folder, error) { return result.Resume(dir, file) }, ctx, o)
}

// with does the missing runs of a result. Nothing is made on disk before it is clear that the machine can do them.
func with(file []byte, open func() (*result.Folder, error), ctx context.Context, o Options) (*Outcome, error) {
	if file != nil {
		p, err := plan.Read("", file)
		if err != nil {
			return nil, err
		}
		if err := Preflight(p); err != nil {
			return nil, err
		}
	}
	reserved, err := lockMachine("an experiment")
	if err != nil {
		return nil, err
	}
	defer reserved.Close()
	folder, err := open()
	if err != nil {
		return nil, err
	}
	defer folder.Close()
	if err := Preflight(folder.Plan); err != nil {
		return nil, err
	}
	if o.Notice == nil {
		o.Notice = func(string) {}
	}
	l := &lab{Options: o, folder: folder, plan: folder.Plan, overhead: plan.Overhead}
	return l.all(ctx)
}

// lab does the runs of one result.
type lab struct {
	Options
	folder *result.Folder
	plan   *plan.Plan
	// overhead is the mean time of the runs so far besides their duration.
	overhead     time.Duration
	overheadRuns int
}

func (l *lab) all(ctx context.Context) (*Outcome, error) {
	remaining, err := l.folder.Remaining()
	if err != nil {
		return nil, err
	}
	o := &Outcome{Dir: l.folder.Dir, Total: len(l.plan.Runs), Finished: len(l.plan.Runs) - len(remaining)}
	failed := 0
	for i, run := range remaining {
		p := &progress{lab: l, run: run, rest: remaining[i:], finished: o.Finished, total: o.Total}
		err := l.do(ctx, run, p)
		switch {
		case err == nil:
			o.Finished, failed = o.Finished+1, 0
			continue
		case ctx.Err() != nil:
			return o, fmt.Errorf("interrupted after %d of %d runs: airtide lab resume %s does the rest", o.Finished, o.Total, l.folder.Dir)
		}
		o.Failed = append(o.Failed, result.Failure{Run: run.ID, Reason: err.Error()})
		l.Notice(fmt.Sprintf("run %s failed: %v", run.ID, err))
		if failed++; failed == failuresInARow || fatal(err) {
			return o, fmt.Errorf("stopped after %d of %d runs (airtide lab resume %s does the rest): %w", o.Finished, o.Total, l.folder.Dir, err)
		}
	}
	if len(o.Failed) > 0 {
		return o, fmt.Errorf("%w: %d of %d; airtide lab resume %s tries them again", ErrFailed, len(o.Failed), o.Total, l.folder.Dir)
	}
	return o, nil
}

// fatal errors would meet every other run too.
func fatal(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, os.ErrPermission)
}

// do makes a run's result, with another attempt where the engine fell behind.
func (l *lab) do(ctx context.Context, run plan.Run, p *progress) error {
	for n := 1; ; n++ {
		began := time.Now()
		attempt, err := l.folder.Begin(run)
		if err != nil {
			return err
		}
		p.begin(attempt.Number)
		r, err := l.attempt(ctx, run, attempt.Dir, p)
		switch {
		case err == nil && r.Valid:
			if err := attempt.Finish(r); err != nil {
				return err
			}
			l.took(time.Since(began) - time.Duration(l.plan.Points[run.Point].Setup.Duration))
			return nil
		case ctx.Err() != nil:
			// What was under way is put aside when the run begins anew.
			return context.Cause(ctx)
		case err == nil:
			err = errors.New(r.Problems[0])
		}
		if failErr := attempt.Fail(err.Error(), r); failErr != nil {
			return errors.Join(err, failErr)
		}
		if !behind(r) || n == attempts {
			return err
		}
		l.Notice(fmt.Sprintf("run %s: %v; repeating it", run.ID, err))
	}
}

// took learns how long runs take besides their duration.
func (l *lab) took(overhead time.Duration) {
	if l.overheadRuns == 0 {
		l.overhead = 0
	}
	l.overheadRuns++
	l.overhead += (overhead - l.overhead) / time.Duration(l.overheadRuns)
}

package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
	"golang.org/x/sys/unix"

	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
)

// lab does the runs of one result.
type lab struct {
	Options
	folder *result.Folder
	plan   *plan.Plan

	mutex   sync.Mutex
	rest    []plan.Run // that nobody has begun
	outcome Outcome
	failed  int // in a row
	// overhead is the mean time of the runs so far besides their duration.
	overhead     time.Duration
	overheadRuns int
	// system is where the runs are made, nil before the first has ended.
	system *result.System
}

// errEnded ends the other workers.
var errEnded = errors.New("the experiment has ended")

func (l *lab) all(ctx context.Context) (*Outcome, error) {
	var err error
	if l.rest, err = l.folder.Remaining(); err != nil {
		return nil, err
	}
	o := &l.outcome
	*o = Outcome{Dir: l.folder.Dir, Total: len(l.plan.Runs), Finished: len(l.plan.Runs) - len(l.rest)}
	workers, each := errgroup.WithContext(ctx)
	for range min(l.AtOnce, len(l.rest)) {
		workers.Go(func() error {
			for {
				run, p, ok := l.next()
				if !ok {
					return nil
				}
				if err := l.ended(each, run, l.do(each, run, p)); err != nil {
					return err
				}
			}
		})
	}
	err = workers.Wait()
	switch {
	case ctx.Err() != nil && o.Finished < o.Total:
		return o, fmt.Errorf("interrupted after %d of %d runs: airtide lab resume %s does the rest", o.Finished, o.Total, o.Dir)
	case err != nil:
		return o, fmt.Errorf("stopped after %d of %d runs (airtide lab resume %s does the rest): %w", o.Finished, o.Total, o.Dir, err)
	case len(o.Failed) > 0:
		return o, fmt.Errorf("%w: %d of %d; airtide lab resume %s tries them again", ErrFailed, len(o.Failed), o.Total, o.Dir)
	}
	return o, nil
}

// next takes a run that nobody has begun.
func (l *lab) next() (run plan.Run, p *progress, ok bool) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if len(l.rest) == 0 {
		return plan.Run{}, nil, false
	}
	run = l.rest[0]
	p = &progress{lab: l, run: run, rest: l.rest, number: len(l.plan.Runs) - len(l.rest) + 1, total: l.outcome.Total}
	l.rest = l.rest[1:]
	return run, p, true
}

// ended counts a run that is over. An error ends the experiment.
func (l *lab) ended(ctx context.Context, run plan.Run, err error) error {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	switch {
	case err == nil:
		l.outcome.Finished, l.failed = l.outcome.Finished+1, 0
		return nil
	case ctx.Err() != nil:
		return errEnded // by the user, or by another worker whose error is told
	}
	l.outcome.Failed = append(l.outcome.Failed, result.Failure{Run: run.ID, Reason: err.Error()})
	l.Notice(fmt.Sprintf("run %s failed: %v", run.ID, err))
	if l.failed++; l.failed == failuresInARow || fatal(err) {
		return err
	}
	return nil
}

// fatal errors would meet every other run too.
func fatal(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, os.ErrPermission)
}

// do makes a run's result, with another attempt where the engine did not keep up.
func (l *lab) do(ctx context.Context, run plan.Run, p *progress) error {
	for n := 1; ; n++ {
		began := time.Now()
		attempt, err := l.folder.Begin(run)
		if err != nil {
			return err
		}
		p.begin(attempt.Number)
		dir, err := filepath.Abs(attempt.Dir) // agents start in it, and are told of files in it
		if err != nil {
			return fmt.Errorf("beginning run %s: %w", run.ID, err)
		}
		a, err := l.attempt(ctx, run, dir, p)
		r := a.result
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
		if !a.behind() || n == attempts {
			return err
		}
		l.Notice(fmt.Sprintf("run %s: %v; repeating it", run.ID, err))
	}
}

// took learns how long runs take besides their duration.
func (l *lab) took(overhead time.Duration) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	if l.overheadRuns == 0 {
		l.overhead = 0
	}
	l.overheadRuns++
	l.overhead += (overhead - l.overhead) / time.Duration(l.overheadRuns)
}

// left is how long some runs and those under way take from the beginning of the first.
func (l *lab) left(runs []plan.Run) (left time.Duration, finished int) {
	l.mutex.Lock()
	defer l.mutex.Unlock()
	return l.plan.Estimate(runs, l.overhead) / time.Duration(l.AtOnce), l.outcome.Finished
}

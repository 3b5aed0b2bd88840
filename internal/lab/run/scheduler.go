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

const (
	// attempts is the limit of attempts of one run.
	attempts = 5
	// failuresInARow is the number of consecutive failures that ends an experiment, because the
	// next run would fail too.
	failuresInARow = 3
)

// try makes one attempt of a run, with its files in dir. A result without an error is valid.
// *DisturbedError requests another attempt. A result of a failed attempt is kept.
type try func(ctx context.Context, run plan.Run, dir string, p *progress) (*result.Result, error)

// DisturbedError is the error of an attempt that the computer disturbed. A further one may succeed.
type DisturbedError struct{ Err error }

func (e *DisturbedError) Error() string { return e.Err.Error() }

func (e *DisturbedError) Unwrap() error { return e.Err }

// scheduler gives the missing runs of one result to workers.
type scheduler struct {
	Options
	folder *result.Folder
	plan   *plan.Plan
	try    try

	mu      sync.Mutex
	waiting []plan.Run
	outcome Outcome
	failed  int // in a row
	// overhead is the mean time of the finished runs in addition to their duration.
	overhead     time.Duration
	overheadRuns int
}

func newScheduler(folder *result.Folder, o Options, t try) *scheduler {
	o.AtOnce = max(1, min(o.AtOnce, plan.MaxAtOnce))
	return &scheduler{Options: o, folder: folder, plan: folder.Plan, try: t, overhead: plan.Overhead}
}

// errEnded is the cause that ends the other workers.
var errEnded = errors.New("the experiment has ended")

// run does the missing runs.
func (s *scheduler) run(ctx context.Context) (*Outcome, error) {
	var err error
	s.waiting, err = s.folder.Remaining(ctx)
	if err != nil {
		return nil, err
	}
	o := &s.outcome
	total := len(s.plan.Runs)
	*o = Outcome{Dir: s.folder.Dir, Total: total, Finished: total - len(s.waiting)}
	workers, each := errgroup.WithContext(ctx)
	for range min(s.AtOnce, len(s.waiting)) {
		workers.Go(func() error { return s.work(each) })
	}
	err = workers.Wait()
	switch {
	case ctx.Err() != nil && o.Finished < o.Total:
		return o, fmt.Errorf("interrupted after %d of %d runs: airtide lab resume %s continues",
			o.Finished, o.Total, o.Dir)
	case err != nil:
		return o, fmt.Errorf("stopped after %d of %d runs (airtide lab resume %s continues): %w",
			o.Finished, o.Total, o.Dir, err)
	case len(o.Failed) > 0:
		return o, fmt.Errorf("%w: %d of %d; airtide lab resume %s tries them again",
			ErrFailed, len(o.Failed), o.Total, o.Dir)
	}
	return o, nil
}

// work executes runs until none is waiting.
func (s *scheduler) work(ctx context.Context) error {
	for {
		p := s.take()
		if p == nil {
			return nil
		}
		if err := s.settle(ctx, p.run, s.runUntilValid(ctx, p)); err != nil {
			return err
		}
	}
}

// take removes the next waiting run and returns its progress; nil if no run waits.
func (s *scheduler) take() *progress {
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.waiting) == 0 {
		return nil
	}
	total := len(s.plan.Runs)
	p := &progress{scheduler: s, run: s.waiting[0], rest: s.waiting, number: total - len(s.waiting) + 1, total: total}
	s.waiting = s.waiting[1:]
	return p
}

// settle counts a run that has ended. The error of settle ends the experiment.
func (s *scheduler) settle(ctx context.Context, run plan.Run, err error) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case err == nil:
		s.outcome.Finished++
		s.failed = 0
		return nil
	case ctx.Err() != nil:
		return errEnded // by the user, or by another worker with an error of its own
	}
	s.outcome.Failed = append(s.outcome.Failed, result.Failure{Run: run.ID, Reason: err.Error()})
	s.Notice(fmt.Sprintf("run %s failed: %v", run.ID, err))
	s.failed++
	if s.failed == failuresInARow || fatal(err) {
		return err
	}
	return nil
}

// fatal reports whether all other runs would fail with the same error.
func fatal(err error) bool {
	return errors.Is(err, unix.ENOSPC) || errors.Is(err, unix.EDQUOT) || errors.Is(err, os.ErrPermission)
}

// runUntilValid makes attempts of a run until one is valid. An error other than lateness ends it.
func (s *scheduler) runUntilValid(ctx context.Context, p *progress) error {
	for n := 1; ; n++ {
		began := time.Now()
		attempt, err := s.folder.Begin(p.run)
		if err != nil {
			return err
		}
		p.begin(attempt.Number)
		dir, err := filepath.Abs(attempt.Dir) // agents start in another folder
		if err != nil {
			return fmt.Errorf("starting run %s: %w", p.run.ID, err)
		}
		stop := p.every(progressInterval)
		r, err := s.try(ctx, p.run, dir, p)
		stop()
		switch {
		case err == nil:
			if err := attempt.Finish(r); err != nil {
				return err
			}
			s.learnOverhead(time.Since(began) - time.Duration(s.plan.Points[p.run.Point].Setup.Duration))
			return nil
		case ctx.Err() != nil:
			// If the run is resumed, the files of this attempt are moved to the attempts.
			return context.Cause(ctx)
		}
		if failErr := attempt.Fail(err.Error(), r); failErr != nil {
			return errors.Join(err, failErr)
		}
		if _, disturbed := errors.AsType[*DisturbedError](err); !disturbed || n == attempts {
			return err
		}
		s.Notice(fmt.Sprintf("run %s: %v; repeating it", p.run.ID, err))
	}
}

// learnOverhead adds a run's time in addition to its duration to the mean.
func (s *scheduler) learnOverhead(overhead time.Duration) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.overheadRuns == 0 {
		s.overhead = 0
	}
	s.overheadRuns++
	s.overhead += (overhead - s.overhead) / time.Duration(s.overheadRuns)
}

// timeLeft estimates the time for some runs and the running ones, from the start of the first one.
func (s *scheduler) timeLeft(runs []plan.Run) (left time.Duration, finished int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.plan.Estimate(runs, s.AtOnce, s.overhead), s.outcome.Finished
}

// progress reports the state of one run.
type progress struct {
	scheduler     *scheduler
	run           plan.Run
	rest          []plan.Run // the run and those after it
	number, total int

	mu      sync.Mutex
	attempt int
	stage   string
	zero    time.Time
	began   time.Time
}

const progressInterval = 500 * time.Millisecond

func (p *progress) begin(attempt int) {
	p.mu.Lock()
	p.attempt = attempt
	p.zero = time.Time{}
	p.began = time.Now()
	p.mu.Unlock()
	p.enter("setting up")
}

// enter sets the current step.
func (p *progress) enter(stage string) {
	p.mu.Lock()
	p.stage = stage
	p.mu.Unlock()
	p.tell()
}

// setZero starts the traffic at time zero of the run.
func (p *progress) setZero(zero time.Time) {
	p.mu.Lock()
	p.zero = zero
	p.mu.Unlock()
	p.enter("running")
}

func (p *progress) tell() {
	p.mu.Lock()
	defer p.mu.Unlock()
	estimate, finished := p.scheduler.timeLeft(p.rest)
	left := estimate - time.Since(p.began)
	at := Progress{
		Run: p.run.ID, Number: p.number, Total: p.total, Finished: finished, Attempt: p.attempt, Stage: p.stage,
		Elapsed: -1, Left: max(left, 0),
	}
	if !p.zero.IsZero() {
		at.Elapsed = time.Since(p.zero)
	}
	p.scheduler.Progress(at)
}

// every reports the state repeatedly, with pause d, until stop is called.
func (p *progress) every(d time.Duration) (stop func()) {
	ended := make(chan struct{})
	over := make(chan struct{})
	go func() {
		defer close(over)
		t := time.NewTicker(d)
		defer t.Stop()
		for {
			select {
			case <-t.C:
				p.tell()
			case <-ended:
				return
			}
		}
	}()
	return func() { close(ended); <-over }
}

package run

import (
	"context"
	"errors"
	"sync"
	"time"

	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
)

// Options say how an experiment is run.
type Options struct {
	// Tool is the version of this program, for the results.
	Tool string
	// LagLimit is how late 1 % of the packets may leave the cell for a run to count, and a tenth of how late 0.1 % may; 0
	// means the engine's default, engine.DefaultLagLimit.
	LagLimit time.Duration
	// AtOnce is how many runs are done at a time, each in a cell of its own; 0 means 1. It saves time where a run leaves
	// the processors time; a run that another makes late does not count, as ever.
	AtOnce int
	// Notice is told what the user should know, Progress about every half second how far it is. Both may be nil. One call
	// is over before the next begins.
	Notice   func(string)
	Progress func(Progress)
}

// Progress says how far an experiment is; of several runs at once each tells for itself.
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
	// MaxAtOnce is more than any machine carries.
	MaxAtOnce = 64
)

// ErrFailed says that some runs have no result.
var ErrFailed = errors.New("some runs failed")

// Run runs an experiment's file from its beginning, into a new folder below root. An error that comes with an outcome
// leaves finished runs as they are.
func Run(ctx context.Context, root string, file []byte, o Options) (*Outcome, error) {
	p, err := plan.Read("", file)
	if err != nil {
		return nil, err
	}
	return o.carryOut(ctx, p, func() (*result.Folder, error) { return result.Create(root, file, time.Now()) })
}

// Resume does the runs that a result lacks. File is the experiment's as it is now, nil for the result's own.
func Resume(ctx context.Context, dir string, file []byte, o Options) (*Outcome, error) {
	p, err := planOf(dir, file)
	if err != nil {
		return nil, err
	}
	return o.carryOut(ctx, p, func() (*result.Folder, error) { return result.Resume(dir, file) })
}

func planOf(dir string, file []byte) (*plan.Plan, error) {
	if file != nil {
		return plan.Read("", file)
	}
	f, err := result.Open(dir)
	if err != nil {
		return nil, err
	}
	return f.Plan, nil
}

// carryOut does the missing runs of a plan's result. Nothing is made on disk before it is clear that the machine can do
// them.
func (o Options) carryOut(ctx context.Context, p *plan.Plan, open func() (*result.Folder, error)) (*Outcome, error) {
	if err := Preflight(p); err != nil {
		return nil, err
	}
	o = o.oneAtATime()
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
	o.AtOnce = max(1, min(o.AtOnce, MaxAtOnce))
	l := &lab{Options: o, folder: folder, plan: folder.Plan, overhead: plan.Overhead}
	return l.all(ctx)
}

// oneAtATime lets no two callbacks run at once, and none be nil.
func (o Options) oneAtATime() Options {
	var mutex sync.Mutex
	notice, progress := o.Notice, o.Progress
	o.Notice = func(line string) {
		mutex.Lock()
		defer mutex.Unlock()
		if notice != nil {
			notice(line)
		}
	}
	o.Progress = func(p Progress) {
		mutex.Lock()
		defer mutex.Unlock()
		if progress != nil {
			progress(p)
		}
	}
	return o
}

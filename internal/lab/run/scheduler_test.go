package run

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
	"airtide/test/testnet"
)

// fakeRuns makes results without a kernel. It notes which runs were tried.
type fakeRuns struct {
	// fail gives the n-th attempt of a run an error, n from 1 on.
	fail func(run plan.Run, n int) error

	mu    sync.Mutex
	plan  *plan.Plan
	tried []string
	under int // runs at this moment
	most  int
	// together is the number of runs at a time for which the first ones wait.
	together int
}

// awaitOthers waits until enough runs were under way at the same time.
func (f *fakeRuns) awaitOthers() {
	testnet.Await(20*time.Second, func() bool {
		f.mu.Lock()
		defer f.mu.Unlock()
		return f.most >= f.together
	})
}

func (f *fakeRuns) try(ctx context.Context, run plan.Run, dir string, p *progress) (*result.Result, error) {
	f.mu.Lock()
	f.tried = append(f.tried, run.ID)
	n := len(f.tried) - len(slices.DeleteFunc(slices.Clone(f.tried), func(id string) bool { return id == run.ID }))
	f.under++
	f.most = max(f.most, f.under)
	f.mu.Unlock()
	defer func() {
		f.mu.Lock()
		f.under--
		f.mu.Unlock()
	}()
	p.setZero(time.Now())
	f.awaitOthers()
	r := result.New(f.plan, run)
	r.Valid = true
	if ctx.Err() != nil {
		return r, context.Cause(ctx)
	}
	if f.fail != nil {
		if err := f.fail(run, n); err != nil {
			r.Valid = false
			return r, err
		}
	}
	return r, os.WriteFile(filepath.Join(dir, "trace"), nil, 0o600)
}

// repeats is small with a number of runs.
func repeats(t *testing.T, n int) *plan.Plan {
	return planOf(t, strings.Replace(small, "repeats: 2", fmt.Sprintf("repeats: %d", n), 1))
}

// schedule begins a result, or resumes that in dir, and does its runs.
func schedule(ctx context.Context, t *testing.T, p *plan.Plan, dir string, o Options, f *fakeRuns) (*Outcome, error) {
	t.Helper()
	var folder *result.Folder
	var err error
	if dir == "" {
		folder, err = result.Create(t.TempDir(), p, time.Now())
	} else {
		folder, err = result.Open(t.Context(), dir)
		if err == nil {
			folder, err = folder.Resume(t.Context(), p)
		}
	}
	if err != nil {
		t.Fatal(err)
	}
	defer folder.Close()
	f.plan = p
	return newScheduler(folder, o.serialiseCallbacks(), f.try).run(ctx)
}

func TestEachRunIsTriedOnce(t *testing.T) {
	f := &fakeRuns{}
	var seen []Progress
	p := repeats(t, 3)
	o, err := schedule(t.Context(), t, p, "", Options{Progress: func(p Progress) { seen = append(seen, p) }}, f)
	if err != nil || o.Finished != 3 || o.Total != 3 || len(o.Failed) != 0 {
		t.Fatalf("outcome %+v, error %v", o, err)
	}
	if want := []string{p.Runs[0].ID, p.Runs[1].ID, p.Runs[2].ID}; !slices.Equal(f.tried, want) {
		t.Errorf("tried %q, want %q", f.tried, want)
	}
	first := seen[0]
	last := seen[len(seen)-1]
	if first.Number != 1 || first.Total != 3 || first.Finished != 0 || first.Attempt != 1 || first.Elapsed >= 0 ||
		first.Stage != "setting up" {
		t.Errorf("progress begins with %+v", first)
	}
	if last.Number != 3 || last.Finished != 2 || last.Elapsed < 0 || last.Stage != "running" ||
		last.Left >= first.Left {
		t.Errorf("progress ends with %+v, from %+v", last, first)
	}
}

func TestALateRunIsRepeated(t *testing.T) {
	for _, c := range []struct {
		name  string
		late  int // attempts
		tried int
		valid bool
	}{
		{"never", 0, 1, true},
		{"twice", 2, 3, true},
		{"until the last attempt", attempts - 1, attempts, true},
		{"always", attempts, attempts, false},
	} {
		var notices []string
		f := &fakeRuns{fail: func(_ plan.Run, n int) error {
			if n <= c.late {
				return &DisturbedError{errors.New("the emulator fell behind")}
			}
			return nil
		}}
		options := Options{Notice: func(s string) { notices = append(notices, s) }}
		o, err := schedule(t.Context(), t, repeats(t, 1), "", options, f)
		if (err == nil) != c.valid || !c.valid && !errors.Is(err, ErrFailed) || len(f.tried) != c.tried {
			t.Errorf("late %s: tried %d times, outcome %+v, error %v", c.name, len(f.tried), o, err)
		}
		folder, err := result.Open(t.Context(), o.Dir)
		if err != nil {
			t.Fatal(err)
		}
		failures, err := folder.Failures(t.Context())
		if err != nil || len(failures) != c.late {
			t.Errorf("late %s: %d attempts kept, want %d: %v", c.name, len(failures), c.late, err)
		}
		for _, failure := range failures {
			if !strings.Contains(failure.Reason, "fell behind") {
				t.Errorf("late %s: the reason is %q", c.name, failure.Reason)
			}
			if _, err := os.Stat(filepath.Join(failure.Dir, "attempt.json")); err != nil {
				t.Error(err)
			}
		}
		if len(notices) != c.late {
			t.Errorf("late %s: notices %q", c.name, notices)
		}
		if !c.valid && !strings.Contains(o.Failed[0].Reason, "fell behind") {
			t.Errorf("late %s: failed are %+v", c.name, o.Failed)
		}
	}
}

// A run that fails otherwise is not repeated, and others go on.
func TestAFailureIsOfItsRunAlone(t *testing.T) {
	f := &fakeRuns{fail: func(run plan.Run, _ int) error {
		if run.Repeat == 2 {
			return errors.New("flow upload: broken")
		}
		return nil
	}}
	p := repeats(t, 3)
	o, err := schedule(t.Context(), t, p, "", Options{}, f)
	if !errors.Is(err, ErrFailed) || o.Finished != 2 || len(o.Failed) != 1 || o.Failed[0].Run != p.Runs[1].ID ||
		!strings.Contains(o.Failed[0].Reason, "flow upload") || len(f.tried) != 3 {
		t.Errorf("outcome %+v, error %v, tried %q", o, err, f.tried)
	}
	f = &fakeRuns{}
	o, err = schedule(t.Context(), t, p, o.Dir, Options{}, f)
	if err != nil || o.Finished != 3 || len(f.tried) != 1 {
		t.Errorf("after a resume: outcome %+v, error %v, tried %q", o, err, f.tried)
	}
}

func TestThreeFailuresInARowEndTheExperiment(t *testing.T) {
	broken := errors.New("broken")
	for _, c := range []struct {
		name string
		bad  []int // repeats
		ends bool
		want int // tried
	}{
		{"three", []int{1, 2, 3}, true, 3},
		{"two and one", []int{1, 2, 4}, false, 6},
		{"three later", []int{1, 3, 4, 5}, true, 5},
	} {
		f := &fakeRuns{fail: func(run plan.Run, _ int) error {
			if slices.Contains(c.bad, run.Repeat) {
				return broken
			}
			return nil
		}}
		o, err := schedule(t.Context(), t, repeats(t, 6), "", Options{}, f)
		if errors.Is(err, broken) != c.ends || len(f.tried) != c.want ||
			!strings.Contains(err.Error(), "lab resume "+o.Dir) {
			t.Errorf("%s: error %v, tried %q", c.name, err, f.tried)
		}
	}
}

func TestAFullDiskEndsTheExperimentAtOnce(t *testing.T) {
	for _, cause := range []error{unix.ENOSPC, unix.EDQUOT, os.ErrPermission} {
		f := &fakeRuns{fail: func(run plan.Run, _ int) error {
			if run.Repeat == 2 {
				return fmt.Errorf("writing tcp.atr: %w", cause)
			}
			return nil
		}}
		p := repeats(t, 4)
		o, err := schedule(t.Context(), t, p, "", Options{}, f)
		if !errors.Is(err, cause) || o.Finished != 1 || len(f.tried) != 2 {
			t.Errorf("%v: outcome %+v, error %v, tried %q", cause, o, err, f.tried)
		}
		f = &fakeRuns{}
		o, err = schedule(t.Context(), t, p, o.Dir, Options{}, f)
		if err != nil || o.Finished != 4 ||
			len(f.tried) != 3 {
			t.Errorf("%v: after a resume: outcome %+v, error %v, tried %q", cause, o, err, f.tried)
		}
	}
}

func TestAnInterruptedExperimentIsResumed(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	f := &fakeRuns{fail: func(run plan.Run, _ int) error {
		if run.Repeat == 2 {
			cancel()
			return errors.New("a flow was interrupted")
		}
		return nil
	}}
	p := repeats(t, 3)
	o, err := schedule(ctx, t, p, "", Options{}, f)
	if err == nil || !strings.Contains(err.Error(), "interrupted after 1 of 3") ||
		!strings.Contains(err.Error(), "lab resume "+o.Dir) ||
		o.Finished != 1 || len(o.Failed) != 0 {
		t.Fatalf("outcome %+v, error %v", o, err)
	}
	f = &fakeRuns{}
	o, err = schedule(t.Context(), t, p, o.Dir, Options{}, f)
	if err != nil || o.Finished != 3 || len(f.tried) != 2 {
		t.Errorf("after a resume: outcome %+v, error %v, tried %q", o, err, f.tried)
	}
	folder, err := result.Open(t.Context(), o.Dir)
	if err != nil {
		t.Fatal(err)
	}
	failures, err := folder.Failures(t.Context())
	if err != nil || len(failures) != 1 || failures[0].Reason != "interrupted" {
		t.Errorf("failures %+v, %v", failures, err)
	}
}

func TestWorkersShareTheRuns(t *testing.T) {
	for atOnce, want := range map[int]int{0: 1, 1: 1, 2: 2, 9: 5} {
		f := &fakeRuns{together: want}
		o, err := schedule(t.Context(), t, repeats(t, 5), "", Options{AtOnce: atOnce}, f)
		if err != nil || o.Finished != 5 || len(f.tried) != 5 {
			t.Errorf("%d at once: outcome %+v, error %v", atOnce, o, err)
		}
		if f.most != want {
			t.Errorf("%d at once: %d ran at the same time, want %d", atOnce, f.most, want)
		}
	}
}

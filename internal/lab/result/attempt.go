package result

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"airtide/internal/lab/plan"
	"airtide/internal/sys/file"
)

const reasonFile = "reason.txt"

// Attempt is a run in progress. Finish or Fail ends it. An attempt without Finish or Fail was
// interrupted; the next attempt of the run moves its files to the attempts.
type Attempt struct {
	// Dir is the folder of the run's files.
	Dir string
	// Number is the number of the attempt, counted from 1.
	Number int

	folder *Folder
	run    plan.Run
}

// Begin makes an empty folder for a run.
func (f *Folder) Begin(run plan.Run) (*Attempt, error) {
	if f.lock == nil {
		return nil, fmt.Errorf("starting run %s: %s was opened for reading only", run.ID, f.Dir)
	}
	a := &Attempt{Dir: f.RunDir(run.ID), folder: f, run: run}
	if _, err := os.Lstat(filepath.Join(a.Dir, resultFile)); err == nil {
		return nil, fmt.Errorf("starting run %s: it is finished already, in %s", run.ID, a.Dir)
	}
	if _, err := os.Lstat(a.Dir); err == nil {
		if err := f.moveToAttempts(run.ID, "interrupted"); err != nil {
			return nil, err
		}
	}
	before, err := f.attempts(run.ID)
	if err != nil {
		return nil, err
	}
	a.Number = 1
	if n := len(before); n > 0 {
		a.Number = before[n-1] + 1
	}
	if err := os.Mkdir(a.Dir, 0o755); err != nil {
		return nil, adviseOnFullDisk(fmt.Errorf("making the folder of run %s: %w", run.ID, err))
	}
	return a, nil
}

// Finish syncs the files of the run and then writes result.json, which marks the run as finished.
// An invalid result is refused; use Fail for it.
func (a *Attempt) Finish(r *Result) error {
	if !r.Valid {
		return fmt.Errorf("finishing run %s: it is not valid: %s", a.run.ID, strings.Join(r.Problems, "; "))
	}
	return a.write(r)
}

func (a *Attempt) write(r *Result) error {
	r.Version = Version
	r.Attempt = a.Number
	r.Experiment = Experiment{a.folder.Plan.Experiment.Name, a.folder.SHA256}
	if r.Run != a.run.ID {
		return fmt.Errorf("finishing run %s: found the result of run %q", a.run.ID, r.Run)
	}
	if err := r.check(); err != nil {
		return fmt.Errorf("finishing run %s: %w", a.run.ID, err)
	}
	for _, name := range r.files() {
		if err := syncFile(filepath.Join(a.Dir, name)); err != nil {
			return adviseOnFullDisk(fmt.Errorf("finishing run %s: %w", a.run.ID, err))
		}
	}
	return writeJSON(filepath.Join(a.Dir, resultFile), r)
}

func syncFile(path string) error {
	f, err := file.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// Fail moves the run's files to the attempts, with the reason and the incomplete result. The result
// may be nil.
func (a *Attempt) Fail(reason string, r *Result) error {
	var kept error
	if r != nil {
		r.Valid = false
		if !slices.Contains(r.Problems, reason) {
			r.Problems = append(r.Problems, reason)
		}
		// A failed run may lack files that its result names.
		r.Version = Version
		r.Attempt = a.Number
		r.Experiment = Experiment{a.folder.Plan.Experiment.Name, a.folder.SHA256}
		kept = writeJSON(filepath.Join(a.Dir, "attempt.json"), r)
	}
	return errors.Join(kept, a.folder.moveToAttempts(a.run.ID, reason))
}

// moveToAttempts moves a run's folder to its attempts. It needs disk space only for the reason.
func (f *Folder) moveToAttempts(run, reason string) error {
	before, err := f.attempts(run)
	if err != nil {
		return err
	}
	number := 1
	if n := len(before); n > 0 {
		number = before[n-1] + 1
	}
	to := filepath.Join(f.Dir, attemptsDir, run, strconv.Itoa(number))
	if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
		return adviseOnFullDisk(fmt.Errorf("moving run %s to its attempts: %w", run, err))
	}
	if err := os.Rename(f.RunDir(run), to); err != nil {
		return adviseOnFullDisk(fmt.Errorf("moving run %s to its attempts: %w", run, err))
	}
	return writeFile(filepath.Join(to, reasonFile), []byte(reason+"\n"))
}

// attempts returns the numbers of a run's earlier attempts in ascending order.
func (f *Folder) attempts(run string) ([]int, error) {
	entries, err := os.ReadDir(filepath.Join(f.Dir, attemptsDir, run))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("reading the attempts of run %s: %w", run, err)
	}
	var numbers []int
	for _, e := range entries {
		if n, err := strconv.Atoi(e.Name()); err == nil && n > 0 {
			numbers = append(numbers, n)
		}
	}
	slices.Sort(numbers)
	return numbers, nil
}

// Failure is a failed attempt.
type Failure struct {
	Run     string `json:"run"`
	Attempt int    `json:"attempt"`
	Reason  string `json:"reason"`
	Dir     string `json:"dir"`
}

// maxReason is the length of the longest reason of a failure, in bytes.
const maxReason = 64 << 10

// Failures returns the failed attempts, in the order of the plan. An interrupted attempt is
// included only after the run has started again.
func (f *Folder) Failures(ctx context.Context) ([]Failure, error) {
	var all []Failure
	for _, run := range f.Plan.Runs {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		numbers, err := f.attempts(run.ID)
		if err != nil {
			return nil, err
		}
		for _, n := range numbers {
			dir := filepath.Join(f.Dir, attemptsDir, run.ID, strconv.Itoa(n))
			reason, err := file.Read(filepath.Join(dir, reasonFile), maxReason)
			if err != nil {
				reason = []byte("unknown: " + err.Error())
			}
			all = append(all, Failure{run.ID, n, strings.TrimSpace(string(reason)), dir})
		}
	}
	return all, nil
}

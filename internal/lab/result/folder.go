package result

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"airtide/internal/lab/plan"
	"airtide/internal/sys/file"
)

const (
	experimentFile = "experiment.yaml"
	planFile       = "plan.json"
	runsDir        = "runs"
	attemptsDir    = "attempts"
	nameLayout     = "20060102-150405"
)

// Folder is the result of one experiment on disk.
type Folder struct {
	Dir string
	// Plan is the plan of the folder's experiment.yaml.
	Plan *plan.Plan
	// SHA256 is the hash of experiment.yaml, in hexadecimal.
	SHA256 string

	lock *os.File // nil when opened for reading
}

// Create makes the folder of a new result below root, and locks it until Close. Its name contains
// the time now. A second folder of the same second gets a number at the end of its name.
func Create(root string, p *plan.Plan, now time.Time) (*Folder, error) {
	parent := filepath.Join(root, p.Experiment.Name)
	if err := file.MakeFolder(parent); err != nil {
		return nil, adviseOnFullDisk(fmt.Errorf("making a folder for results: %w", err))
	}
	dir, err := newFolder(filepath.Join(parent, now.UTC().Format(nameLayout)))
	if err != nil {
		return nil, err
	}
	l, err := lockResult(dir)
	if err != nil {
		return nil, err
	}
	f := &Folder{Dir: dir, Plan: p, SHA256: hash(p.Source), lock: l}
	if err := f.writePlan(); err != nil {
		f.Close()
		return nil, err
	}
	return f, nil
}

// newFolder makes a folder with a name, or with a number at its end if the name is taken. Two
// results never share a folder.
func newFolder(name string) (string, error) {
	const most = 100
	for i := 1; i < most; i++ {
		dir := name
		if i > 1 {
			dir = fmt.Sprintf("%s-%02d", name, i)
		}
		switch err := os.Mkdir(dir, 0o755); {
		case err == nil:
			return dir, nil
		case !errors.Is(err, fs.ErrExist):
			return "", adviseOnFullDisk(fmt.Errorf("making a folder for the result: %w", err))
		}
	}
	return "", fmt.Errorf("%s and %d more with numbers behind it exist: remove some", name, most-2)
}

// writePlan writes the experiment's file last, so a folder with this file is complete.
func (f *Folder) writePlan() error {
	for _, dir := range []string{runsDir, attemptsDir} {
		if err := os.MkdirAll(filepath.Join(f.Dir, dir), 0o755); err != nil {
			return adviseOnFullDisk(fmt.Errorf("making a folder of the result: %w", err))
		}
	}
	if err := writeJSON(filepath.Join(f.Dir, planFile), f.Plan); err != nil {
		return err
	}
	return writeFile(filepath.Join(f.Dir, experimentFile), f.Plan.Source)
}

// maxExperiment is the length of the longest experiment file that is kept with its results, in
// bytes. plan.Read has its own limit and says more.
const maxExperiment = 1 << 20

// Text returns the text of a result's experiment.
func Text(dir string) ([]byte, error) {
	text, err := file.Read(filepath.Join(dir, experimentFile), maxExperiment)
	if err != nil {
		return nil, fmt.Errorf("reading the experiment of a result: %w", err)
	}
	return text, nil
}

// Open opens a result for reading. A lab may still write into it.
func Open(ctx context.Context, dir string) (*Folder, error) {
	path := filepath.Join(dir, experimentFile)
	text, err := file.Read(path, maxExperiment)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%s holds no result: it has no %s", dir, experimentFile)
	case err != nil:
		return nil, fmt.Errorf("opening a result: %w", err)
	}
	p, err := plan.Read(ctx, path, text)
	if err != nil {
		return nil, fmt.Errorf("opening the result %s: this airtide does not read its experiment:\n%w", dir, err)
	}
	return &Folder{Dir: dir, Plan: p, SHA256: hash(text)}, nil
}

// Close releases the lock, so others can write into the result.
func (f *Folder) Close() error {
	if f.lock == nil {
		return nil
	}
	err := f.lock.Close()
	f.lock = nil
	return err
}

func hash(text []byte) string {
	h := sha256.Sum256(text)
	return hex.EncodeToString(h[:])
}

// RunDir returns the folder of a run's files.
func (f *Folder) RunDir(run string) string { return filepath.Join(f.Dir, runsDir, run) }

// Results reads all finished runs, in the order of the plan. Each error names a result that cannot
// be read.
func (f *Folder) Results(ctx context.Context) ([]*Result, []error) {
	var results []*Result
	var problems []error
	for _, run := range f.Plan.Runs {
		if err := ctx.Err(); err != nil {
			return nil, []error{err}
		}
		r, err := f.Result(run)
		switch {
		case err != nil:
			problems = append(problems, err)
		case r != nil:
			results = append(results, r)
		}
	}
	return results, problems
}

// Result reads the result of a run; nil if the run is not finished.
func (f *Folder) Result(run plan.Run) (*Result, error) {
	path := filepath.Join(f.RunDir(run.ID), resultFile)
	r, err := Read(path)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil, nil
	case err != nil:
		return nil, fmt.Errorf("%w (move its folder away to have the run repeated)", err)
	case r.Run != run.ID || r.Experiment.Name != f.Plan.Experiment.Name:
		return nil, fmt.Errorf("%s: found the result of run %s of %s, expected that of run %s of %s", path, r.Run,
			r.Experiment.Name, run.ID, f.Plan.Experiment.Name)
	}
	return r, nil
}

// Finished returns the results of the finished runs by run id. An unreadable result is an error.
func (f *Folder) Finished(ctx context.Context) (map[string]*Result, error) {
	results, problems := f.Results(ctx)
	if len(problems) > 0 {
		return nil, errors.Join(problems...)
	}
	finished := map[string]*Result{}
	for _, r := range results {
		finished[r.Run] = r
	}
	return finished, nil
}

// Remaining returns the runs without a result, in the order of the plan.
func (f *Folder) Remaining(ctx context.Context) ([]plan.Run, error) {
	finished, err := f.Finished(ctx)
	if err != nil {
		return nil, err
	}
	var remaining []plan.Run
	for _, run := range f.Plan.Runs {
		if finished[run.ID] == nil {
			remaining = append(remaining, run)
		}
	}
	return remaining, nil
}

package result

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"time"

	"airtide/experiments"
)

// Entry is one result in a list.
type Entry struct {
	Experiment string    `json:"experiment"`
	Title      string    `json:"title,omitempty"`
	Dir        string    `json:"dir"`
	Started    time.Time `json:"started"` // creation of the folder
	Runs       int       `json:"runs"`
	Finished   int       `json:"finished"`
	Failed     int       `json:"failed"` // failed attempts
	Running    bool      `json:"running"`
	// Problem is the reason if the result cannot be read. The number of runs is then unknown.
	Problem string `json:"problem,omitempty"`
}

// List finds the results below a root, sorted by experiment and time. A missing root has no
// results.
func List(ctx context.Context, root string) ([]Entry, error) {
	files, err := filepath.Glob(filepath.Join(escaped(root), "*", "*", experimentFile))
	if err != nil {
		return nil, fmt.Errorf("listing results in %s: %w", root, err)
	}
	slices.Sort(files)
	var all []Entry
	for _, file := range files {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		all = append(all, entry(ctx, filepath.Dir(file)))
	}
	return all, nil
}

// escaped escapes the root for use in a glob pattern.
func escaped(root string) string {
	return strings.NewReplacer(`\`, `\\`, `*`, `\*`, `?`, `\?`, `[`, `\[`).Replace(root)
}

func entry(ctx context.Context, dir string) Entry {
	e := Entry{Experiment: filepath.Base(filepath.Dir(dir)), Dir: dir, Running: locked(dir)}
	if name := filepath.Base(dir); len(name) >= len(nameLayout) {
		e.Started, _ = time.Parse(nameLayout, name[:len(nameLayout)])
	}
	f, err := Open(ctx, dir)
	if err != nil {
		e.Problem = err.Error()
		return e
	}
	e.Title = f.Plan.Experiment.Title
	e.Experiment = f.Plan.Experiment.Name
	e.Runs = len(f.Plan.Runs)
	for _, run := range f.Plan.Runs {
		if _, err := os.Stat(filepath.Join(f.RunDir(run.ID), resultFile)); err == nil {
			e.Finished++
		}
	}
	failures, err := f.Failures(ctx)
	if err != nil {
		e.Problem = err.Error()
	}
	e.Failed = len(failures)
	return e
}

// FinishedRuns returns the ids of the runs with a result in a folder, sorted.
func FinishedRuns(dir string) ([]string, error) {
	files, err := filepath.Glob(filepath.Join(escaped(dir), runsDir, "*", resultFile))
	if err != nil {
		return nil, fmt.Errorf("listing the runs of %s: %w", dir, err)
	}
	ids := make([]string, len(files))
	for i, file := range files {
		ids[i] = filepath.Base(filepath.Dir(file))
	}
	slices.Sort(ids)
	return ids, nil
}

// Latest returns the folder of the newest result of an experiment.
func Latest(root, experiment string) (string, error) {
	parent := filepath.Join(root, experiment)
	entries, err := os.ReadDir(parent) // sorted by name, and so by time
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return "", fmt.Errorf("looking for results of %s: %w", experiment, err)
	}
	for _, e := range slices.Backward(entries) {
		dir := filepath.Join(parent, e.Name())
		switch _, err := os.Stat(filepath.Join(dir, experimentFile)); {
		case err == nil:
			return dir, nil
		case !errors.Is(err, fs.ErrNotExist) && !errors.Is(err, syscall.ENOTDIR):
			return "", fmt.Errorf("looking for results of %s: %w", experiment, err)
		}
	}
	return "", fmt.Errorf("no result of %s in %s: run it first", experiment, root)
}

// Find returns the folder of a result: the argument itself, or the newest result of an experiment
// below the root.
func Find(root, arg string) (string, error) {
	_, err := os.Stat(filepath.Join(arg, experimentFile))
	if err == nil {
		return arg, nil
	}
	if errors.Is(err, fs.ErrPermission) {
		return "", err
	}
	if info, err := os.Stat(arg); err == nil && !info.IsDir() {
		return "", fmt.Errorf("%s is a file: want the folder of a result or the name of an experiment", arg)
	}
	if strings.Contains(arg, "/") {
		return "", fmt.Errorf("%s is not the folder of a result", arg)
	}
	return Latest(root, strings.TrimSuffix(arg, experiments.Ending))
}

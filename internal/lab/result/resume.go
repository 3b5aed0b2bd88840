package result

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"airtide/internal/lab/plan"
	"airtide/internal/sys/file"
)

// Changed is the error if the experiment's file no longer fits the finished runs.
type Changed struct {
	Dir string
	// What lists the changes, one line each.
	What []string
}

func (c *Changed) Error() string {
	return fmt.Sprintf("the experiment has changed since %s was begun, and its finished runs would not fit those to "+
		"come:\n"+
		"  %s\nundo the change, or begin a new result", c.Dir, strings.Join(c.What, "\n  "))
}

// Resume opens a result, which was opened for reading, to do its missing runs. It locks the result
// until Close. The plan is the current experiment; nil means the plan of the result.
//
// Claims, figures, titles, more repeats and more values of a sweep may differ. A change that
// affects finished runs is a *Changed. The previous file is kept as experiment.<n>.yaml.
func (f *Folder) Resume(ctx context.Context, p *plan.Plan) (*Folder, error) {
	l, err := lockResult(f.Dir)
	if err != nil {
		return nil, err
	}
	next, err := f.resume(ctx, p)
	if err != nil {
		l.Close()
		return nil, err
	}
	next.lock = l
	return next, nil
}

func (f *Folder) resume(ctx context.Context, p *plan.Plan) (*Folder, error) {
	f, err := f.reread(ctx)
	if err != nil {
		return nil, err
	}
	finished, err := f.Finished(ctx)
	if err != nil {
		return nil, err
	}
	if p == nil || hash(p.Source) == f.SHA256 {
		return f, nil
	}
	if what := changes(f.Plan, p, finished); len(what) > 0 {
		return nil, &Changed{f.Dir, what}
	}
	if err := f.keepFile(); err != nil {
		return nil, err
	}
	next := &Folder{Dir: f.Dir, Plan: p, SHA256: hash(p.Source)}
	return next, next.writePlan()
}

// reread opens the result again if another process changed its file before it was locked.
func (f *Folder) reread(ctx context.Context) (*Folder, error) {
	text, err := file.Read(filepath.Join(f.Dir, experimentFile), maxExperiment)
	if err == nil && hash(text) == f.SHA256 {
		return &Folder{Dir: f.Dir, Plan: f.Plan, SHA256: f.SHA256}, nil
	}
	return Open(ctx, f.Dir)
}

// keepFile saves the previous experiment's file under the next free number.
func (f *Folder) keepFile() error {
	before, err := file.Read(filepath.Join(f.Dir, experimentFile), maxExperiment)
	if err != nil {
		return fmt.Errorf("saving the previous file of the experiment: %w", err)
	}
	for i := 1; ; i++ {
		path := filepath.Join(f.Dir, fmt.Sprintf("experiment.%d.yaml", i))
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return writeFile(path, before)
		} else if err != nil {
			return fmt.Errorf("saving the previous file of the experiment: %w", err)
		}
	}
}

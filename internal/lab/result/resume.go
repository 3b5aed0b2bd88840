package result

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	"airtide/internal/lab/plan"
)

// Changed says that an experiment's file no longer fits the runs that were made of it.
type Changed struct {
	Dir string
	// What changed, a line for each.
	What []string
}

func (c *Changed) Error() string {
	return fmt.Sprintf("the experiment has changed since %s was begun, and its finished runs would not fit those to come:\n  %s\nundo the change, or begin a new result",
		c.Dir, strings.Join(c.What, "\n  "))
}

// Resume opens a result to do the runs that are missing, and locks it until Close. File is the experiment's as it is now,
// nil for that of the result. Claims, figures, titles, more repeats and more values of a sweep may differ; what changes
// the finished runs is a *Changed. The file as it was is kept as experiment.<n>.yaml.
func Resume(dir string, file []byte) (*Folder, error) {
	// Not a folder that is no result: the lock would leave a file in it.
	if _, err := Open(dir); err != nil {
		return nil, err
	}
	l, err := lock(dir)
	if err != nil {
		return nil, err
	}
	f, err := resumed(dir, file)
	if err != nil {
		l.Close()
		return nil, err
	}
	f.lock = l
	return f, nil
}

func resumed(dir string, file []byte) (*Folder, error) {
	f, err := Open(dir)
	if err != nil {
		return nil, err
	}
	finished, err := f.Finished()
	if err != nil {
		return nil, err
	}
	if file == nil || hash(file) == f.SHA256 {
		return f, nil
	}
	p, err := plan.Read(experimentFile, file)
	if err != nil {
		return nil, err
	}
	if what := changes(f.Plan, p, finished); len(what) > 0 {
		return nil, &Changed{dir, what}
	}
	if err := f.keepFile(); err != nil {
		return nil, err
	}
	next := &Folder{Dir: dir, Plan: p, SHA256: hash(file)}
	return next, next.writePlan(file)
}

// keepFile keeps the experiment's file under the next free number.
func (f *Folder) keepFile() error {
	before, err := os.ReadFile(filepath.Join(f.Dir, experimentFile))
	if err != nil {
		return fmt.Errorf("keeping the experiment's file as it was: %w", err)
	}
	for i := 1; ; i++ {
		path := filepath.Join(f.Dir, fmt.Sprintf("experiment.%d.yaml", i))
		if _, err := os.Lstat(path); errors.Is(err, fs.ErrNotExist) {
			return writeFile(path, before)
		} else if err != nil {
			return fmt.Errorf("keeping the experiment's file as it was: %w", err)
		}
	}
}

// Package benchlab runs experiments for programs that compare their results with references.
package benchlab

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"airtide/experiments"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/report"
	"airtide/internal/lab/result"
)

// Lab holds the settings for runs of experiments.
type Lab struct {
	// Airtide is the binary, Results the folder in which results are kept.
	Airtide, Results string
	// LagLimit is the delay that at most 1 packet in 100 exceeds in a run that counts. Zero means
	// the experiment's limit.
	LagLimit time.Duration
	// AtOnce is the number of runs at a time. Zero means the experiment's number.
	AtOnce int
}

// Report runs an experiment of experiments/, or does what an earlier run has left over, and reads
// its result. With an error there may be a report all the same, of the runs that are finished.
func (l *Lab) Report(ctx context.Context, name string) (*report.Report, error) {
	text, err := experiments.Read(name)
	if err != nil {
		return nil, err
	}
	return l.report(ctx, name, name+experiments.Ending, text)
}

// ReportFile does the same for a file. The name of the file is the experiment's.
func (l *Lab) ReportFile(ctx context.Context, path string) (*report.Report, error) {
	text, err := os.ReadFile(path)
	if err != nil {
		return nil, err
	}
	return l.report(ctx, path, path, text)
}

// report runs the experiment that `lab run` knows by an argument and that a file has as its text.
func (l *Lab) report(ctx context.Context, arg, file string, text []byte) (*report.Report, error) {
	name := strings.TrimSuffix(filepath.Base(file), experiments.Ending)
	args := []string{"lab", "run", arg, "-o", l.Results}
	dir, err := l.begun(ctx, name, file, text)
	if err != nil {
		return nil, err
	}
	if dir != "" {
		args = []string{"lab", "resume", dir}
		if r, err := report.Read(ctx, dir, nil); err == nil && len(r.Runs.Missing) == 0 {
			return r, nil
		}
	}
	if l.LagLimit > 0 {
		args = append(args, "--lag-limit", l.LagLimit.String())
	}
	if l.AtOnce > 0 {
		args = append(args, "--at-once", strconv.Itoa(l.AtOnce))
	}
	c := exec.CommandContext(ctx, l.Airtide, args...)
	c.Cancel = func() error { return c.Process.Signal(os.Interrupt) }
	c.Stderr = os.Stderr
	runErr := c.Run()
	var exit *exec.ExitError
	if errors.As(runErr, &exit) && exit.ExitCode() == 3 {
		runErr = nil // a claim does not hold; the report names it
	}
	r, err := l.Finished(context.WithoutCancel(ctx), name)
	return r, errors.Join(runErr, err)
}

// begun returns the folder of the latest result, if the present experiment can go on with its
// finished runs, or nothing. The folder then has the present file of the experiment.
func (l *Lab) begun(ctx context.Context, name, file string, text []byte) (string, error) {
	dir, err := result.Latest(l.Results, name)
	if err != nil {
		return "", nil // there is none
	}
	now, err := plan.Read(ctx, file, text)
	if err != nil {
		return "", err
	}
	then, err := result.Open(ctx, dir)
	if err != nil {
		return "", err
	}
	f, err := then.Resume(ctx, now)
	if changed := (*result.Changed)(nil); errors.As(err, &changed) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	return dir, f.Close()
}

// Finished reads the latest result of an experiment without running anything.
func (l *Lab) Finished(ctx context.Context, name string) (*report.Report, error) {
	dir, err := result.Latest(l.Results, name)
	if err != nil {
		return nil, err
	}
	return report.Read(ctx, dir, nil)
}

// Cell is a text as a cell of a Markdown table.
func Cell(text string) string {
	return strings.ReplaceAll(strings.Join(strings.Fields(text), " "), "|", "\\|")
}

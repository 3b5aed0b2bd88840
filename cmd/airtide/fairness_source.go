package main

import (
	"context"
	"errors"
	"fmt"
	"os"

	"airtide/internal/lab/result"
	"airtide/internal/lab/score"
	"airtide/internal/recording/summary"
	"airtide/internal/recording/trace"
	"airtide/internal/units"
	"airtide/internal/view/terminal"
)

// judge judges rates of the command line, of a recording, or of a result, and prints the indices.
func (f *fairnessFlags) judge(ctx context.Context, t *terminal.Terminal, args []string) error {
	if f.result != "" {
		return f.judgeResult(ctx, t)
	}
	if len(args) == 1 && isFile(args[0]) {
		return f.judgeRecording(ctx, t, args[0])
	}
	one, err := f.figures(args)
	if err != nil {
		return usageError{err}
	}
	if err := f.options.Judge(&one); err != nil {
		return usageError{err}
	}
	return f.print(t, &one)
}

// judgeRecording judges the flows, processes or peers of a recording.
func (f *fairnessFlags) judgeRecording(ctx context.Context, t *terminal.Terminal, path string) error {
	if err := score.CheckRecordingKey(f.by); err != nil {
		return err
	}
	r, err := openTrace(ctx, t, path)
	if err != nil {
		return err
	}
	defer r.Close()
	s := summary.New(summary.Options{BytesOnly: true})
	if err := r.scan(ctx, "summing up", trace.ScanOptions{Fields: summary.Fields()}, s); err != nil {
		return err
	}
	r.warnDamage()
	one, out, of, err := f.options.Recording(s, f.by, f.leastRate)
	if out > 0 {
		t.Warnf("%d of %s left out: below --least %s", out, units.Count(of, "rate"), f.least)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", path, err)
	}
	if n := tiny(one.Rates); n > 0 && f.least == "" {
		t.Notef("%d of %s below a thousandth of the highest: --least RATE leaves out control connections", n,
			units.Count(of, "rate"))
	}
	return f.print(t, &one)
}

// tiny counts the rates below a thousandth of the highest.
func tiny(rates []float64) (n int) {
	var greatest float64
	for _, r := range rates {
		greatest = max(greatest, r)
	}
	for _, r := range rates {
		if r < greatest/1000 {
			n++
		}
	}
	return n
}

// judgeResult judges one run, or the runs of a result and each point's mean.
func (f *fairnessFlags) judgeResult(ctx context.Context, t *terminal.Terminal) error {
	if err := score.CheckResultKey(f.by); err != nil {
		return err
	}
	if st, err := os.Stat(f.result); err == nil && !st.IsDir() {
		r, err := result.Read(f.result)
		if errors.Is(err, result.ErrRecording) {
			return fmt.Errorf("%w: give it without --result", err)
		}
		if err != nil {
			return err
		}
		if !r.Valid {
			t.Warnf("%s: this run is not valid", f.result)
		}
		one, err := f.options.Run(r, f.by)
		if err != nil {
			return err
		}
		return f.print(t, &one)
	}
	dir, err := f.results.find(f.result)
	if err != nil {
		return err
	}
	folder, err := result.Open(ctx, dir)
	if err != nil {
		return err
	}
	all, err := f.options.Result(ctx, folder, f.by, t.Warnf)
	if err != nil {
		return err
	}
	return f.print(t, &all)
}

// judgement is a score or the scores of a result.
type judgement interface {
	WriteText(t *terminal.Terminal) error
}

// print prints JSON or text.
func (f *fairnessFlags) print(t *terminal.Terminal, j judgement) error {
	if f.asJSON {
		return t.JSON(j)
	}
	return j.WriteText(t)
}

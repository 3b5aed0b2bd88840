package show

import (
	"fmt"
	"io"

	"airtide/internal/lab/result"
	"airtide/internal/units"
	"airtide/internal/view/terminal"
)

// WriteList writes results as a table, the newest of each experiment last, and the problems of
// unreadable ones below it.
func WriteList(w io.Writer, entries []result.Entry, o TextOptions) error {
	if len(entries) == 0 {
		_, err := fmt.Fprintln(w, "no results")
		return err
	}
	t := &terminal.Table{Columns: []terminal.Column{
		{Title: "experiment", Least: 10},
		{Title: "started (UTC)", Optional: 1},
		{Title: "state"},
		{Title: "folder", Least: 20, Optional: 3},
		{Title: "runs", Right: true},
		{Title: "failed", Right: true, Optional: 2},
	}}
	for _, e := range entries {
		t.Add(e.Experiment, e.Started.Format("2006-01-02 15:04:05"), stateOf(&e, o), e.Dir,
			fmt.Sprintf("%d/%d", e.Finished, e.Runs), fmt.Sprint(e.Failed))
	}
	if err := t.Write(w, o.Width, o.Colour); err != nil {
		return err
	}
	for _, e := range entries {
		if e.Problem == "" {
			continue
		}
		if _, err := fmt.Fprintln(w, units.PrintableText(e.Problem, false)); err != nil {
			return err
		}
	}
	return nil
}

func stateOf(e *result.Entry, o TextOptions) string {
	switch {
	case e.Problem != "":
		return o.paint(red, "unreadable")
	case e.Running:
		return o.paint(yellow, "running")
	case e.Finished == e.Runs:
		return o.paint(green, "finished")
	}
	return "unfinished"
}

package show

import (
	"fmt"
	"io"

	"airtide/internal/lab/result"
	"airtide/internal/view/terminal"
)

// WriteList writes results as a table, the newest of each experiment last, and the problems of
// unreadable ones below it.
func WriteList(w io.Writer, entries []result.Entry, o TextOptions) error {
	if len(entries) == 0 {
		_, err := fmt.Fprintln(w, "no results")
		return err
	}
	t := &terminal.Table{Columns: words("experiment", "started (UTC)", "state", "folder")}
	t.Columns = append(t.Columns, figures("runs", "failed")...)
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
		if _, err := fmt.Fprintln(w, e.Problem); err != nil {
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

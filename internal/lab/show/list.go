package show

import (
	"fmt"
	"io"
	"slices"

	"airtide/internal/lab/result"
)

// WriteList writes results as a table, the newest of each experiment last.
func WriteList(w io.Writer, entries []result.Entry, o TextOptions) error {
	if len(entries) == 0 {
		_, err := fmt.Fprintln(w, "no results")
		return err
	}
	t := table{head: []string{"experiment", "started (UTC)", "state", "folder", "runs", "failed"}, words: 4}
	for _, e := range entries {
		state := "unfinished"
		switch {
		case e.Problem != "":
			state = o.paint(red, "unreadable")
		case e.Running:
			state = o.paint(yellow, "running")
		case e.Finished == e.Runs:
			state = o.paint(green, "finished")
		}
		t.add(e.Experiment, e.Started.Format("2006-01-02 15:04:05"), state, e.Dir, fmt.Sprintf("%d/%d", e.Finished, e.Runs), fmt.Sprint(e.Failed))
	}
	if err := t.write(w, ""); err != nil {
		return err
	}
	for _, e := range slices.DeleteFunc(slices.Clone(entries), func(e result.Entry) bool { return e.Problem == "" }) {
		if _, err := fmt.Fprintln(w, e.Problem); err != nil {
			return err
		}
	}
	return nil
}

package show

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"

	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
	"airtide/test/results"
)

func TestListHasTheStateOfResults(t *testing.T) {
	s := results.Quickstart(t)
	done := s.Make(t)
	s.Skip = func(_ plan.Run, n int) bool { return n == 0 }
	begun := s.Make(t)
	opened, err := result.Open(t.Context(), s.Make(t))
	if err != nil {
		t.Fatal(err)
	}
	running, err := opened.Resume(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}
	defer running.Close()
	broken := s.Make(t)
	if err := os.WriteFile(filepath.Join(broken, "experiment.yaml"), []byte("name: 3 4\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	var all []result.Entry
	for _, dir := range []string{done, begun, running.Dir, broken} {
		entries, err := result.List(t.Context(), filepath.Dir(filepath.Dir(dir)))
		if err != nil {
			t.Fatal(err)
		}
		all = append(all, entries...)
	}
	contains(t, printed(t, func(b *bytes.Buffer) error { return WriteList(b, all, TextOptions{}) }),
		"experiment started (UTC) state folder runs failed",
		"quickstart 2026-05-04 03:02:01 finished "+done+" 2/2 0",
		"unfinished "+begun+" 1/2 0", "running "+running.Dir+" 1/2", "unreadable "+broken,
		"does not read its experiment")
	contains(t, printed(t, func(b *bytes.Buffer) error { return WriteList(b, nil, TextOptions{}) }), "no results")
}

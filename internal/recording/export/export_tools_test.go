//go:build tools

package export

import (
	"path/filepath"
	"slices"
	"testing"

	"airtide/internal/tcp"
)

func TestARecordingWithoutAnythingIsStillReadable(t *testing.T) {
	dir := t.TempDir()
	for _, format := range Formats() {
		x, err := New(format, filepath.Join(dir, "x."+string(format)), testMeta, Options{})
		if err != nil {
			t.Fatal(err)
		}
		if err := x.Close(); err != nil {
			t.Fatal(err)
		}
	}
	var seen struct {
		Pandas, DuckDB, CSV []string
		Rows                int
	}
	runPython(t, &seen, "read_empty.py", filepath.Join(dir, "x.parquet"), filepath.Join(dir, "x.csv"))
	if len(seen.Pandas) != 3+tcp.NumFields || !slices.Equal(seen.Pandas, seen.DuckDB) ||
		!slices.Equal(seen.Pandas, seen.CSV) || seen.Rows != 0 {
		t.Errorf("columns and rows of empty tables: %+v", seen)
	}
	var trace perfettoSeen
	runPython(t, &trace, "read_perfetto.py", filepath.Join(dir, "x.perfetto"))
	if len(trace.Processor.Problems) > 0 {
		t.Errorf("an empty trace has problems: %v", trace.Processor.Problems)
	}
}

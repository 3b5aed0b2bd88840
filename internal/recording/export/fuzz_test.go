package export

import (
	"bytes"
	"encoding/json"
	"path/filepath"
	"testing"

	"airtide/test/records"
)

// FuzzExport exports any records to every format. Each line of JSON is valid.
func FuzzExport(f *testing.F) {
	for i, seed := range records.Seeds() {
		f.Add(seed, byte(i))
	}
	f.Fuzz(func(t *testing.T, data []byte, format byte) {
		formats := Formats()
		to := formats[int(format)%len(formats)]
		var out bytes.Buffer
		path := "-"
		if to == Parquet || to == Perfetto {
			path = filepath.Join(t.TempDir(), "out")
		}
		x, err := New(to, path, testMeta, Options{Stdout: &out})
		if err != nil {
			t.Fatal(err)
		}
		failed := records.Feed(data, x)
		if err := x.Close(); err != nil && failed == nil {
			t.Fatalf("%s: %v", to, err)
		}
		if to != JSONLines {
			return
		}
		for line := range bytes.Lines(out.Bytes()) {
			if !json.Valid(line) {
				t.Errorf("no JSON: %q", line)
			}
		}
	})
}

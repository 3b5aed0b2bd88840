package figures

import (
	"bytes"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode"

	"airtide/internal/lab/report"
	"airtide/internal/lab/show"
	"airtide/internal/view/figure"
	"airtide/test/results"
)

// FuzzShownResult replaces the result of a run by any bytes. The report, its texts and its figures
// are made of it, or an error, and texts have no control characters.
func FuzzShownResult(f *testing.F) {
	dir := results.Quickstart(f).Make(f)
	files, err := filepath.Glob(filepath.Join(dir, "runs", "*", "result.json"))
	if err != nil || len(files) == 0 {
		f.Fatalf("results %v, %v", files, err)
	}
	good, err := os.ReadFile(files[0])
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add(good[:len(good)/2])
	f.Add(bytes.ReplaceAll(good, []byte(":0."), []byte(":1e308")))
	f.Add(bytes.ReplaceAll(good, []byte(`"values":[`), []byte(`"values":[null,`)))
	f.Add(bytes.ReplaceAll(good, []byte("iperf"), []byte(`\u001b[2J\u009b`)))
	f.Fuzz(func(t *testing.T, data []byte) {
		if err := os.WriteFile(files[0], data, 0o600); err != nil {
			t.Fatal(err)
		}
		r, err := report.Read(t.Context(), dir, nil)
		if err != nil {
			return
		}
		var text strings.Builder
		for _, err := range []error{
			show.WriteText(&text, r, show.TextOptions{Width: 80}),
			show.WriteCSV(&text, r),
			json.NewEncoder(io.Discard).Encode(r),
		} {
			if err != nil {
				t.Error(err)
			}
		}
		if at := strings.IndexFunc(text.String(), func(r rune) bool {
			return r != '\n' && r != '\r' && r != '\t' && unicode.IsControl(r)
		}); at >= 0 {
			t.Errorf("a control character at %d of %q", at, text.String())
		}
		for _, name := range Names(r) {
			_ = Draw(t.Context(), io.Discard, "svg", r, name, figure.Options{}) // it may have nothing to draw
		}
	})
}

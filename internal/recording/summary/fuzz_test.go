package summary

import (
	"encoding/json"
	"io"
	"strings"
	"testing"
	"unicode"

	"airtide/test/records"
)

// FuzzSummary sums up any records. Every output of the summary works, and its text has no control
// characters.
func FuzzSummary(f *testing.F) {
	for _, seed := range records.Seeds() {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, data []byte) {
		s := New(Options{})
		if err := records.Feed(data, s); err != nil {
			t.Fatal(err)
		}
		report := s.Report()
		if err := json.NewEncoder(io.Discard).Encode(report); err != nil {
			t.Fatalf("no JSON: %v", err)
		}
		var text strings.Builder
		if err := report.WriteTotals(&text, TextOptions{}); err != nil {
			t.Fatal(err)
		}
		for i := range min(len(report.Flows), 3) {
			if err := report.WriteFlow(&text, report.Flows[i].ID, TextOptions{}); err != nil {
				t.Fatal(err)
			}
		}
		if at := strings.IndexFunc(text.String(), func(r rune) bool {
			return r != '\n' && unicode.IsControl(r)
		}); at >= 0 {
			t.Errorf("a control character at %d of %q", at, text.String())
		}
		Compare(report.list(), report.list())
	})
}

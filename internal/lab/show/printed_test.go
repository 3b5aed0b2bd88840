package show

import (
	"bytes"
	"testing"

	"airtide/internal/lab/report"
)

func reportOf(t *testing.T, dir string) *report.Report {
	t.Helper()
	r, err := report.Read(t.Context(), dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func printed(t *testing.T, write func(*bytes.Buffer) error) string {
	t.Helper()
	var b bytes.Buffer
	if err := write(&b); err != nil {
		t.Fatal(err)
	}
	return b.String()
}

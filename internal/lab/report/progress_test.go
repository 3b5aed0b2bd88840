package report

import (
	"maps"
	"testing"

	"airtide/test/results"
)

// reported is the last number of each reported step. It fails the test if a number does not follow
// the one before.
type reported map[string][2]int

func (g reported) progress(t *testing.T) Progress {
	return func(doing string, number, of int) {
		t.Helper()
		if before := g[doing]; number != before[0]%of+1 {
			t.Errorf("%s: %d of %d after %d", doing, number, of, before[0])
		}
		g[doing] = [2]int{number, of}
	}
}

func TestReadingAndComparingReportProgress(t *testing.T) {
	withClaims := readWithProgress(t, results.Quickstart(t).Make(t))
	if n := len(withClaims.Claims); n == 0 {
		t.Error("the scene claims nothing")
	}
	r := readWithProgress(t, results.BenchScene().Make(t))
	points := len(r.Points)
	comparing := reported{}
	if _, err := Compare(t.Context(), comparing.progress(t), r, r, r); err != nil {
		t.Fatal(err)
	}
	if want := (reported{"comparing points": {points, points}}); !maps.Equal(comparing, want) {
		t.Errorf("comparing reported %v, want %v", comparing, want)
	}
}

// readWithProgress reads a result and checks the reported steps.
func readWithProgress(t *testing.T, dir string) *Report {
	t.Helper()
	reading := reported{}
	want := reported{}
	r, err := Read(t.Context(), dir, reading.progress(t))
	if err != nil {
		t.Fatal(err)
	}
	for doing, n := range map[string]int{
		"reading runs": len(r.Plan().Runs), "summing up points": len(r.Points), "judging claims": len(r.Claims),
	} {
		if n > 0 {
			want[doing] = [2]int{n, n}
		}
	}
	if !maps.Equal(reading, want) {
		t.Errorf("reading reported %v, want %v", reading, want)
	}
	return r
}

package show

import (
	"maps"
	"testing"

	"airtide/test/results"
)

// told collects the last number that each thing was told with, and complains of one that does not follow the one before.
type told map[string][2]int

func (g told) progress(t *testing.T) Progress {
	return func(doing string, number, of int) {
		t.Helper()
		if before := g[doing]; number != before[0]%of+1 {
			t.Errorf("%s: %d of %d after %d", doing, number, of, before[0])
		}
		g[doing] = [2]int{number, of}
	}
}

func TestReadingAndComparingTellHowFarTheyAre(t *testing.T) {
	withClaims := reportTold(t, results.Quickstart(t).Make(t))
	if n := len(withClaims.Claims); n == 0 {
		t.Error("the scene claims nothing")
	}
	r := reportTold(t, results.BenchScene().Make(t))
	points := len(r.Points)
	comparing := told{}
	if _, err := Compare(comparing.progress(t), r, r, r); err != nil {
		t.Fatal(err)
	}
	if want := (told{"comparing points": {points, points}}); !maps.Equal(comparing, want) {
		t.Errorf("comparing told %v, want %v", comparing, want)
	}
}

// reportTold reads a result and holds what is told against it.
func reportTold(t *testing.T, dir string) *Report {
	t.Helper()
	reading, want := told{}, told{}
	r, err := Read(dir, reading.progress(t))
	if err != nil {
		t.Fatal(err)
	}
	for doing, n := range map[string]int{"reading runs": len(r.plan.Runs), "summing up points": len(r.Points), "judging claims": len(r.Claims)} {
		if n > 0 {
			want[doing] = [2]int{n, n}
		}
	}
	if !maps.Equal(reading, want) {
		t.Errorf("reading told %v, want %v", reading, want)
	}
	return r
}

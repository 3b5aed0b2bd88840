package benchlab

import (
	"strings"
	"testing"
	"time"

	"airtide/experiments"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
)

// A result goes on with the present file of its experiment if the finished runs fit it.
func TestBegunResult(t *testing.T) {
	const name = "quickstart"
	text, err := experiments.Read(name)
	if err != nil {
		t.Fatal(err)
	}
	for what, c := range map[string]struct {
		old, now string
		fits     bool
	}{
		"the present file": {"", "", true},
		"fewer repeats":    {"repeats: 2", "repeats: 1", true},
		"another wire":     {"rate: 1 Gbit/s", "rate: 1 Mbit/s", false},
	} {
		t.Run(what, func(t *testing.T) {
			if !strings.Contains(string(text), c.old) {
				t.Fatalf("the experiment has no %q", c.old)
			}
			changed := strings.Replace(string(text), c.old, c.now, 1)
			p, err := plan.Read(t.Context(), name+experiments.Ending, []byte(changed))
			if err != nil {
				t.Fatal(err)
			}
			lab := Lab{Results: t.TempDir()}
			f, err := result.Create(lab.Results, p, time.Now())
			if err != nil {
				t.Fatal(err)
			}
			finish(t, f, p)
			if err := f.Close(); err != nil {
				t.Fatal(err)
			}
			dir, err := lab.begun(t.Context(), name, name+experiments.Ending, text)
			if err != nil || (dir == f.Dir) != c.fits || !c.fits && dir != "" {
				t.Errorf("the result to go on with is %q, %v", dir, err)
			}
		})
	}
}

// finish makes a result of the first run.
func finish(t *testing.T, f *result.Folder, p *plan.Plan) {
	t.Helper()
	a, err := f.Begin(p.Runs[0])
	if err != nil {
		t.Fatal(err)
	}
	r := result.New(p, p.Runs[0])
	r.Started = time.Now()
	r.Ended = time.Now()
	r.Valid = true
	for _, m := range p.Experiment.Measure {
		r.Measurements[m.Name] = result.NewMeasurement(m.Value, []string{"fast1"}, []float64{1})
	}
	if err := a.Finish(r); err != nil {
		t.Fatal(err)
	}
}

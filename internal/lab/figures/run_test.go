package figures

import (
	"bytes"
	"io"
	"os"
	"strings"
	"testing"

	"airtide/internal/lab/plan"
	"airtide/internal/view/figure"
	"airtide/test/results"
	"airtide/test/svg"
)

func TestTimeSeriesOfARun(t *testing.T) {
	quickstart := results.Quickstart(t).File
	for name, c := range map[string]struct {
		file   string
		expect []string
		not    string
	}{
		"cell": {quickstart, []string{
			"goodput (Mbit/s)", "airtime (%)", "own queue (packets)", "AP queue (packets)", "time (s)", "tablet2",
			"measurements begin at 2 s",
		}, ""},
		"wire": {wireExperiment(t), []string{"goodput (Mbit/s)", "time (s)", "beagle"}, "airtime (%)"},
		"a crowd": {
			strings.Replace(quickstart, "count: 2", "count: 40", 1),
			[]string{"measurements begin at 2 s; 42 terminals, without a legend"},
			"tablet2",
		},
		"no sweep": {results.Bench, []string{"bench, run discipline"}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			one := func(plan.Quantity, map[string]string, string, int) float64 { return 1 }
			s := results.Scene{File: c.file, Model: one}
			s.Skip = func(_ plan.Run, n int) bool { return n > 0 }
			r := reportOf(t, s.Make(t))
			dir := r.RunDir(r.Finished()[0].Run)
			var b bytes.Buffer
			if err := DrawRun(t.Context(), &b, "svg", dir, figure.Options{}); err != nil {
				t.Fatal(err)
			}
			p := svg.Read(t, b.Bytes())
			for _, text := range c.expect {
				if !p.HasPrefix(text) {
					t.Errorf("%q is not in the figure: %s", text, p.All())
				}
			}
			if c.not != "" && p.Has(c.not) {
				t.Errorf("%q is in the figure", c.not)
			}
			p.CheckLayout(t)
			b.Reset()
			if err := DrawRun(t.Context(), &b, "png", dir, figure.Options{DPI: 100}); err != nil {
				t.Fatal(err)
			}
			keep(t, "run-"+name+".png", b.Bytes())
			if err := os.Truncate(dir+"/cell.jsonl", 50); err != nil {
				t.Fatal(err)
			}
			err := DrawRun(t.Context(), io.Discard, "png", dir, figure.Options{})
			if err == nil || !strings.Contains(err.Error(), "cell.jsonl") {
				t.Errorf("a damaged series: %v", err)
			}
		})
	}
}

// wireExperiment has terminals on Ethernet only.
func wireExperiment(t *testing.T) string {
	t.Helper()
	return results.Committed(t, "p2-table3.yaml")
}

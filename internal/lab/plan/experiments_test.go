package plan

import (
	"testing"

	"airtide/experiments"
)

func TestEveryExperimentPassesTheChecker(t *testing.T) {
	files := experiments.Names()
	if len(files) < 4 {
		t.Fatalf("found %v", files)
	}
	for _, file := range files {
		data, err := experiments.Read(file)
		if err != nil {
			t.Fatal(err)
		}
		p, err := Read(t.Context(), file, data)
		if err != nil {
			t.Errorf("%v", err)
			continue
		}
		if p.Experiment.Name != file {
			t.Errorf("%s has the name %s: files are found by it", file, p.Experiment.Name)
		}
		if len(p.Claims) == 0 || p.Experiment.Source == "" {
			t.Errorf("%s claims nothing, or says not what it repeats", file)
		}
		// A claim needs repeats to be decided.
		if p.Experiment.Repeats < 2 {
			t.Errorf("%s is run once, which decides no claim", file)
		}
	}
}

package control_test

import (
	"bytes"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"testing"
	"time"

	"airtide/internal/share/control"
	"airtide/internal/share/steplog"
)

var update = flag.Bool("update", false, "write the outputs of golden traces anew")

// TestGoldenTraces replays what agents did in the lab (scripts/record-share-traces). A wanted
// change of the control writes the outputs anew with -update, and their difference is reviewed.
func TestGoldenTraces(t *testing.T) {
	paths, err := filepath.Glob("testdata/*.json.gz")
	if err != nil || len(paths) == 0 {
		t.Fatalf("%d traces, %v", len(paths), err)
	}
	for _, path := range paths {
		t.Run(filepath.Base(path), func(t *testing.T) {
			t.Parallel()
			if *update {
				rewrite(t, path)
				return
			}
			var core *control.Core
			steps := 0
			err := steplog.Replay(path, steplog.Handler{
				Begin: func(c control.Config) { core = control.New(c) },
				Step: func(now time.Duration, in control.Inputs, want control.Outputs) error {
					steps++
					return differ(steps, core.Step(now, in), want)
				},
			})
			if err != nil || steps < 100 {
				t.Errorf("%d steps: %v", steps, err)
			}
		})
	}
}

func differ(step int, got, want control.Outputs) error {
	a, err := json.Marshal(got)
	if err != nil {
		return err
	}
	b, err := json.Marshal(want)
	if err != nil {
		return err
	}
	if !bytes.Equal(a, b) {
		return fmt.Errorf("step %d differs:\n got  %s\n want %s", step, a, b)
	}
	return nil
}

// rewrite replaces the outputs of a trace by those of today.
func rewrite(t *testing.T, path string) {
	w, err := steplog.Create(path + ".new")
	if err != nil {
		t.Fatal(err)
	}
	var core *control.Core
	err = steplog.Replay(path, steplog.Handler{
		Begin: func(c control.Config) {
			core = control.New(c)
			w.Begin(c)
		},
		Step: func(now time.Duration, in control.Inputs, _ control.Outputs) error {
			w.Step(now, in, core.Step(now, in))
			return nil
		},
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if err := os.Rename(path+".new", path); err != nil {
		t.Fatal(err)
	}
}

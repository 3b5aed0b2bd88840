package steplog_test

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"testing"
	"time"

	"airtide/internal/share/control"
	"airtide/internal/share/steplog"
	"airtide/test/scenario"
)

// A core with the recorded inputs has the recorded outputs.
func TestReplayHasTheRecordedOutputs(t *testing.T) {
	path := filepath.Join(t.TempDir(), "steps.json.gz")
	w, err := steplog.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	written := 0
	for seed := range uint64(4) {
		walk, c := scenario.NewWalk(seed, time.Hour)
		if seed == 1 {
			c.Options.Alpha = new(math.Inf(1))
		}
		core := control.New(c)
		w.Begin(c)
		for range 300 {
			in := walk.Step()
			w.Step(walk.Now, in, core.Step(walk.Now, in))
			written++
		}
	}
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	var core *control.Core
	read := 0
	err = steplog.Replay(path, steplog.Handler{
		Begin: func(c control.Config) { core = control.New(c) },
		Step: func(now time.Duration, in control.Inputs, want control.Outputs) error {
			read++
			got := core.Step(now, in)
			a, _ := json.Marshal(strip(got))
			b, _ := json.Marshal(strip(want))
			if string(a) != string(b) {
				return fmt.Errorf("step %d:\n%s\n%s", read, a, b)
			}
			return nil
		},
	})
	if err != nil || read != written {
		t.Errorf("%d of %d steps: %v", read, written, err)
	}
}

// strip leaves out addresses, because a recording replaces them.
func strip(out control.Outputs) (numbers []any) {
	for _, b := range out.Send {
		numbers = append(numbers, b.Packets, b.Least)
	}
	for _, b := range out.Receive {
		numbers = append(numbers, b.Bytes)
	}
	return append(numbers, out.Reason, out.Report, out.Probe, out.ReportNow, out.NextProbe, out.Notices,
		out.View.TotalBps)
}

func TestCreateFollowsNoPlantedLink(t *testing.T) {
	dir := t.TempDir()
	victim := filepath.Join(dir, "victim")
	path := filepath.Join(dir, "steps.json.gz")
	if err := os.WriteFile(victim, []byte("precious"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(victim, path); err != nil {
		t.Fatal(err)
	}
	w, err := steplog.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	w.Begin(control.Config{})
	if err := w.Close(); err != nil {
		t.Fatal(err)
	}
	if text, err := os.ReadFile(victim); err != nil || string(text) != "precious" {
		t.Errorf("the victim has %q, %v", text, err)
	}
	if info, err := os.Lstat(path); err != nil || info.Mode() != 0o600 {
		t.Errorf("the log is %v, %v", info.Mode(), err)
	}
}

func TestNoSpaceIsLeft(t *testing.T) {
	w, err := steplog.Create("/dev/full")
	if err != nil {
		t.Fatal(err)
	}
	w.Begin(control.Config{})
	const want = "recording steps: writing /dev/full: no space left on device"
	if err := w.Close(); err == nil || err.Error() != want {
		t.Errorf("got %v, want %q", err, want)
	}
}

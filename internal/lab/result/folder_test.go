package result

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"airtide/internal/lab/plan"
)

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func TestFolderKeepsRunsUntilAllAreDone(t *testing.T) {
	root := t.TempDir()
	f := mustCreate(t, root, small)
	if want := filepath.Join(root, "small", "20260504-030201"); f.Dir != want {
		t.Errorf("made %s, want %s", f.Dir, want)
	}
	var p struct{ Points, Runs []any }
	data, err := os.ReadFile(filepath.Join(f.Dir, "plan.json"))
	if err != nil || json.Unmarshal(data, &p) != nil || len(p.Points) != 2 || len(p.Runs) != 4 {
		t.Errorf("plan.json: %v, %d points, %d runs", err, len(p.Points), len(p.Runs))
	}
	for done := range f.Plan.Runs {
		remaining, err := f.Remaining(t.Context())
		if err != nil || len(remaining) != 4-done {
			t.Fatalf("after %d runs %d remain, %v", done, len(remaining), err)
		}
		if remaining[0] != f.Plan.Runs[done] {
			t.Errorf("next is %v, want the order of the plan", remaining[0])
		}
		finish(t, f, remaining[0])
	}
	read, err := Open(t.Context(), f.Dir)
	if err != nil {
		t.Fatal(err)
	}
	results, problems := read.Results(t.Context())
	if len(results) != 4 || len(problems) > 0 {
		t.Fatalf("got %d results, %v", len(results), problems)
	}
	if r := results[0]; r.Experiment.SHA256 != f.SHA256 || r.Attempt != 1 || r.Version != Version ||
		r.Run != f.Plan.Runs[0].ID {
		t.Errorf("got %+v", r)
	}
	if _, err := read.Begin(f.Plan.Runs[0]); err == nil {
		t.Error("a run began in a folder opened for reading")
	}
}

func TestFinishedRunIsNeverOverwritten(t *testing.T) {
	f := mustCreate(t, t.TempDir(), small)
	finish(t, f, f.Plan.Runs[0])
	path := filepath.Join(f.RunDir(f.Plan.Runs[0].ID), resultFile)
	before, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	_, err = f.Begin(f.Plan.Runs[0])
	says(t, err, "finished already", f.Plan.Runs[0].ID)
	if after, err := os.ReadFile(path); err != nil || string(after) != string(before) {
		t.Errorf("the result changed: %v", err)
	}
	again := mustCreate(t, filepath.Dir(filepath.Dir(f.Dir)), small) // in the same second
	if again.Dir == f.Dir {
		t.Error("two results share a folder")
	}
}

// The files of a killed lab are no result, and are kept aside when the run is made again.
func TestInterruptedRunIsRepeated(t *testing.T) {
	f := mustCreate(t, t.TempDir(), small)
	run := f.Plan.Runs[0]
	a, err := f.Begin(run)
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(a.Dir, "upload1.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	f.Close()

	f, err = resume(t, f.Dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if remaining, err := f.Remaining(t.Context()); err != nil || len(remaining) != 4 || remaining[0] != run {
		t.Errorf("remaining %v, %v", remaining, err)
	}
	a, err = f.Begin(run)
	if err != nil || a.Number != 2 {
		t.Fatalf("attempt %+v, %v", a, err)
	}
	if exists(filepath.Join(a.Dir, "upload1.json")) {
		t.Error("the new attempt has files of the old")
	}
	failures, err := f.Failures(t.Context())
	if err != nil || len(failures) != 1 || failures[0].Reason != "interrupted" ||
		!exists(filepath.Join(failures[0].Dir, "upload1.json")) {
		t.Errorf("failures %+v, %v", failures, err)
	}
}

func TestFailedAttemptsAreKeptWithTheirReason(t *testing.T) {
	f := mustCreate(t, t.TempDir(), small)
	run := f.Plan.Runs[0]
	for _, reason := range []string{"the engine fell behind by 3 ms", "iperf3 died"} {
		a, err := f.Begin(run)
		if err != nil {
			t.Fatal(err)
		}
		r := made(f.Plan, run)
		r.Valid = false
		says(t, a.Finish(r), "not valid")
		if err := a.Fail(reason, r); err != nil {
			t.Fatal(err)
		}
	}
	a, err := f.Begin(run)
	if err != nil || a.Number != 3 {
		t.Fatalf("attempt %+v, %v", a, err)
	}
	if err := a.Fail("no time left", nil); err != nil {
		t.Fatal(err)
	}
	failures, err := f.Failures(t.Context())
	if err != nil || len(failures) != 3 || failures[0].Reason != "the engine fell behind by 3 ms" ||
		failures[2].Attempt != 3 {
		t.Errorf("failures %+v, %v", failures, err)
	}
	kept, err := Read(filepath.Join(failures[1].Dir, "attempt.json"))
	if err != nil || kept.Valid || kept.Problems[0] != "iperf3 died" || kept.Attempt != 2 {
		t.Errorf("kept %+v, %v", kept, err)
	}
	if finished, err := f.Finished(t.Context()); err != nil || len(finished) != 0 {
		t.Errorf("finished %v, %v", finished, err)
	}
	if exists(f.RunDir(run.ID)) {
		t.Error("the failed run's folder is still among the runs")
	}
}

// A result must not speak of files that are not there, nor be that of another run.
func TestUnfinishedResultIsRefused(t *testing.T) {
	f := mustCreate(t, t.TempDir(), small)
	a, err := f.Begin(f.Plan.Runs[0])
	if err != nil {
		t.Fatal(err)
	}
	says(t, a.Finish(made(f.Plan, f.Plan.Runs[1])), f.Plan.Runs[0].ID, f.Plan.Runs[1].ID)
	r := made(f.Plan, f.Plan.Runs[0])
	r.Series = SeriesFile
	says(t, a.Finish(r), SeriesFile)
	if exists(filepath.Join(a.Dir, resultFile)) {
		t.Fatal("a result was written all the same")
	}
	writeFiles(t, a.Dir, r)
	if err := a.Finish(r); err != nil {
		t.Error(err)
	}
}

func TestDamagedResultIsNamedAndTheOthersAreRead(t *testing.T) {
	f := mustCreate(t, t.TempDir(), small)
	finish(t, f, f.Plan.Runs...)
	path := filepath.Join(f.RunDir(f.Plan.Runs[1].ID), resultFile)
	if err := os.Truncate(path, 100); err != nil {
		t.Fatal(err)
	}
	results, problems := f.Results(t.Context())
	if len(results) != 3 || len(problems) != 1 {
		t.Fatalf("got %d results, %v", len(results), problems)
	}
	says(t, problems[0], path, "move its folder away")
	f.Close()
	_, err := resume(t, f.Dir, nil)
	says(t, err, path)

	// A result that lies in another run's folder.
	other, err := os.ReadFile(filepath.Join(f.RunDir(f.Plan.Runs[0].ID), resultFile))
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(path, other, 0o644); err != nil {
		t.Fatal(err)
	}
	_, problems = f.Results(t.Context())
	if len(problems) != 1 {
		t.Fatalf("got %v", problems)
	}
	says(t, problems[0], path, "found the result of run "+f.Plan.Runs[0].ID)
}

func TestTwoLabsDoNotWriteTheSameResult(t *testing.T) {
	f := mustCreate(t, t.TempDir(), small)
	if !locked(f.Dir) {
		t.Error("a result being written is not locked")
	}
	_, err := resume(t, f.Dir, nil)
	says(t, err, fmt.Sprintf("process %d (", os.Getpid()), f.Dir)
	if _, err := Open(t.Context(), f.Dir); err != nil {
		t.Errorf("reading beside the writer: %v", err)
	}
	if err := f.Close(); err != nil {
		t.Fatal(err)
	}
	if locked(f.Dir) {
		t.Error("the lock outlives its holder")
	}
	again, err := resume(t, f.Dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

// A lock held by a process that is killed holds nobody up.
func TestKilledLabLeavesNoLock(t *testing.T) {
	f := mustCreate(t, t.TempDir(), small)
	f.Close()
	cmd := exec.Command("flock", "-F", filepath.Join(f.Dir, lockFile), "sh", "-c", "echo held; exec sleep 1000")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	if _, err := out.Read(make([]byte, 10)); err != nil {
		t.Fatal(err)
	}
	_, err = resume(t, f.Dir, nil)
	says(t, err, fmt.Sprintf("process %d", cmd.Process.Pid))
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	again, err := resume(t, f.Dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

func TestListAndLatest(t *testing.T) {
	root := t.TempDir()
	if all, err := List(t.Context(), filepath.Join(root, "none")); err != nil || len(all) != 0 {
		t.Errorf("without a folder: %v, %v", all, err)
	}
	_, err := Latest(root, "small")
	says(t, err, "no result of small", "run it first")

	first := mustCreate(t, root, small)
	finish(t, first, first.Plan.Runs[:3]...)
	first.Close()
	titled := strings.Replace(small, "name: small", "name: small\ntitle: Two of them", 1)
	second, err := create(root, titled, begun.Add(time.Hour))
	if err != nil {
		t.Fatal(err)
	}
	defer second.Close()
	a, err := second.Begin(second.Plan.Runs[0])
	if err != nil {
		t.Fatal(err)
	}
	if err := a.Fail("no", nil); err != nil {
		t.Fatal(err)
	}
	broken := filepath.Join(root, "other", "20260101-000000")
	if err := os.MkdirAll(broken, 0o755); err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(filepath.Join(broken, experimentFile), []byte("name: [\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	if err := os.Mkdir(filepath.Join(root, "small", "20990101-000000"), 0o755); err != nil { // killed as it began
		t.Fatal(err)
	}

	all, err := List(t.Context(), root)
	if err != nil || len(all) != 3 {
		t.Fatalf("got %+v, %v", all, err)
	}
	if e := all[1]; e.Dir != first.Dir || e.Finished != 3 || e.Runs != 4 || e.Running || !e.Started.Equal(begun) ||
		e.Problem != "" {
		t.Errorf("got %+v", e)
	}
	if e := all[2]; e.Dir != second.Dir || e.Title != "Two of them" || !e.Running || e.Failed != 1 || e.Finished != 0 {
		t.Errorf("got %+v", e)
	}
	if e := all[0]; e.Experiment != "other" || e.Problem == "" {
		t.Errorf("got %+v", e)
	}
	if dir, err := Latest(root, "small"); err != nil || dir != second.Dir {
		t.Errorf("latest is %s, %v", dir, err)
	}
}

func TestOpenExplainsWhatIsNoResult(t *testing.T) {
	_, err := Open(t.Context(), t.TempDir())
	says(t, err, "holds no result", "experiment.yaml")
	dir := t.TempDir()
	if _, err := resume(t, dir, nil); err == nil || exists(filepath.Join(dir, lockFile)) {
		t.Errorf("resuming nothing: %v", err)
	}
	_, err = create(t.TempDir(), "name: x\n", begun)
	if problems := (plan.Problems{}); !errors.As(err, &problems) {
		t.Errorf("a bad experiment: %v", err)
	}
}

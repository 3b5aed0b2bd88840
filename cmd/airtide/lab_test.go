package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"airtide/experiments"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
	"airtide/internal/view/terminal"
)

const shortExperiment = `
name: short
title: A short upload
duration: 2500 ms
warmup: 500 ms
repeats: 2
terminals:
  phone: {profile: linux-today, radio: {standard: n, phry_rate: 72.2 Mbit/s}}
servers: {server: {}}
path: {rate: 100 Mbit/s}
flows: {upload: {from: phone, to: server, protocol: tcp}}
sweep:
  - over: path.rtt
    values: [4 ms, 40 ms]
record: {tcp: terminals}
measure:
  goodput: {quantity: goodput}
  srtt: {quantity: srtt}
claims:
  replies: {says: it does not keep the phone waiting, holds: mean(srtt) < 60000}
  fits: {says: it is no more than the medium carries, holds: 'mean(at(goodput, {rtt: "4 ms"})) < 1000'}
figures:
  rates: {kind: lines, x: rtt, y: goodput}
`

// rightExperiment is a file without the mistake in shortExperiment.
func rightExperiment(t *testing.T) string {
	t.Helper()
	return cellFile(t, strings.Replace(shortExperiment, "phry_rate", "phy_rate", 1))
}

func TestLabCheckNamesThePlace(t *testing.T) {
	path := cellFile(t, shortExperiment)
	stdout, _, status := run(t, "lab", "check", path)
	if status != statusFailed || !strings.HasPrefix(stdout, path+":8:") ||
		!strings.Contains(stdout, "did you mean phy_rate?") {
		t.Errorf("status %d: %s", status, stdout)
	}
	stdout, _, status = run(t, "lab", "check", "--json", path, "quickstart")
	var checked []struct {
		File     string
		Runs     int
		Problems []string
	}
	if err := json.Unmarshal([]byte(stdout), &checked); err != nil || status != statusFailed {
		t.Fatalf("status %d, %v: %s", status, err, stdout)
	}
	if len(checked) != 2 || len(checked[0].Problems) != 1 || len(checked[1].Problems) != 0 || checked[1].Runs == 0 {
		t.Errorf("it says %+v", checked)
	}
	if out := mustRun(t, "lab", "check", "--schema"); !json.Valid([]byte(out)) {
		t.Error("the schema is no JSON")
	}
}

func TestLabPlansWithoutRunning(t *testing.T) {
	dir := t.TempDir()
	out := mustRun(t, "lab", "run", rightExperiment(t), "--dry-run", "-o", dir)
	for _, want := range []string{"4 ms, 40 ms", "2 repeats = 4 runs"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("a dry run left %v", left)
	}
	if out := mustRun(t, "lab", "list", "-o", dir); !strings.Contains(out, "quickstart") ||
		!strings.Contains(out, "p1-fig7") {
		t.Errorf("the list is\n%s", out)
	}
}

func TestAPartOfAnExperimentIsPlanned(t *testing.T) {
	out := mustRun(t, "lab", "run", "p1-fig8", "--point", "rtt=16 ms,system=ubuntu-9.10", "--repeats", "1", "--dry-run")
	for _, want := range []string{"x 1 repeat = 2 runs", "point       rtt=16ms,system=ubuntu-9.10,direction=forward"} {
		if !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
	for flag, want := range map[string]string{
		"--point=rt=16 ms": "did you mean rtt?", "--point=rtt=1": "16 ms", "--repeats=0": "1 to 1000",
	} {
		_, stderr, status := run(t, "lab", "run", "p1-fig8", "--dry-run", flag)
		if status != statusMisuse || !strings.Contains(stderr, want) {
			t.Errorf("%s: status %d, %s", flag, status, stderr)
		}
	}
}

// The time of all runs takes into account that some run at the same time.
func TestListAndPlanNameTheSameTime(t *testing.T) {
	var list struct {
		Experiments []struct {
			Name  string `json:"name"`
			TimeS int    `json:"time_s"`
		}
	}
	if err := json.Unmarshal([]byte(mustRun(t, "lab", "list", "--json", "-o", t.TempDir())), &list); err != nil {
		t.Fatal(err)
	}
	for _, e := range list.Experiments {
		if e.Name != "p1-fig8" {
			continue
		}
		want := "some " + (time.Duration(e.TimeS) * time.Second).String()
		if out := mustRun(t, "lab", "run", e.Name, "--dry-run"); !strings.Contains(out, want) {
			t.Errorf("%q is not in\n%s", want, out)
		}
	}
}

func TestTheTextOfAnExperimentIsShown(t *testing.T) {
	want, err := experiments.Read("quickstart")
	if err != nil {
		t.Fatal(err)
	}
	if out := mustRun(t, "lab", "show", "quickstart", "--yaml"); out != string(want) {
		t.Errorf("got %s", out)
	}
	if out := mustRun(t, "lab", "show", resultOf(t, [2]float64{18, 18.1}), "--yaml"); out != judgedExperiment {
		t.Errorf("of a result: got %s", out)
	}
	if _, stderr, status := run(t, "lab", "show", "quickstart", "--yaml", "--json"); status != statusMisuse {
		t.Errorf("status %d: %s", status, stderr)
	}
}

func TestResultsAreCompleted(t *testing.T) {
	dir := t.TempDir()
	text, err := os.ReadFile(rightExperiment(t))
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Read(t.Context(), "experiment.yaml", text)
	if err != nil {
		t.Fatal(err)
	}
	f, err := result.Create(dir, p, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, verb := range []string{"show", "resume", "compare"} {
		if out := mustRun(t, "__complete", "lab", verb, "-o", dir, ""); !strings.HasPrefix(out, "short\n"+f.Dir+"\n") {
			t.Errorf("lab %s completes %s", verb, out)
		}
		second := mustRun(t, "__complete", "lab", verb, "-o", dir, "short", "")
		if strings.HasPrefix(second, "short\n") != (verb == "compare") {
			t.Errorf("lab %s completes a second argument with %s", verb, second)
		}
	}
}

// judgedExperiment has a claim that one run cannot decide.
const judgedExperiment = `
name: judged
repeats: 2
terminals: {phone: {radio: {standard: n, phy_rate: 65 Mbit/s}}}
servers: {server: {}}
flows: {upload: {from: phone, to: server, protocol: tcp}}
measure: {goodput: {quantity: goodput}}
claims:
  near: {says: about twenty, holds: mean(goodput) < 20}
`

func TestOnlyAClaimThatIsNotHeldChangesTheExitStatus(t *testing.T) {
	for _, c := range []struct {
		outcome string
		rates   [2]float64
		status  int
	}{
		{"held", [2]float64{18, 18.1}, 0},
		{"not decided", [2]float64{19, 22}, 0},
		{"not held", [2]float64{22, 22.1}, statusNotHeld},
	} {
		dir := resultOf(t, c.rates)
		out, stderr, status := run(t, "lab", "show", dir)
		if status != c.status || !strings.Contains(out, "1 "+c.outcome) {
			t.Errorf("%s: exit status %d, want %d:\n%s%s", c.outcome, status, c.status, out, stderr)
		}
		if _, _, status := run(t, "lab", "show", dir, "--json"); status != c.status {
			t.Errorf("%s, --json: exit status %d, want %d", c.outcome, status, c.status)
		}
		if got := finish(&terminal.Terminal{}, nil, judgeResult(t.Context(), dir)); got != c.status {
			t.Errorf("%s: a run ends with %d, want %d", c.outcome, got, c.status)
		}
	}
}

func TestLabShowNamesWhatItCannotShow(t *testing.T) {
	dir := resultOf(t, [2]float64{18, 18.1})
	_, stderr, status := run(t, "lab", "show", dir, "--run", "r=9", "--figures", t.TempDir())
	want := `no run "r=9" in ` + dir + ": it has r=1, r=2\n"
	if status != statusMisuse || !strings.Contains(stderr, want) {
		t.Errorf("status %d, %q", status, stderr)
	}
	file := filepath.Join(dir, "runs", "r=1", "result.json")
	if err := os.WriteFile(file, []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, flag := range []string{"--csv", "--json"} {
		if _, stderr, _ := run(t, "lab", "show", dir, flag); !strings.Contains(stderr, file) {
			t.Errorf("%s: %q does not name the damaged %s", flag, stderr, file)
		}
	}
	if out := mustRun(t, "lab", "show", dir); !strings.Contains(out, file) || strings.Contains(out, "missing") {
		t.Errorf("the damaged run is not named, or counts as missing:\n%s", out)
	}
	os.RemoveAll(filepath.Join(dir, "runs"))
	if _, stderr, _ := run(t, "lab", "show", dir, "--run", "r=1"); !strings.Contains(stderr, "none has finished") {
		t.Errorf("without runs: %q", stderr)
	}
}

func TestLabShowLeavesOutColumnsThatDoNotFit(t *testing.T) {
	shown, _ := onTerminal(t, 30, []string{"NO_COLOR=1"}, "lab", "show", resultOf(t, [2]float64{18, 18.1}))
	shown = strings.ReplaceAll(shown, "\r", "")
	if !regexp.MustCompile(`\n +mean +95 % interval +runs\n`).MatchString(shown) {
		t.Errorf("the table is folded:\n%s", shown)
	}
}

// resultOf returns a result whose runs have these rates.
func resultOf(t *testing.T, rates [2]float64) string {
	t.Helper()
	p, err := plan.Read(t.Context(), "experiment.yaml", []byte(judgedExperiment))
	if err != nil {
		t.Fatal(err)
	}
	f, err := result.Create(t.TempDir(), p, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for i, run := range f.Plan.Runs {
		a, err := f.Begin(run)
		if err != nil {
			t.Fatal(err)
		}
		r := result.New(f.Plan, run)
		r.Valid = true
		r.Measurements["goodput"] = result.NewMeasurement(f.Plan.Experiment.Measure[0].Value, []string{"upload"},
			rates[i:i+1])
		if err := a.Finish(r); err != nil {
			t.Fatal(err)
		}
	}
	return f.Dir
}

// built is this program without the variables that make a test binary play it, for agents and
// guests.
func built(t *testing.T) string {
	t.Helper()
	program := filepath.Join(t.TempDir(), "airtide")
	c := exec.Command("go", "build", "-o", program, ".")
	c.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := c.CombinedOutput(); err != nil {
		t.Fatalf("building: %v\n%s", err, out)
	}
	return program
}

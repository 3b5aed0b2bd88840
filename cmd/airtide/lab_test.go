package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
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

func TestWithoutRootTheUserIsToldSo(t *testing.T) {
	results := filepath.Join(t.TempDir(), "results")
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"cell", "run", "quickstart"}, "a cell needs root"},
		{[]string{"lab", "run", "quickstart", "-o", results}, "need root: run it with sudo"},
	} {
		cmd := airtide(c.args...)
		if os.Geteuid() == 0 {
			cmd.Path = "/proc/self/exe" // the folder that it lies in is root's
			cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
		}
		stdout, stderr, status := runCmd(t, cmd)
		if status != statusFailed || !strings.Contains(stderr, c.says) || stdout != "" {
			t.Errorf("airtide %s: exit status %d: %s%s", strings.Join(c.args, " "), status, stdout, stderr)
		}
	}
	if _, err := os.Stat(results); err == nil {
		t.Error("a lab without root makes a folder for its results")
	}
}

func TestResultsAreCompleted(t *testing.T) {
	dir := t.TempDir()
	text, err := os.ReadFile(rightExperiment(t))
	if err != nil {
		t.Fatal(err)
	}
	p, err := plan.Read("experiment.yaml", text)
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
		if out := mustRun(t, "__complete", "lab", verb, "-o", dir, "short", ""); strings.HasPrefix(
			out,
			"short\n",
		) != (verb == "compare") {
			t.Errorf("lab %s completes a second argument with %s", verb, out)
		}
	}
}

func TestLabFromFileToClaims(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	file := rightExperiment(t)
	// On a machine that is busy with tests, being late says nothing.
	out, stderr, status := run(t, "lab", "run", file, "-o", dir, "--lag-limit", "1m")
	if status != 0 || !strings.Contains(out, "2 held") || !strings.Contains(stderr, "run 4 of 4") {
		t.Fatalf("status %d:\n%s\n%s", status, out, stderr)
	}
	var shown struct {
		Runs   struct{ Planned, Finished int }
		Points []struct{ ID string }
		Claims []struct {
			Name    string
			Verdict struct{ Outcome string }
		}
	}
	if err := json.Unmarshal([]byte(mustRun(t, "lab", "show", "short", "-o", dir, "--json")), &shown); err != nil {
		t.Fatal(err)
	}
	if shown.Runs.Finished != 4 || len(shown.Points) != 2 || len(shown.Claims) != 2 ||
		shown.Claims[0].Verdict.Outcome != "held" {
		t.Errorf("shown: %+v", shown)
	}
	if csv := mustRun(t, "lab", "show", "short", "-o", dir, "--csv"); strings.Count(csv, "\n") < 5 {
		t.Errorf("CSV:\n%s", csv)
	}
	figures := filepath.Join(dir, "figures")
	mustRun(t, "lab", "show", "short", "-o", dir, "--figures", figures)
	mustRun(t, "lab", "show", "short", "-o", dir, "--figures", figures, "--run", shown.Points[0].ID+",r=1")
	drawn, _ := filepath.Glob(filepath.Join(figures, "*"))
	if len(drawn) != 4 { // one figure and one run, PNG and SVG each
		t.Errorf("drawn: %v", drawn)
	}
	// There is nothing left to do, so nothing is done.
	if out := mustRun(t, "lab", "resume", "short", "-o", dir, "--json"); !strings.Contains(out, `"finished":4`) {
		t.Errorf("resuming a finished result says %s", out)
	}
	// Another claim, which does not hold, changes nothing about the runs.
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	wrong := cellFile(t, strings.Replace(string(text), "mean(srtt) < 60000", "mean(srtt) > 60000", 1))
	if out, _, status := run(t, "lab", "resume", "short", "-o", dir, "--file", wrong); status != statusNotHeld ||
		!strings.Contains(out, "not held") {
		t.Errorf("status %d for a claim that is not held:\n%s", status, out)
	}
	for _, flag := range []string{"--json", "--quiet"} {
		if out, stderr, status := run(t, "lab", "resume", "short", "-o", dir, "--file", wrong, flag); status != statusNotHeld ||
			strings.Contains(out, "not held") {
			t.Errorf("status %d for a claim that is not held, with %s:\n%s%s", status, flag, out, stderr)
		}
	}
	if out := mustRun(t, "lab", "compare", "short", "short", "-o", dir); !strings.Contains(out, "goodput") {
		t.Errorf("compared:\n%s", out)
	}
	if out := mustRun(t, "lab", "list", "-o", dir); !strings.Contains(out, "4/4") {
		t.Errorf("the list is\n%s", out)
	}
	if _, stderr, status := run(t, "lab", "show", "nothing", "-o", dir); status != statusFailed ||
		!strings.Contains(stderr, "nothing") {
		t.Errorf("status %d: %s", status, stderr)
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
	}{{"held", [2]float64{18, 18.1}, 0}, {"not decided", [2]float64{19, 22}, 0}, {"not held", [2]float64{22, 22.1}, statusNotHeld}} {
		dir := resultOf(t, c.rates)
		out, stderr, status := run(t, "lab", "show", dir)
		if status != c.status || !strings.Contains(out, "1 "+c.outcome) {
			t.Errorf("%s: exit status %d, want %d:\n%s%s", c.outcome, status, c.status, out, stderr)
		}
		if _, _, status := run(t, "lab", "show", dir, "--json"); status != c.status {
			t.Errorf("%s, --json: exit status %d, want %d", c.outcome, status, c.status)
		}
		var exit exitStatus
		if err := judgeResult(dir); (c.status == 0) != (err == nil) ||
			c.status != 0 && (!errors.As(err, &exit) || int(exit) != c.status) {
			t.Errorf("%s: what a run ends with is %v, want %d", c.outcome, err, c.status)
		}
	}
}

// resultOf is a result whose runs have these rates.
func resultOf(t *testing.T, rates [2]float64) string {
	t.Helper()
	p, err := plan.Read("experiment.yaml", []byte(judgedExperiment))
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
		r.Measurements["goodput"] = result.NewMeasurement(f.Plan.Experiment.Measure[0].Value, []string{"upload"}, rates[i:i+1])
		if err := a.Finish(r); err != nil {
			t.Fatal(err)
		}
	}
	return f.Dir
}

const sharingExperiment = `
name: sharing
duration: 8 s
warmup: 1 s
terminals:
  told:
    profile: linux-today
    radio: {standard: n, phy_rate: 65 Mbit/s, schedule: [{at: 1 s, phy_rate: 130 Mbit/s}]}
    share: {policy: shares, knows_phy: true}
  given:
    profile: linux-today
    radio: {standard: n, phy_rate: 65 Mbit/s}
    share: {policy: shares, max_rate: 50 Mbit/s, knows_phy: true}
  guest:
    profile: linux-today
    radio: {standard: n, phy_rate: 65 Mbit/s}
    share: {policy: shares, max_rate: 50 Mbit/s, start: 1 s, stop: 6 s}
servers: {server: {}}
flows: {upload: {from: terminals, to: server, protocol: tcp}}
measure:
  goodput: {quantity: goodput, take: each}
`

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

// TestTerminalsOfALabShare lets agents share, one of which is told its PHY rate and that it has
// changed, and one of which comes and goes in mid-run. Results go where they do without -o, below
// the folder in which the user is.
func TestTerminalsOfALabShare(t *testing.T) {
	needRoot(t)
	dir := t.TempDir()
	program := built(t)
	lab := exec.Command(program, "lab", "run", cellFile(t, sharingExperiment), "--lag-limit", "1m")
	lab.Dir = dir
	if out, err := lab.CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	type said struct {
		Held bool
		Own  struct {
			MaxBps    float64 `json:"max_bps"`
			MaxSource string  `json:"max_source"`
		}
		Peers []struct {
			MaxBps float64 `json:"max_bps"`
		}
	}
	lines := func(terminal string) (all []said) {
		files, _ := filepath.Glob(filepath.Join(dir, "results", "*", "*", "runs", "*", "share-"+terminal+".jsonl"))
		if len(files) != 1 {
			t.Fatalf("what %s said is in %v", terminal, files)
		}
		text, err := os.ReadFile(files[0])
		if err != nil {
			t.Fatal(err)
		}
		for d := json.NewDecoder(bytes.NewReader(text)); ; {
			var one said
			if err := d.Decode(&one); errors.Is(err, io.EOF) {
				return all
			} else if err != nil {
				t.Fatal(err)
			}
			all = append(all, one)
		}
	}
	told, given := lines("told"), lines("given")
	first, last := told[0].Own, told[len(told)-1].Own
	if first.MaxSource != "phy" || last.MaxSource != "phy" || last.MaxBps < 1.5*first.MaxBps {
		t.Errorf("told first %+v, last %+v", first, last)
	}
	var end said     // while both were there: one may end before the other
	var others []int // as their number changed
	for _, one := range given {
		if one.Held && len(one.Peers) == 1 {
			end = one
		}
		if n := len(others); n == 0 || others[n-1] != len(one.Peers) {
			others = append(others, len(one.Peers))
		}
	}
	if text := fmt.Sprint(others); !strings.Contains(text, "1 2 1") {
		t.Errorf("the number of others was %s in turn, want the guest to come and to go", text)
	}
	if end.Own.MaxBps != 50e6 || end.Own.MaxSource != "configured" || len(end.Peers) != 1 ||
		math.Abs(end.Peers[0].MaxBps/last.MaxBps-1) > 0.01 {
		t.Errorf("whose maximum is given said in the end %+v, and the other's is %+v", end, last)
	}
}

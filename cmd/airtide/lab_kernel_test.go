//go:build kernel

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
	"slices"
	"strings"
	"testing"

	"airtide/test/need"
)

func TestLabFromFileToClaims(t *testing.T) {
	need.Lab(t)
	need.Root(t)
	dir := t.TempDir()
	file := rightExperiment(t)
	// On a busy test machine, lateness proves nothing.
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
	others := t.TempDir()
	old := filepath.Join(others, "r=9.png")
	if err := os.WriteFile(old, []byte("a figure"), 0o644); err != nil {
		t.Fatal(err)
	}
	_, stderr, status = run(t, "lab", "show", "short", "-o", dir, "--figures", others, "--run", "r=9")
	if status != statusMisuse || !strings.Contains(stderr, "r=9") {
		t.Errorf("a run that is not there: status %d: %s", status, stderr)
	}
	if text, err := os.ReadFile(old); err != nil || string(text) != "a figure" {
		t.Errorf("an old figure became %q, %v", text, err)
	}
	drawn, _ := filepath.Glob(filepath.Join(figures, "*"))
	if len(drawn) != 4 { // one figure and one run, PNG and SVG each
		t.Errorf("drawn: %v", drawn)
	}
	// All runs are complete, so resume does nothing.
	if out := mustRun(t, "lab", "resume", "short", "-o", dir, "--json"); !strings.Contains(out, `"finished":4`) {
		t.Errorf("resuming a finished result says %s", out)
	}
	// A different claim, which does not hold, leaves the runs unchanged.
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
		out, stderr, status := run(t, "lab", "resume", "short", "-o", dir, "--file", wrong, flag)
		if status != statusNotHeld || strings.Contains(out, "not held") {
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

const sharingExperiment = `
name: sharing
duration: 8 s
warmup: 1 s
terminals:
  told:
    profile: linux-today
    radio: {standard: n, phy_rate: 65 Mbit/s, schedule: [{at: 1 s, phy_rate: 130 Mbit/s}]}
    share: {policy: shares, knows_phy: true, knows_busy: true}
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

// TestTerminalsOfALabShare lets agents share. One agent gets its PHY rate, a change of it and the
// channel's busy time; another agent joins and leaves in mid-run. Without -o, results go below the
// current folder.
func TestTerminalsOfALabShare(t *testing.T) {
	t.Parallel()
	need.Root(t)
	need.Lab(t)
	dir := t.TempDir()
	program := built(t)
	lab := exec.Command(program, "lab", "run", cellFile(t, sharingExperiment), "--lag-limit", "1m")
	lab.Dir = dir
	if out, err := lab.CombinedOutput(); err != nil {
		t.Fatalf("%v:\n%s", err, out)
	}
	type said struct {
		Bounded     bool
		ChannelBusy float64 `json:"channel_busy"`
		Own         struct {
			StandaloneBps    float64 `json:"standalone_bps"`
			StandaloneSource string  `json:"standalone_source"`
		}
		Peers []struct {
			StandaloneBps float64 `json:"standalone_bps"`
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
	told := lines("told")
	given := lines("given")
	first := told[0].Own
	last := told[len(told)-1].Own
	if first.StandaloneSource != "phy" || last.StandaloneSource != "phy" ||
		last.StandaloneBps < 1.5*first.StandaloneBps {
		t.Errorf("told first %+v, last %+v", first, last)
	}
	busy := func(one said) bool { return one.ChannelBusy > 0.5 && one.ChannelBusy <= 1 }
	if !slices.ContainsFunc(told, busy) || slices.ContainsFunc(given, busy) {
		t.Errorf("the channel's busy time in %+v and %+v: want it in the first", told, given)
	}
	var end said     // while both were there: one may end before the other
	var others []int // as their number changed
	for _, one := range given {
		if one.Bounded && len(one.Peers) == 1 {
			end = one
		}
		if n := len(others); n == 0 || others[n-1] != len(one.Peers) {
			others = append(others, len(one.Peers))
		}
	}
	if text := fmt.Sprint(others); !strings.Contains(text, "1 2 1") {
		t.Errorf("the number of others was %s in turn, want the guest to come and to go", text)
	}
	if end.Own.StandaloneBps != 50e6 || end.Own.StandaloneSource != "configured" || len(end.Peers) != 1 ||
		math.Abs(end.Peers[0].StandaloneBps/last.StandaloneBps-1) > 0.01 {
		t.Errorf("whose maximum is given said in the end %+v, and the other's is %+v", end, last)
	}
}

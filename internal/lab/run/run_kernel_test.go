//go:build kernel

package run

import (
	"context"
	"encoding/json"
	"errors"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/jsonschema-go/jsonschema"

	"airtide/internal/kernel/congestion"
	"airtide/internal/lab/result"
	"airtide/internal/recording/trace"
	"airtide/internal/tcp"
	"airtide/test/need"
)

func TestAnExperimentLeavesResults(t *testing.T) {
	o := newLab(t)
	before := namespaces(t)
	var seen []Progress
	held := ""
	o.Progress = func(p Progress) {
		seen = append(seen, p)
		text, _ := os.ReadFile(lockPath)
		held = string(text)
	}
	outcome, err := Run(t.Context(), t.TempDir(), planOf(t, small), o)
	if err != nil {
		t.Fatal(err)
	}
	if outcome.Finished != 2 || outcome.Total != 2 || len(outcome.Failed) != 0 {
		t.Errorf("outcome: got %+v", outcome)
	}
	if left := leftovers(t, before); left != nil {
		t.Errorf("namespaces are left: %v", left)
	}
	if !strings.HasPrefix(held, "experiment small (process") {
		t.Errorf("holder of the lab lock: got %q", held)
	}
	f, err := result.Open(t.Context(), outcome.Dir)
	if err != nil {
		t.Fatal(err)
	}
	results, problems := f.Results(t.Context())
	if len(results) != 2 || problems != nil {
		t.Fatalf("results: got %d, problems %v", len(results), problems)
	}
	for _, r := range results {
		check(t, f.RunDir(r.Run), r)
		followsSchema(t, f.RunDir(r.Run))
	}
	if len(seen) == 0 || seen[0].Total != 2 || seen[len(seen)-1].Number != 2 {
		t.Errorf("progress from %+v to %+v", seen[0], seen[len(seen)-1])
	}
	if first, last := seen[0].Left, seen[len(seen)-1].Left; first < 3*time.Second || last >= first {
		t.Errorf("time left of two runs of 1.5 s: got %s at first and %s at last", first, last)
	}
	if results[0].Seed == results[1].Seed {
		t.Error("two runs have the same seed")
	}
}

// followsSchema checks a run's file by the published schema.
func followsSchema(t *testing.T, dir string) {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(dir, "result.json"))
	if err != nil {
		t.Fatal(err)
	}
	var schema jsonschema.Schema
	if err := json.Unmarshal(result.Schema, &schema); err != nil {
		t.Fatal(err)
	}
	resolved, err := schema.Resolve(nil)
	if err != nil {
		t.Fatal(err)
	}
	var instance any
	if err := json.Unmarshal(data, &instance); err != nil {
		t.Fatal(err)
	}
	if err := resolved.Validate(instance); err != nil {
		t.Errorf("%s: %v", dir, err)
	}
}

// check checks whether the parts of a result are plausible and agree.
func check(t *testing.T, dir string, r *result.Result) {
	t.Helper()
	value := func(name string) float64 {
		m, ok := r.Measurements[name]
		if !ok || len(m.Values) == 0 {
			t.Fatalf("no measurement %s", name)
		}
		return m.Values[0]
	}
	if !r.Valid || len(r.Problems) > 0 {
		t.Errorf("the run is invalid: %v", r.Problems)
	}
	// A PHY rate of 72.2 Mbit/s carries about 55 Mbit/s of TCP.
	if total := value("total"); total < 10 || total > 60 {
		t.Errorf("total: got %g Mbit/s, want 10 to 60", total)
	}
	if n := len(r.Measurements["goodput"].Values); n != 2 {
		t.Errorf("goodputs of two flows: got %d, want 2", n)
	}
	// The rate of iperf3 includes the warm-up, so it differs.
	for _, f := range r.Flows[:2] {
		if f.ReportedMbps == nil || *f.ReportedMbps <= 0 {
			t.Errorf("rate of iperf3 for %s: got %v, want more than 0", f.Name, f.ReportedMbps)
		}
	}
	// The path alone adds 4 ms.
	if rtt := value("rtt"); rtt < 4 || rtt > 1000 {
		t.Errorf("ping: got %g ms, want 4 to 1000", rtt)
	}
	if srtt := value("srtt"); srtt < 4 || srtt > 1000 {
		t.Errorf("srtt: got %g ms, want 4 to 1000", srtt)
	}
	if cwnd := value("cwnd"); cwnd < 2 {
		t.Errorf("cwnd: got %g packets, want at least 2", cwnd)
	}
	// The airtime of a collision counts for each of its senders.
	if air := value("airtime"); air <= 20 || air > 130 {
		t.Errorf("airtime: got %g %%, want 20 to 130", air)
	}
	if len(r.Machines) != 3 || r.Machines[0].Sysctls["net.ipv4.tcp_congestion_control"] != "cubic" {
		t.Errorf("machines: got %+v, want 3 with cubic at the first", r.Machines)
	}
	if routes := r.Machines[0].Routes; len(routes) == 0 || routes[0].Device == "" {
		t.Errorf("routes of the first machine: got %+v, want one with a device", routes)
	}
	if r.System.Sysctls["net.core.netdev_max_backlog"] == "" {
		t.Error("the computer's net.core.netdev_max_backlog is missing")
	}
	series, err := result.ReadSeries(t.Context(), filepath.Join(dir, r.Series))
	if err != nil || len(series) != 15 {
		t.Errorf("windows of 100 ms in 1.5 s: got %d, %v, want 15", len(series), err)
	}
	for _, name := range []string{"tcp.atr", "server.pcap"} {
		if info, err := os.Stat(filepath.Join(dir, name)); err != nil || info.Size() < 1000 {
			t.Errorf("%s is missing or has less than 1000 bytes: %v", name, err)
		}
	}
	recording, err := trace.Open(filepath.Join(dir, "tcp.atr"))
	if err != nil {
		t.Fatal(err)
	}
	defer recording.Close()
	var seen radioCount
	if err := recording.Scan(t.Context(), trace.ScanOptions{}, &seen); err != nil {
		t.Fatal(err)
	}
	if seen.stations < 20 || seen.sent == 0 {
		t.Errorf("the recording has %d records of radios, and %d packets on the air", seen.stations, seen.sent)
	}
}

// radioCount counts the records of links, and the packets that they sent.
type radioCount struct {
	tcp.Discard
	stations int
	sent     int64
}

func (c *radioCount) Radio(r *tcp.Radio) error {
	if r.Kind == tcp.RadioStation {
		c.stations++
		c.sent = max(c.sent, r.Values[tcp.RadioTxPackets])
	}
	return nil
}

func TestADeviceThatRefusesIsLocalCongestion(t *testing.T) {
	o := newLab(t)
	file := strings.NewReplacer(
		"count: 2, radio: {", "count: 2, radio: {refuses: true, queue: 20 packets, ", "repeats: 2", "repeats: 1",
		"measure:\n", "measure:\n  refused: {quantity: local_congestion, take: sum}\n",
	).Replace(small)
	outcome, err := Run(t.Context(), t.TempDir(), planOf(t, file), o)
	if err != nil {
		t.Fatal(err)
	}
	f, err := result.Open(t.Context(), outcome.Dir)
	if err != nil {
		t.Fatal(err)
	}
	results, _ := f.Results(t.Context())
	if len(results) != 1 {
		t.Fatalf("results: got %d, want 1", len(results))
	}
	if n := results[0].Measurements["refused"].Values[0]; n < 1 {
		t.Errorf("events of local congestion: got %g, want at least 1", n)
	}
}

func TestCongestionControlsOfAirtideAreLoadedForTheirRuns(t *testing.T) {
	o := newLab(t)
	file := strings.NewReplacer(
		"{profile: linux-today, count: 2,", "{profile: linux-today, congestion: fair, count: 2,", "repeats: 2",
		"repeats: 1", "flows:\n", "congestion_controls: {fair: {kind: cubic_rtt, rtt_ref: 50 ms}}\nflows:\n",
		"measure:\n", "measure:\n  fairness: {quantity: goodput, take: jain}\n  share: {quantity: share, take: each}\n",
	).Replace(small)
	outcome, err := Run(t.Context(), t.TempDir(), planOf(t, file), o)
	if err != nil {
		t.Fatal(err)
	}
	f, err := result.Open(t.Context(), outcome.Dir)
	if err != nil {
		t.Fatal(err)
	}
	results, _ := f.Results(t.Context())
	r := results[0]
	if len(r.CongestionControls) != 1 {
		t.Fatalf("loaded congestion controls: got %+v, want 1", r.CongestionControls)
	}
	loaded := r.CongestionControls[0]
	if loaded.Name != "fair" || loaded.Kind != congestion.CubicRTT || loaded.Parameters.RTTRefUs != 50_000 {
		t.Errorf("loaded congestion control: got %+v, want fair of kind cubic_rtt at 50 ms", loaded)
	}
	if got := r.Machines[0].Sysctls["net.ipv4.tcp_congestion_control"]; got != loaded.LoadedAs {
		t.Errorf("congestion control of the terminal: got %s, want %s", got, loaded.LoadedAs)
	}
	if got := r.Machines[2].Sysctls["net.ipv4.tcp_congestion_control"]; got == loaded.LoadedAs {
		t.Errorf("congestion control of the server: got %s, want another", got)
	}
	await(t, "it to be gone", func() bool {
		_, err := congestion.Find("", loaded.LoadedAs)
		return errors.Is(err, congestion.ErrNotLoaded)
	})
	if x := r.Measurements["fairness"].Values[0]; x <= 0.5 || x > 1 {
		t.Errorf("Jain's index: got %g, want 0.5 to 1", x)
	}
	if s := r.Measurements["share"].Values; len(s) != 2 || math.Abs(s[0]+s[1]-2) > 1e-9 {
		t.Errorf("shares: got %v, want two with a sum of 2", s)
	}
}

func TestTwoLabsAtOnce(t *testing.T) {
	o := newLab(t)
	first, err := lockMachine("first")
	if err != nil {
		t.Fatal(err)
	}
	root := t.TempDir()
	_, err = Run(t.Context(), root, planOf(t, small), o)
	if !errors.Is(err, ErrBusy) || !strings.Contains(err.Error(), "first (process") {
		t.Errorf("a second lab: got error %v, want %v with the first", err, ErrBusy)
	}
	if entries, _ := os.ReadDir(root); len(entries) > 0 {
		t.Errorf("files of the second lab: got %v, want none", entries)
	}
	first.Close()
	again, err := lockMachine("second")
	if err != nil {
		t.Fatal(err)
	}
	again.Close()
}

func TestRunsAtTheSameTimeHaveCompleteResults(t *testing.T) {
	o := newLab(t)
	before := namespaces(t)
	o.AtOnce = 2
	together := false
	sending := map[string]bool{}
	o.Progress = func(p Progress) {
		sending[p.Run] = p.Elapsed >= 0
		n := 0
		for _, is := range sending {
			if is {
				n++
			}
		}
		together = together || n > 1
		if p.Stage == "measuring" {
			delete(sending, p.Run)
		}
	}
	outcome, err := Run(t.Context(), t.TempDir(), planOf(t, small), o)
	if err != nil {
		t.Fatal(err)
	}
	if outcome.Finished != 2 || !together {
		t.Errorf("outcome: got %+v, two runs at a time: %t, want 2 finished at a time", outcome, together)
	}
	f, err := result.Open(t.Context(), outcome.Dir)
	if err != nil {
		t.Fatal(err)
	}
	results, problems := f.Results(t.Context())
	if len(results) != 2 || len(problems) > 0 {
		t.Errorf("results: got %d, problems %v, want 2 without problems", len(results), problems)
	}
	for _, r := range results {
		if goodput := r.Measurements["goodput"]; len(goodput.Values) != 2 {
			t.Errorf("goodput: got %+v, want 2 values", goodput)
		}
	}
	if left := leftovers(t, before); left != nil {
		t.Errorf("namespaces are left: %v", left)
	}
}

// newLab separates the labs of tests, and accepts late packets: on a machine that runs other tests
// they say nothing about the lab.
func newLab(t *testing.T) Options {
	t.Helper()
	need.Root(t)
	was := lockPath
	lockPath = filepath.Join(t.TempDir(), "lab.lock")
	t.Cleanup(func() { lockPath = was })
	return Options{Tool: "test", LagLimit: time.Minute, Notice: func(line string) { t.Log(line) }}
}

// namespaces are those of the terminals of small; other tests have other names.
func namespaces(t *testing.T) []string {
	t.Helper()
	all, err := filepath.Glob("/run/netns/airtide-cell-*-sta?")
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// leftovers are the namespaces that were not there before.
func leftovers(t *testing.T, before []string) (left []string) {
	for _, n := range namespaces(t) {
		if !slices.Contains(before, n) {
			left = append(left, n)
		}
	}
	return left
}

func TestAnInterruptedRunLeavesNothing(t *testing.T) {
	o := newLab(t)
	before := namespaces(t)
	ctx, cancel := context.WithCancel(t.Context())
	o.Progress = func(p Progress) {
		if p.Elapsed > 300*time.Millisecond {
			cancel()
		}
	}
	outcome, err := Run(ctx, t.TempDir(), planOf(t, small), o)
	if err == nil || !strings.Contains(err.Error(), "lab resume") || outcome == nil || outcome.Finished != 0 {
		t.Fatalf("outcome %+v, error %v", outcome, err)
	}
	if left := leftovers(t, before); left != nil {
		t.Errorf("namespaces are left: %v", left)
	}
}

func TestALateEngineMakesAnAttemptLate(t *testing.T) {
	o := newLab(t)
	p := planOf(t, small)
	s := &scheduler{plan: p, Options: o.serialiseCallbacks()}
	a := newAttempt(p, p.Runs[0], t.TempDir(), &computer{tool: o.Tool}, time.Nanosecond, &progress{scheduler: s})
	s.AtOnce = 1
	r, err := a.try(t.Context())
	_, disturbed := errors.AsType[*DisturbedError](err)
	if !disturbed || !strings.Contains(err.Error(), "fell behind") || r == nil || r.Valid {
		t.Errorf("result %+v, error %v", r, err)
	}
}

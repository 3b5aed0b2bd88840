package run

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"airtide/internal/cell"
	"airtide/internal/cell/engine"
	"airtide/internal/lab/plan"
	"airtide/internal/vm"
	"airtide/test/need"
)

func TestMain(m *testing.M) {
	if vm.IsGuest() {
		vm.Main(GuestFunctions())
	}
	if engine.IsEngine() {
		os.Exit(engine.Main(cell.Build))
	}
	if file := os.Getenv(childVariable); file != "" {
		child(file)
	}
	if lacks := os.Getenv(preflightVariable); lacks != "" {
		lackingMachine(lacks)
	}
	os.Exit(m.Run())
}

// small is an experiment of short runs.
const small = `
name: small
duration: 1500 ms
warmup: 500 ms
repeats: 2
terminals:
  sta: {profile: linux-today, count: 2, radio: {standard: n, phy_rate: 72.2 Mbit/s}}
servers:
  server: {profile: linux-today}
path: {rate: 100 Mbit/s, rtt: 4 ms}
flows:
  upload: {from: terminals, to: server, protocol: tcp}
  echo: {from: sta1, to: server, protocol: ping}
record: {tcp: terminals, packets: [server]}
measure:
  goodput: {quantity: goodput, take: each}
  total: {quantity: goodput, take: sum}
  rtt: {quantity: ping_rtt}
  srtt: {quantity: srtt}
  cwnd: {quantity: cwnd}
  airtime: {quantity: airtime, take: sum}
claims:
  carries:
    says: it carries something
    holds: mean(total) > 1
`

// planOf is the plan of an experiment's text.
func planOf(t *testing.T, text string) *plan.Plan {
	t.Helper()
	p, err := plan.Read("experiment.yaml", []byte(text))
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// newLab keeps labs of tests apart from each other, and makes a test wait for nobody: how late
// packets are on a machine that is busy with other tests says nothing about the lab.
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
	if _, late := errors.AsType[*LateError](err); !late || !strings.Contains(err.Error(), "fell behind") || r == nil ||
		r.Valid {
		t.Errorf("result %+v, error %v", r, err)
	}
}

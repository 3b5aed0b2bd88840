package timewarp

import (
	"bytes"
	"context"
	"errors"
	"os/exec"
	"strings"
	"testing"

	"airtide/internal/sys/file"
)

func TestACommandInWarpedTime(t *testing.T) {
	f := newFake(t)
	script := `test "$(cat ` + f.parameter("ratio") + `)" = 10 || exit 9
		echo 2000001000 20000001000 >` + f.parameter("now") + `
		sed -i 's/-1 5/-1 12/' ` + f.proc + `/net/snmp
		exit 3`
	r, err := f.Run(t.Context(),
		RunOptions{Ratio: Ratio{10, 1}, Module: f.module, Command: []string{"sh", "-c", script}})
	if err != nil {
		t.Fatal(err)
	}
	if r.ExitStatus != 3 || r.RealNs != 2e9 || r.WarpedNs != 20e9 || r.Measured != 10 {
		t.Errorf("%+v", r)
	}
	if r.Errors["RetransSegs"] != 7 || r.Errors["TCPTimeouts"] != 0 || len(r.Errors) != 2 {
		t.Errorf("errors %v", r.Errors)
	}
	if r.Undone == nil || r.Undone.AheadNs != 18e9 || f.setBackNs != 18e9 {
		t.Errorf("undone %+v", r.Undone)
	}
	f.mustBeGone()
	var text bytes.Buffer
	if err := r.WriteText(&text); err != nil || !strings.Contains(text.String(), "RetransSegs  7") || !strings.Contains(
		text.String(), "2s of real time, 20s of the clock (10.0000 times)",
	) {
		t.Errorf("%v: %s", err, &text)
	}
}

func TestTheEndOfTheContextEndsTheCommandAndRestores(t *testing.T) {
	f := newFake(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	script := `echo 2000 20000 >` + f.parameter(
		"now",
	) + `; trap 'exit 5' TERM; echo >` + f.state + `/begun; while :; do sleep 0.01; done`
	if err := f.writeNothing(); err != nil {
		t.Fatal(err)
	}
	if out, err := exec.Command("mkfifo", f.state+"/begun").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	go func() {
		if _, err := file.Line(f.state + "/begun"); err == nil {
			cancel()
		}
	}()
	r, err := f.Run(ctx, RunOptions{Ratio: Ratio{10, 1}, Module: f.module, Command: []string{"sh", "-c", script}})
	if err != nil || r.ExitStatus != 5 {
		t.Errorf("%+v, %v", r, err)
	}
	f.mustBeGone()
}

func TestACommandThatIsKilledPassesItsSignalOn(t *testing.T) {
	f := newFake(t)
	r, err := f.Run(
		t.Context(),
		RunOptions{
			Ratio: Ratio{2, 1}, Module: f.module,
			Command: []string{"sh", "-c", "echo 2000 3000 >" + f.parameter("now") + "; kill -9 $$"},
		},
	)
	if err != nil || r.ExitStatus != 128+9 {
		t.Errorf("%+v, %v", r, err)
	}
	f.mustBeGone()
}

func TestACommandThatIsNotThereChangesNothing(t *testing.T) {
	f := newFake(t)
	_, err := f.Run(t.Context(), RunOptions{Ratio: One, Module: f.module, Command: []string{"no-such-command"}})
	if !errors.Is(err, exec.ErrNotFound) {
		t.Errorf("it gives: %v", err)
	}
	if f.Loaded() || f.unloadings > 0 {
		t.Error("the module was loaded")
	}
}

func TestCountersThatDoNotMatchAreNotGuessed(t *testing.T) {
	for text, want := range map[string]string{
		"Tcp: A B\nTcp: 1\n": "2 names and 1 values", "TcpExt: A\nTcpExt: 1\n": "no counters",
		"Tcp: A\n": "no counters", "": "no counters",
	} {
		if err := parseCounters(text, "Tcp", map[string]uint64{}); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q gives: %v", text, err)
		}
	}
}

func TestThisKernelHasTheCounters(t *testing.T) {
	e, err := Running().ReadErrors()
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{
		"RetransSegs", "TCPTimeouts", "TCPSpuriousRTOs", "TCPLossUndo", "TCPDSACKRecv", "TCPLossProbes",
	} {
		if _, ok := e[name]; !ok {
			t.Errorf("%s is not there", name)
		}
	}
}

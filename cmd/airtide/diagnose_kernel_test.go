//go:build kernel

package main

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"airtide/test/cause"
	"airtide/test/need"
)

// mustRecord records a situation, up to four times if the machine is too busy for the cell.
func mustRecord(t *testing.T, s *cause.Situation, programs cause.Programs, path string) {
	t.Helper()
	err := s.Record(t.Context(), programs, path)
	for tries := 1; errors.Is(err, cause.ErrBusy) && tries < 4; tries++ {
		err = s.Record(t.Context(), programs, path)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// Sixteen frequent situations, each built with its cause: info must name it, at the end that the
// situation is recorded at.
func TestInfoNamesTheLimitOfKnownSituations(t *testing.T) {
	need.Root(t)
	programs, err := cause.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for i := range cause.First {
		s := &cause.First[i]
		t.Run(s.Name, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "situation.atr")
			mustRecord(t, s, programs, path)
			for _, end := range []struct {
				network string
				want    []string
			}{{"10.1.0.1", s.Limits}, {"10.2.0.1", s.Receiver}} {
				if s.Plan.Down {
					end.network = map[string]string{"10.1.0.1": "10.2.0.1", "10.2.0.1": "10.1.0.1"}[end.network]
				}
				if len(end.want) > 0 {
					limitIs(t, path, end.network, end.want[0])
				}
			}
		})
	}
}

// The radio of an emulated cell is recorded beside TCP, and a radio whose rate falls is named.
func TestTheRadioOfACellIsDiagnosed(t *testing.T) {
	need.Root(t)
	programs, err := cause.Build(t.Context(), t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	suite := cause.Suite(1)
	at := slices.IndexFunc(suite, func(s cause.Situation) bool { return s.Name == "radio-rate-fell" })
	path := filepath.Join(t.TempDir(), "situation.atr")
	mustRecord(t, &suite[at], programs, path)
	for _, file := range []string{path, path + cause.PolledSuffix} {
		text := mustRun(t, "diagnose", file)
		if !strings.Contains(text, "tx_rate_bps: the PHY rate was ") || !strings.Contains(text, " s: radio (") {
			t.Errorf("the radio is not named in %s", text)
		}
		if text := mustRun(t, "info", file); !strings.Contains(text, "client in cause at 02:00:00:00:00:01, sent at ") {
			t.Errorf("info does not sum the radio up: %s", text)
		}
	}
}

// limitIs compares the limit of the flow of an address, as info prints it, with the alternatives.
func limitIs(t *testing.T, path, address, want string) {
	t.Helper()
	var r struct {
		Flows []struct {
			Flow  uint
			Local string
			Limit string
		}
	}
	if err := json.Unmarshal([]byte(mustRun(t, "info", "--json", path)), &r); err != nil {
		t.Fatal(err)
	}
	found := false
	for _, f := range r.Flows {
		if !strings.HasPrefix(f.Local, address) || found {
			continue
		}
		found = true
		if !slices.Contains(strings.Split(want, "|"), f.Limit) {
			t.Errorf("info: the limit at %s is %q, want %q\n%s", address, f.Limit, want, mustRun(t, "diagnose", path))
		}
	}
	if !found {
		t.Errorf("info shows no flow of %s: %+v", address, r)
	}
	if text := mustRun(t, "info", path); !strings.Contains(text, strings.Split(want, "|")[0]+" ") {
		t.Errorf("info prints no %q\n%s", want, text)
	}
}

// A command is observed without a file, and its exit status is passed on. With -o the recording is
// kept.
func TestDiagnoseExplainsTheConnectionsOfACommand(t *testing.T) {
	for _, source := range []string{"bpf", "diag"} {
		t.Run(source, func(t *testing.T) {
			path := filepath.Join(t.TempDir(), "kept.atr")
			exe, err := os.Executable()
			if err != nil {
				t.Fatal(err)
			}
			script := self + "=transfer " + exe + "; exit 7"
			stdout, stderr, status := run(t, "diagnose", "--source", source, "-o", path, "--", "sh", "-c", script)
			if status != 7 || !strings.Contains(stdout, "limited by application") {
				t.Errorf("status %d, want 7 and the limit application: %s%s", status, stdout, stderr)
			}
			doubt := strings.Contains(stdout, "less certain: the source polls")
			if polls := source == "diag"; doubt != polls {
				t.Errorf("it doubts a polling source: %t\n%s", doubt, stdout)
			}
			if r := info(t, path); r.Totals.Flows != 2 {
				t.Errorf("the kept recording has %d flows, want both ends", r.Totals.Flows)
			}
		})
	}
}

// The first answer comes within 3 s, and Ctrl-C ends with a last one.
func TestDiagnoseLiveAnswersWhileConnectionsLast(t *testing.T) {
	stop := make(chan bool)
	go busyTraffic(stop)
	defer close(stop)
	cmd := airtide("diagnose", "--live", "--json", "--host", "127.0.0.1")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = cmd.Process.Kill() }()
	answers := json.NewDecoder(out)
	for range 2 {
		var answer struct {
			Connections []struct {
				Limit  string
				Shares []struct{ Share float64 }
			}
		}
		if err := answers.Decode(&answer); err != nil {
			t.Fatal(err)
		}
		if len(answer.Connections) == 0 || answer.Connections[0].Limit == "" {
			t.Errorf("the answer has no limit: %+v", answer)
		}
	}
	_ = cmd.Process.Signal(os.Interrupt)
	_, _ = io.Copy(io.Discard, out)
	if err := cmd.Wait(); err != nil {
		t.Errorf("Ctrl-C: %v", err)
	}
}

//go:build kernel

package main

import (
	"bytes"
	"encoding/json"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"airtide/test/need"
)

// streamed records a command to standard output.
func streamed(t *testing.T) []byte {
	t.Helper()
	need.Root(t)
	cmd := airtide(append([]string{"record", "-o", "-", "--"}, played("transfer")...)...)
	stdout, stderr, status := runCmd(t, cmd)
	if status != 0 || !strings.Contains(stderr, "recorded standard output") {
		t.Fatalf("status %d: %s", status, stderr)
	}
	return []byte(stdout)
}

func fromPipe(stream []byte, args ...string) *exec.Cmd {
	cmd := airtide(args...)
	cmd.Stdin = bytes.NewReader(stream)
	return cmd
}

func TestARecordingGoesThroughAPipe(t *testing.T) {
	stream := streamed(t)
	var whole, cut infoReport
	stdout, stderr, status := runCmd(t, fromPipe(stream, "info", "--json", "-"))
	if status != 0 || json.Unmarshal([]byte(stdout), &whole) != nil {
		t.Fatalf("status %d: %s", status, stderr)
	}
	if whole.Totals.Flows == 0 || !whole.Damage.CleanEnd {
		t.Errorf("read from a pipe: %+v", whole)
	}
	// A stream that breaks off is readable up to there.
	stdout, stderr, status = runCmd(t, fromPipe(stream[:len(stream)-1], "info", "--json", "-"))
	if status != 0 || json.Unmarshal([]byte(stdout), &cut) != nil {
		t.Fatalf("status %d: %s", status, stderr)
	}
	if cut.Totals.Samples != whole.Totals.Samples || cut.Damage.CleanEnd {
		t.Errorf("of a cut stream this is read: %+v", cut)
	}
	out := filepath.Join(t.TempDir(), "a.svg")
	for _, args := range [][]string{{"export", "-", "-o", "-", "--to", "csv"}, {"plot", "-", "-o", out}} {
		if _, stderr, status := runCmd(t, fromPipe(stream, args...)); status != 0 {
			t.Errorf("%v: status %d: %s", args, status, stderr)
		}
	}
}

// Standard output has the JSON alone.
func TestTheOutputOfACommandDoesNotMixWithTheJSON(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.atr")
	stdout, stderr, status := run(t, "record", "--source", "diag", "--json", "-o", path, "--", "echo", "said")
	var result struct {
		Path string `json:"path"`
	}
	if err := json.Unmarshal([]byte(stdout), &result); err != nil || status != 0 || result.Path != path {
		t.Errorf("status %d, %v: %s", status, err, stdout)
	}
	if !strings.Contains(stderr, "said\n") {
		t.Errorf("standard error has %q", stderr)
	}
}

func TestArgumentsAreLeftOutOfARecording(t *testing.T) {
	path := filepath.Join(t.TempDir(), "a.atr")
	mustRun(t, "record", "--source", "diag", "--no-arguments", "-o", path, "--", "echo", "--password=secret")
	if stdout := mustRun(t, "info", "--json", path); strings.Contains(stdout, "secret") ||
		!strings.Contains(stdout, "echo") {
		t.Errorf("info says %s", stdout)
	}
}

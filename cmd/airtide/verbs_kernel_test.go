//go:build kernel

package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"testing"

	"airtide/test/need"
)

// played is the command line that makes airtide record this binary in a role.
func played(role string) []string {
	exe, _ := os.Executable()
	return []string{"env", self + "=" + role, exe}
}

// recording makes a recording of one transfer.
func recording(t *testing.T, args ...string) string {
	t.Helper()
	need.Root(t)
	path := filepath.Join(t.TempDir(), "a.atr")
	mustRun(
		t,
		append(append([]string{"record", "-o", path}, args...), append([]string{"--"}, played("transfer")...)...)...)
	return path
}

type infoReport struct {
	Totals struct {
		Flows   int
		Samples int
		Loss    struct {
			Records   int `json:"lost_records"`
			Untracked int `json:"untracked_flows"`
		}
	}
	Flows []struct {
		Process    string `json:"comm"`
		PID        uint32
		AckedBytes *int64 `json:"acked_bytes"`
	}
	Damage struct {
		CleanEnd     bool  `json:"clean_end"`
		SkippedBytes int64 `json:"skipped_bytes"`
	}
}

func info(t *testing.T, path string) (r infoReport) {
	t.Helper()
	if err := json.Unmarshal([]byte(mustRun(t, "info", "--json", path)), &r); err != nil {
		t.Fatalf("reading info: %v", err)
	}
	return r
}

const transferred = 200 * 64 << 10

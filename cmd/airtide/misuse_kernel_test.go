//go:build kernel

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"airtide/test/need"
)

func TestDamagedRecordingIsReadAsFarAsItGoes(t *testing.T) {
	need.Root(t)
	stop := make(chan bool)
	go busyTraffic(stop)
	defer close(stop)
	path := filepath.Join(t.TempDir(), "a.atr")
	mustRun(t, "record", "-o", path, "-d", "2s", "--process", strconv.Itoa(os.Getpid()))
	whole, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	all := info(t, path).Totals.Samples

	cut := filepath.Join(t.TempDir(), "cut.atr")
	if err := os.WriteFile(cut, whole[:len(whole)*2/3], 0o600); err != nil {
		t.Fatal(err)
	}
	if _, stderr, status := run(t, "info", cut); status != 0 || !strings.Contains(stderr, "cut off") {
		t.Errorf("a cut file gives status %d: %s", status, stderr)
	}
	if r := info(t, cut); r.Totals.Samples == 0 || r.Totals.Samples >= all || r.Damage.CleanEnd {
		t.Errorf("of %d samples the cut file has %d", all, r.Totals.Samples)
	}
	flipped := bytes.Clone(whole)
	flipped[len(flipped)/2] ^= 0x10
	bad := filepath.Join(t.TempDir(), "bad.atr")
	if err := os.WriteFile(bad, flipped, 0o600); err != nil {
		t.Fatal(err)
	}
	if r := info(t, bad); r.Totals.Samples == 0 || r.Totals.Samples >= all || r.Damage.SkippedBytes == 0 {
		t.Errorf("of %d samples the file with a flipped bit has %d, %d bytes skipped", all, r.Totals.Samples,
			r.Damage.SkippedBytes)
	}
	for damaged, want := range map[string]string{cut: "cut off", bad: "damaged bytes skipped"} {
		out := t.TempDir()
		figure := filepath.Join(out, "all.svg")
		lines := filepath.Join(out, "a.jsonl")
		for _, args := range [][]string{
			{"plot", damaged, "-o", filepath.Join(out, "busiest.svg")},
			{"plot", damaged, "--grid", "-o", figure},
			{"export", damaged, "--to", "jsonl", "-o", lines},
		} {
			if _, stderr, status := run(t, args...); status != 0 || !strings.Contains(stderr, damaged+": ") ||
				strings.Count(stderr, want) != 1 {
				t.Errorf("airtide %s: status %d: %s", strings.Join(args, " "), status, stderr)
			}
		}
		if b, err := os.ReadFile(figure); err != nil || !bytes.Contains(b, []byte(want)) {
			t.Errorf("the figure of a damaged recording does not say so: %v", err)
		}
		if b, err := os.ReadFile(lines); err != nil ||
			bytes.Count(b, []byte(`"type":"sample"`)) != info(t, damaged).Totals.Samples {
			t.Errorf("exported are not the samples that can be read: %v", err)
		}
	}
}

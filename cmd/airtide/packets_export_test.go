package main

import (
	"encoding/csv"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestPacketsExports(t *testing.T) {
	dir := t.TempDir()
	for _, format := range []string{"parquet", "csv", "jsonl", "perfetto"} {
		out := filepath.Join(dir, "lossy."+format)
		mustRun(t, "packets", "export", lossyCapture, "--to", format, "-o", out)
		if info, err := os.Stat(out); err != nil || info.Size() < 10_000 {
			t.Errorf("%s: %v, %v", format, info, err)
		}
	}
	toCSV := []string{"packets", "export", lossyCapture, "--to", "csv", "-o", "-"}
	for args, rows := range map[string]int{"": 700, "--connection 2": 686, "--table flows": 4, "--table events": 389} {
		text := mustRun(t, append(slices.Clone(toCSV), strings.Fields(args)...)...)
		all, err := csv.NewReader(strings.NewReader(text)).ReadAll()
		if err != nil || len(all) != rows+1 {
			t.Errorf("%q gives %d rows behind the titles, want %d: %v", args, len(all)-1, rows, err)
		}
	}
	line, _, _ := strings.Cut(mustRun(t, append(toCSV, "--connection", "2")...), "\n")
	if !strings.Contains(line, "acked_bytes") || strings.Contains(line, "cwnd") {
		t.Errorf("columns %s", line)
	}
	if text := mustRun(t, append(toCSV, "--table", "events")...); strings.Count(text, ",dup_ack,,,,,,") < 100 {
		t.Errorf("events of a capture have the state of a socket:\n%.300s", text)
	}
}

func TestPacketsExportsNothing(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args   []string
		want   string
		status int
	}{
		{[]string{"--to", "csv"}, "-o", statusMisuse},
		{[]string{"--to", "cvs", "-o", dir + "/a"}, "csv", statusMisuse},
		{[]string{"--table", "flows", "-o", dir + "/a"}, "--to", statusMisuse},
		{[]string{"--to", "csv", "--table", "flow", "-o", dir + "/a"}, "flows", statusMisuse},
		{[]string{"--to", "csv", "--table", "radio", "-o", dir + "/a"}, "one of samples, events, flows", statusMisuse},
		{[]string{"--to", "jsonl", "--table", "flows", "-o", dir + "/a"}, "no tables", statusMisuse},
		{[]string{"--to", "csv", "--connection", "9", "-o", dir + "/a"}, "1 to 2", statusMisuse},
		{[]string{"--to", "csv", "-o", dir + "/absent/a"}, "absent", statusFailed},
	} {
		_, stderr, status := run(t, append([]string{"packets", "export", lossyCapture}, c.args...)...)
		if status != c.status || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: status %d, %s", c.args, status, stderr)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("failures left %v", left)
	}
}

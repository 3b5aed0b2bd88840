package main

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airtide/internal/view/capture"
)

func TestPacketsJoins(t *testing.T) {
	recording := lossyRecording(t)
	text := mustRun(t, "packets", "join", lossyCapture, recording)
	if lines := strings.Split(text, "\n"); len(lines) < 4 || !strings.Contains(lines[2], "[::1]:46782") ||
		!strings.Contains(lines[2], "clock") || !strings.Contains(lines[2], "235") ||
		!strings.Contains(lines[3], "flow 3: 235 segments captured again, 40 recorded; the capture was not taken at") {
		t.Errorf("prints\n%s", text)
	}
	var joined capture.Joined
	err := json.Unmarshal([]byte(mustRun(t, "packets", "join", lossyCapture, recording, "--json")), &joined)
	if err != nil || len(joined.Joined) != 1 || joined.Totals.Packets != 700 {
		t.Fatalf("%v: %+v", err, joined)
	}
	// The recording has an event of a retransmission every 5 ms for 200 ms.
	if x := joined.Joined[0]; x.Connection != 2 || x.Flow != 3 || x.CapturedRetransmissions != 235 ||
		x.RecordedRetransmissions != 40 || x.AlignedBy != "clock" {
		t.Errorf("%+v", *x)
	}
	out := filepath.Join(t.TempDir(), "joined.svg")
	mustRun(t, "packets", "join", lossyCapture, recording, "-o", out)
	picture := readFigure(t, out)
	if !picture.Has("in flight (capture)") || !picture.Has("cwnd (recording)") ||
		picture.Count("stroke:#D55E00", "stroke-dasharray") == 0 {
		t.Errorf("the figure lacks a curve, or its curves differ in nothing but colour: %s", picture.All())
	}
}

func TestPacketsJoinsNothing(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args   []string
		want   string
		status int
	}{
		{[]string{kernelRecording}, "none of the connections", statusFailed},
		{[]string{kernelRecording, "-o", dir + "/a.svg"}, "none of the connections", statusFailed},
		{[]string{kernelRecording, "-o", dir + "/a.gif"}, "gif", statusMisuse},
		{[]string{kernelRecording, "--json", "-o", dir + "/a.svg"}, "--json and --output exclude", statusMisuse},
		{[]string{kernelRecording, "--connection", "0"}, "numbered from 1", statusMisuse},
		{[]string{dir + "/absent"}, "absent", statusFailed},
		{nil, "missing argument RECORDING", statusMisuse},
	} {
		_, stderr, status := run(t, append([]string{"packets", "join", lossyCapture}, c.args...)...)
		if status != c.status || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: status %d, %s", c.args, status, stderr)
		}
	}
	if left, _ := os.ReadDir(dir); len(left) > 0 {
		t.Errorf("failures left %v", left)
	}
}

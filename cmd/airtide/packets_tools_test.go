//go:build tools

package main

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"airtide/test/need"
)

// tshark shows the comments that packets wrote, and finds nothing else changed.
func TestTsharkShowsComments(t *testing.T) {
	tshark := need.Tool(t, "tshark")
	out := filepath.Join(t.TempDir(), "annotated.pcapng")
	mustRun(t, "packets", "annotate", lossyCapture, lossyRecording(t), "-o", out)
	text, err := exec.Command(tshark, "-r", out, "-T", "fields", "-e", "frame.comment").Output()
	if err != nil {
		t.Fatal(err)
	}
	lines := strings.Split(strings.TrimSuffix(string(text), "\n"), "\n")
	counts := map[string]int{}
	for _, line := range lines {
		counts[line]++
	}
	if len(lines) != 700 || counts["flow 3, cwnd 10 packets, state open"] < 20 ||
		counts["flow 3, cwnd 5 packets, state recovery"] < 20 ||
		counts["flow 3, cwnd 5 packets, state recovery, retransmission: fast"] < 20 {
		t.Errorf("%d packets with comments %v", len(lines), counts)
	}
	fields := []string{
		"-T", "fields", "-e", "frame.time_epoch", "-e", "frame.len", "-e", "tcp.seq_raw", "-e", "tcp.analysis.flags",
	}
	before, err := exec.Command(tshark, append([]string{"-r", lossyCapture}, fields...)...).Output()
	if err != nil {
		t.Fatal(err)
	}
	after, err := exec.Command(tshark, append([]string{"-r", out}, fields...)...).Output()
	if err != nil || string(before) != string(after) {
		t.Errorf("tshark reads another capture: %v", err)
	}
}

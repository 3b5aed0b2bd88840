package main

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/recording/trace"
)

func TestInfoFitsTheTerminal(t *testing.T) {
	for _, width := range []int{30, 80, 100, 120, 200} {
		for _, args := range [][]string{{"info", kernelRecording}, {"info", kernelRecording, "--flow", "1"}} {
			cmd := airtide(args...)
			cmd.Env = append(cmd.Env, fmt.Sprintf("COLUMNS=%d", width))
			out, stderr, status := runCmd(t, cmd)
			if status != 0 {
				t.Fatalf("%v at %d columns: status %d: %s", args, width, status, stderr)
			}
			for line := range strings.Lines(out) {
				if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > width {
					t.Errorf("%v at %d columns prints a line of %d: %s", args, width, n, line)
				}
			}
			if len(args) > 2 || width < 80 {
				continue
			}
			for _, column := range []string{"PROCESS", "REMOTE", "RETRANS", "LIMITED BY"} {
				if !strings.Contains(out, column) {
					t.Errorf("at %d columns %s is not shown:\n%s", width, column, out)
				}
			}
			if !strings.Contains(out, ":5201") {
				t.Errorf("at %d columns the port is cut:\n%s", width, out)
			}
		}
	}
}

func TestNoTextOfARecordingForgesALine(t *testing.T) {
	forged := "x\nflow 1  forged"
	m := trace.Metadata{
		Host: forged, Kernel: forged, Arch: forged, SourceDetail: forged, Density: forged, Command: []string{forged},
		Label: forged, Filter: filter.Filter{Comms: []string{forged}},
	}
	var b strings.Builder
	writeMetadata(&b, forged, m)
	if n := strings.Count(b.String(), "\n"); n != 2 {
		t.Errorf("%d lines:\n%s", n, &b)
	}
}

func TestCommandsArePrintedAsAShellTakesThem(t *testing.T) {
	for want, command := range map[string][]string{
		"iperf3 -c 192.0.2.1 -t 8":   {"iperf3", "-c", "192.0.2.1", "-t", "8"},
		"sh -c 'exit 7' ''":          {"sh", "-c", "exit 7", ""},
		`echo 'it'\''s' 'a?[31mb?c'`: {"echo", "it's", "a\x1b[31mb\nc"},
	} {
		if got := shellWords(command); got != want {
			t.Errorf("%q is printed as %s, want %s", command, got, want)
		}
	}
}

func TestInfoOfACaptureNamesTheVerb(t *testing.T) {
	_, stderr, status := run(t, "info", lossyCapture)
	if status != statusFailed || !strings.Contains(stderr, "airtide packets reads it") {
		t.Errorf("status %d: %s", status, stderr)
	}
}

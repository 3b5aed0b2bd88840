package main

import (
	"strings"
	"testing"

	"github.com/charmbracelet/x/ansi"

	"airtide/test/pty"
)

// onTerminal runs airtide on a terminal of its own and returns what it shows and its exit status.
func onTerminal(t *testing.T, columns uint16, env []string, args ...string) (shown string, status int) {
	t.Helper()
	term := pty.Open(t, columns, 40)
	cmd := airtide(args...)
	cmd.Env = append(append(cmd.Env, "COLUMNS=", "NO_COLOR=", "TERM=xterm-256color"), env...)
	term.Attach(cmd)
	_ = cmd.Run()
	return term.Finish(t), cmd.ProcessState.ExitCode()
}

// terminalWidths are narrow, usual and wide terminals.
var terminalWidths = []uint16{30, 80, 100, 120, 200}

// wantFitting reports lines that are wider than a terminal.
func wantFitting(t *testing.T, shown string, columns uint16, args []string) {
	t.Helper()
	// A progress line begins anew behind each carriage return.
	for line := range strings.Lines(strings.ReplaceAll(shown, "\r", "\n")) {
		if n := ansi.StringWidth(strings.TrimSuffix(line, "\n")); n > int(columns) {
			t.Errorf("airtide %s on %d columns prints a line of %d:\n%s", strings.Join(args, " "), columns, n, line)
			return
		}
	}
}

func TestOutputFitsTheTerminal(t *testing.T) {
	for _, args := range [][]string{
		{"lab", "list"},
		{"lab", "check", "quickstart"},
		{"info", kernelRecording},
		{"info", kernelRecording, "--flow", "1"},
		{"info", kernelRecording, kernelRecording},
		{"monitor", kernelRecording, "--once"},
		{"fairness", "3Mbit", "40Mbit", "--max", "10Mbit,90Mbit"},
		{"cc", "list"},
		{"doctor"},
		{"--help"},
		{"record", "--help"},
		{"help", "filters"},
		{"help", "services"},
		{"share", "status", "--help"},
		{"tune", "show"},
		{"version"},
		{"fairness", kernelRecording},
		{"moniter"},
		{"packets", lossyCapture},
		{"packets", lossyCapture, "--connection", "2"},
		{"lab", "show", resultOf(t, [2]float64{18, 18.1})},
	} {
		widths := terminalWidths
		if testing.Short() {
			widths = widths[:1]
		}
		for _, columns := range widths {
			shown, status := onTerminal(t, columns, nil, args...)
			if status > statusMisuse || shown == "" {
				t.Errorf("airtide %s: status %d:\n%s", strings.Join(args, " "), status, shown)
			}
			wantFitting(t, shown, columns, args)
		}
		for _, env := range []string{"TERM=dumb", "NO_COLOR=1"} {
			shown, _ := onTerminal(t, 80, []string{env}, args...)
			if env == "NO_COLOR=1" { // the progress line of a slow machine has no colour
				shown = strings.ReplaceAll(shown, "\r\x1b[K", "")
			}
			if strings.Contains(shown, "\x1b") {
				t.Errorf("airtide %s with %s prints control sequences:\n%s", strings.Join(args, " "), env, shown)
			}
		}
		piped, _ := airtide(args...).CombinedOutput()
		if strings.Contains(string(piped), "\x1b") {
			t.Errorf("airtide %s prints control sequences into a pipe", strings.Join(args, " "))
		}
	}
}

func TestTablesHaveColourOnATerminal(t *testing.T) {
	for _, args := range [][]string{{"lab", "list"}, {"info", kernelRecording}, {"doctor"}} {
		if shown, _ := onTerminal(t, 80, nil, args...); !strings.Contains(shown, "\x1b[") {
			t.Errorf("airtide %s has no colour:\n%s", strings.Join(args, " "), shown)
		}
	}
}

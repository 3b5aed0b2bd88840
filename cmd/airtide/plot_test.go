package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"airtide/internal/recording/trace"
)

func TestFigureGoesToStandardOutput(t *testing.T) {
	for format, start := range map[string]string{"": "\x89PNG", "svg": "<?xml", "pdf": "%PDF-"} {
		args := []string{"plot", kernelRecording, "--flow", "3", "--dpi", "60", "-o", "-"}
		if format != "" {
			args = append(args, "--format", format)
		}
		if out := mustRun(t, args...); !strings.HasPrefix(out, start) {
			t.Errorf("format %q begins with %q, want %q", format, out[:min(8, len(out))], start)
		}
	}
}

func TestSeveralFlowsAreDrawnInOnePanel(t *testing.T) {
	out := mustRun(t, "plot", kernelRecording, "--flow", "1,3", "--kind", "rtt", "-o", "-", "--format", "svg")
	for _, text := range []string{">flow 1, ", ">flow 3, ", ">smoothed RTT ("} {
		if !strings.Contains(out, text) {
			t.Errorf("the figure lacks %q", text)
		}
	}
}

func TestThemesOfFigures(t *testing.T) {
	draw := func(args ...string) string {
		return mustRun(t,
			append([]string{"plot", kernelRecording, "--flow", "3", "-o", "-", "--format", "svg"}, args...)...)
	}
	light := draw()
	dark := draw("--theme", "dark")
	grey := draw("--theme", "print")
	if !strings.Contains(dark, "fill:#16181D") || strings.Contains(light, "fill:#16181D") {
		t.Error("the dark theme has no dark paper")
	}
	if grey == light {
		t.Error("the theme for print is the light one")
	}
	for _, args := range [][]string{{"--theme", "neon"}, {"--format", "gif"}} {
		args := append([]string{"plot", kernelRecording, "-o", "x.svg"}, args...)
		if _, stderr, status := run(t, args...); status != 2 || !strings.Contains(stderr, args[5]) {
			t.Errorf("%v: status %d, %s", args, status, stderr)
		}
	}
}

// The default is the busiest flow, and a line names it. A chosen flow is not named again.
func TestPlotNamesTheFlowThatItChose(t *testing.T) {
	out := filepath.Join(t.TempDir(), "x.svg")
	_, stderr, status := run(t, "plot", kernelRecording, "-o", out)
	if status != 0 || !strings.Contains(stderr, "the flow with most traffic; --flow chooses others") {
		t.Errorf("status %d, stderr %q", status, stderr)
	}
	if _, stderr, _ := run(t, "plot", kernelRecording, "--flow", "3", "-f", "-o", out); stderr != "wrote "+out+"\n" {
		t.Errorf("for a chosen flow stderr is %q", stderr)
	}
}

func TestPlotNamesARecordingWithoutFlows(t *testing.T) {
	path := filepath.Join(t.TempDir(), "idle.atr")
	if err := os.WriteFile(path, recordingOf(t, trace.Metadata{}, func(*trace.Writer) {}), 0o600); err != nil {
		t.Fatal(err)
	}
	_, stderr, status := run(t, "plot", path, "-o", "-")
	if status != statusFailed || stderr != "airtide: "+path+": the recording has no flows\n" {
		t.Errorf("status %d, %q", status, stderr)
	}
}

// A figure that cannot be drawn leaves no file.
func TestRefusedFigureLeavesNoFile(t *testing.T) {
	out := filepath.Join(t.TempDir(), "x.svg")
	if _, _, status := run(t, "plot", kernelRecording, "--flow", "3", "--height", "1", "-o", out); status == 0 {
		t.Error("a figure of 1 cm was drawn")
	}
	if _, err := os.Stat(out); err == nil {
		t.Error("it left a file")
	}
}

// A figure of a congestion control that the flow does not use is announced to be empty.
func TestPlotTellsThatThePrivateStateIsMissing(t *testing.T) {
	_, stderr, status := run(t, "plot", kernelRecording, "--flow", "3", "-k", "bbr", "-o", "-", "--format", "svg")
	if status != 0 || !strings.Contains(stderr, "flow 3: no BBR state here: the flow's congestion control is cubic") {
		t.Errorf("status %d: %s", status, stderr)
	}
}

// So is a figure of the radio without one.
func TestPlotTellsThatTheRadioIsMissing(t *testing.T) {
	_, stderr, status := run(t, "plot", kernelRecording, "--flow", "3", "-k", "radio", "-o", "-", "--format", "svg")
	if status != 0 || !strings.Contains(stderr, "flow 3: no radio was recorded here (--with radio)") {
		t.Errorf("status %d: %s", status, stderr)
	}
}

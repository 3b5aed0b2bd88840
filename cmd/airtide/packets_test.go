package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"airtide/internal/view/capture"
	"airtide/test/svg"
)

// lossyCapture is a capture of two connections, of which the second has losses.
const lossyCapture = "../../internal/packets/conn/testdata/lossy.pcap.gz"

func TestPacketsPrintsATableThatFits(t *testing.T) {
	for _, width := range []int{60, 80, 120, 200} {
		for _, args := range [][]string{{"packets", lossyCapture}, {"packets", lossyCapture, "--connection", "2"}} {
			cmd := airtide(args...)
			cmd.Env = append(cmd.Env, fmt.Sprintf("COLUMNS=%d", width))
			out, stderr, status := runCmd(t, cmd)
			if status != 0 || stderr != "" {
				t.Fatalf("%v: status %d, %s", args, status, stderr)
			}
			for i, line := range strings.Split(out, "\n") {
				if n := utf8.RuneCountInString(line); n > width && i > 0 {
					t.Errorf("%v at %d columns prints a line of %d: %s", args, width, n, line)
				}
			}
		}
	}
	out := mustRun(t, "packets", lossyCapture)
	for _, text := range []string{"235 of 565 segments", "2 connections", "[::1]:5201", "184"} {
		if !strings.Contains(out, text) {
			t.Errorf("the table lacks %q:\n%s", text, out)
		}
	}
	if out := mustRun(t, "packets", lossyCapture, "--top", "1"); !strings.Contains(out, "1 more connection with") {
		t.Errorf("--top 1 hides a connection:\n%s", out)
	}
}

func TestPacketsPrintsJSON(t *testing.T) {
	var all capture.Analysis
	if err := json.Unmarshal([]byte(mustRun(t, "packets", lossyCapture, "--json")), &all); err != nil {
		t.Fatal(err)
	}
	if len(all.Connections) != 2 || all.Totals.Packets != 700 || all.Damage != "" {
		t.Errorf("%+v", all)
	}
	var one capture.Analysis
	text := mustRun(t, "packets", lossyCapture, "--json", "--connection", "2")
	err := json.Unmarshal([]byte(text), &one)
	if err != nil || len(one.Connections) != 1 || one.Connections[0].ID != 2 {
		t.Errorf("%v: %s", err, text)
	}
	if _, stderr, status := run(t, "packets", lossyCapture, "--connection", "3"); status != statusMisuse ||
		!strings.Contains(stderr, "it has 1 to 2") {
		t.Errorf("status %d: %s", status, stderr)
	}
}

// Bounds of memory and output are told, with the flag that raises them.
func TestPacketsTellsItsBounds(t *testing.T) {
	out, stderr, status := run(t, "packets", lossyCapture, "--json", "--limit", "1")
	var all capture.Analysis
	if err := json.Unmarshal([]byte(out), &all); err != nil || status != 0 {
		t.Fatalf("status %d, %v", status, err)
	}
	if len(all.Connections) != 1 || all.LeftOut != 1 ||
		!strings.Contains(stderr, "left out 1 of 2 connections; --limit raises 1") {
		t.Errorf("%d connections, %d left out: %s", len(all.Connections), all.LeftOut, stderr)
	}
	recording := transferRecording(t, 0, 0, 0)
	for _, args := range [][]string{
		{"export", lossyCapture, "--to", "jsonl", "-o", "-"},
		{"join", lossyCapture, recording, "--json"},
		{"join", lossyCapture, recording},
	} {
		args = slices.Concat([]string{"packets"}, args, []string{"--limit", "1", "--open", "1"})
		if _, stderr, status := run(t, args...); status != 0 || !strings.Contains(stderr, "; --limit raises 1") ||
			!strings.Contains(stderr, "; --open raises it") {
			t.Errorf("%v: status %d, %s", args, status, stderr)
		}
	}
	if out := mustRun(t, "packets", lossyCapture, "--open", "1"); !strings.Contains(out,
		"more than 1 were open; --open raises it") {
		t.Errorf("prints %s", out)
	}
}

func TestPacketsOfBadFiles(t *testing.T) {
	dir := t.TempDir()
	header := "\xd4\xc3\xb2\xa1\x02\x00\x04\x00" + strings.Repeat("\x00", 12) + "\x01\x00\x00\x00"
	for name, c := range map[string]struct {
		content, want string
		status        int
	}{
		"empty":      {"", "is empty", statusFailed},
		"letter":     {"this is a letter", "is no capture", statusFailed},
		"nothing":    {header, "", 0},
		"cut":        {header + "1234567", "cut off at byte 24", 0},
		"impossible": {header + strings.Repeat("\xff", 16), "impossible length at byte 24", statusFailed},
	} {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(c.content), 0o600); err != nil {
			t.Fatal(err)
		}
		for _, args := range [][]string{{"packets", path}, {"packets", path, "--json"}} {
			stdout, stderr, status := run(t, args...)
			if status != c.status || !strings.Contains(stderr, c.want) || strings.Count(stderr, "\n") > 1 ||
				c.want != "" && !strings.Contains(stderr, path) {
				t.Errorf("%v: status %d, %q", args, status, stderr)
			}
			if len(args) == 3 && stdout != "" && !json.Valid([]byte(stdout)) {
				t.Errorf("%v prints no JSON: %s", args, stdout)
			}
		}
	}
	if _, stderr, status := run(t, "packets", filepath.Join(dir, "absent")); status != statusFailed ||
		!strings.Contains(stderr, "absent") {
		t.Errorf("status %d: %s", status, stderr)
	}
}

func TestPacketsReadsStandardInput(t *testing.T) {
	content, err := os.ReadFile(lossyCapture)
	if err != nil {
		t.Fatal(err)
	}
	cmd := airtide("packets", "-")
	cmd.Stdin = bytes.NewReader(content)
	if out, stderr, status := runCmd(t, cmd); status != 0 || !strings.Contains(out, "2 connections in") {
		t.Errorf("status %d: %s%s", status, out, stderr)
	}
}

// One Ctrl-C ends the verb, even while it waits for a silent pipe.
func TestPacketsIsInterrupted(t *testing.T) {
	content, err := os.ReadFile(lossyCapture)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range [][]byte{content[:len(content)/2], content[:2]} {
		interruptPackets(t, part)
	}
}

func interruptPackets(t *testing.T, part []byte) {
	t.Helper()
	in, out, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	cmd := airtide("packets", "-")
	var stderr bytes.Buffer
	cmd.Stdin = in
	cmd.Stdout = io.Discard
	cmd.Stderr = &stderr
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	in.Close()
	if _, err := out.Write(part); err != nil {
		t.Fatal(err)
	}
	// Once the pipe is empty, the program runs and handles signals.
	waitFor(t, "the program to read", func() bool { return pending(t, out) == 0 })
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	late := time.AfterFunc(30*time.Second, func() { _ = cmd.Process.Kill() })
	defer late.Stop()
	_ = cmd.Wait()
	if cmd.ProcessState.ExitCode() != statusInterrupted || !strings.Contains(stderr.String(), "interrupted") {
		t.Errorf("%v: %s", cmd.ProcessState, &stderr)
	}
}

// pending is the number of bytes in a pipe.
func pending(t *testing.T, pipe *os.File) int {
	t.Helper()
	n, err := unix.IoctlGetInt(int(pipe.Fd()), unix.TIOCINQ)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

// The guide shows a connection as the program prints it.
func TestGuideShowsAConnectionAsPrinted(t *testing.T) {
	guide, err := os.ReadFile("../../docs/guide/packets.md")
	if err != nil {
		t.Fatal(err)
	}
	shown := "$ airtide packets upload.pcap --connection 2\n" + mustRun(t, "packets", lossyCapture, "--connection", "2")
	if !strings.Contains(string(guide), "```\n"+shown+"```\n") {
		t.Errorf("docs/guide/packets.md lacks\n%s", shown)
	}
}

// readFigure reads a figure in SVG.
func readFigure(t *testing.T, path string) *svg.Picture {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return svg.Read(t, data)
}

func TestPacketsDrawsFigures(t *testing.T) {
	dir := t.TempDir()
	for kind, want := range map[string]string{
		"packets": "received", "ack-time": "time to ACK (ms)", "flight": "advertised window",
	} {
		path := filepath.Join(t.TempDir(), kind+".svg")
		mustRun(t, "packets", "plot", lossyCapture, "-k", kind, "-o", path)
		picture := readFigure(t, path)
		if !picture.Has(want) {
			t.Errorf("%s lacks %q: %s", kind, want, picture.All())
		}
		if !picture.Has("235 segments sent again or reordered") {
			t.Errorf("the note of %s lacks the late segments: %s", kind, picture.All())
		}
		if kind != "ack-time" && picture.Count("stroke:#D55E00", "stroke-dasharray") == 0 {
			t.Errorf("the lines of %s differ in nothing but colour", kind)
		}
	}
	for _, c := range []struct {
		args   []string
		want   string
		status int
	}{
		{[]string{lossyCapture, "-k", "pie", "-o", dir + "/a.png"}, "pie", statusMisuse},
		{[]string{lossyCapture, "-k", "packets"}, "-o", statusMisuse},
		{[]string{lossyCapture, "-k", "packets", "-o", dir + "/a.gif"}, "gif", statusMisuse},
		{[]string{"-", "-k", "packets", "-o", dir + "/a.png"}, "--connection", statusMisuse},
		{
			[]string{lossyCapture, "-k", "packets", "-o", dir + "/a.png", "--connection", "9"},
			"1 to 2",
			statusMisuse,
		},
	} {
		_, stderr, status := run(t, append([]string{"packets", "plot"}, c.args...)...)
		if status != c.status || !strings.Contains(stderr, c.want) {
			t.Errorf("%v: status %d, %s", c.args, status, stderr)
		}
	}
	if left, _ := filepath.Glob(dir + "/*"); len(left) > 0 {
		t.Errorf("misuse left %v", left)
	}
}

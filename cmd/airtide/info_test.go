package main

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"
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
			if wide := strings.Contains(out, "LIMITED BY"); len(args) == 2 && wide != (width == 200) {
				t.Errorf("at %d columns the last columns are shown: %t", width, wide)
			}
		}
	}
}

package main

import (
	"bytes"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// TestOutputsThatAreClosedOrFull runs the verbs that end by themselves and do not need root.
func TestOutputsThatAreClosedOrFull(t *testing.T) {
	files := faultFiles(t)
	eachVerb(t, func(t *testing.T, _ *cobra.Command, path []string, row faultRow) {
		if row.root == "" && !row.runs {
			wantQuietEnd(t, files(row.whole(path)))
		}
	})
}

// A verb may need no folder for temporary files, or says that it does: for fonts of a PDF, and for
// a recording from standard input.
func TestVerbsWithoutAFolderForTemporaryFiles(t *testing.T) {
	files := faultFiles(t)
	none := filepath.Join(t.TempDir(), "none")
	call := func(args []string) *exec.Cmd {
		cmd := airtide(args...)
		cmd.Env = append(cmd.Env, "TMPDIR="+none)
		return cmd
	}
	eachVerb(t, func(t *testing.T, _ *cobra.Command, path []string, row faultRow) {
		if row.root == "" && !row.runs {
			args := files(row.whole(path))
			if _, stderr, status := runCmd(t, call(args)); status != 0 {
				t.Errorf("airtide %q: status %d: %s", args, status, stderr)
			}
		}
	})
	figure := filepath.Join(t.TempDir(), "a.pdf")
	wantFailure(t, call([]string{"plot", kernelRecording, "--flow", "3", "-o", figure}), none)
	standard := call([]string{"info", "-"})
	recording, err := os.Open(kernelRecording)
	if err != nil {
		t.Fatal(err)
	}
	defer recording.Close()
	standard.Stdin = recording
	wantFailure(t, standard, none)
}

// wantQuietEnd runs airtide without a reader of its output, and into a full device.
func wantQuietEnd(t *testing.T, args []string) {
	t.Helper()
	into := func(to *os.File) (stderr string, status int) {
		defer to.Close()
		var errOut bytes.Buffer
		cmd := airtide(args...)
		cmd.Stdout = to
		cmd.Stderr = &errOut
		_ = cmd.Run()
		return errOut.String(), cmd.ProcessState.ExitCode()
	}
	read, write, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	read.Close()
	if stderr, status := into(write); status != 0 || stderr != "" {
		t.Errorf("airtide %q without a reader: status %d, %q", args, status, stderr)
	}
	full, err := os.OpenFile("/dev/full", os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	stderr, status := into(full)
	wantClean(t, stderr)
	if status != statusFailed || strings.Count(stderr, "\n") != 1 ||
		!strings.Contains(stderr, "no space left on device") {
		t.Errorf("airtide %q into a full device: status %d, %q", args, status, stderr)
	}
}

// TestNoOutputObeysAnArgument gives control characters as each argument and each text of a flag.
func TestNoOutputObeysAnArgument(t *testing.T) {
	files := faultFiles(t)
	dir := openDir(t)
	if err := os.Chmod(dir, 0o777); err != nil {
		t.Fatal(err)
	}
	const hostile = "\x1b]0;owned\a\x1b[2J\r\u009b31m\u202e"
	eachVerb(t, func(t *testing.T, verb *cobra.Command, path []string, row faultRow) {
		var calls [][]string
		for i := range row.call {
			call := files(row.whole(path))
			call[len(path)+i] = hostile
			calls = append(calls, call)
		}
		verb.Flags().VisitAll(func(f *pflag.Flag) {
			if strings.HasPrefix(f.Value.Type(), "string") && (!row.runs || len(row.flags) > 0) {
				calls = append(calls, files(row.whole(path, "--"+f.Name+"="+hostile)))
			}
		})
		for _, args := range calls {
			cmd := asNobody(airtide(args...))
			cmd.Dir = dir
			stdout, stderr, status := runCmd(t, cmd)
			wantClean(t, stdout, stderr)
			if status < 0 || status > statusMisuse || t.Failed() {
				t.Fatalf("airtide %q: status %d, %q", args, status, stderr)
			}
		}
	})
}

// checkedOutput keeps the beginning of an output and the first control character in it.
type checkedOutput struct {
	begin   []byte
	bytes   int64
	control string
}

func (o *checkedOutput) Write(p []byte) (int, error) {
	o.bytes += int64(len(p))
	o.begin = append(o.begin, p[:min(len(p), max(0, 4096-len(o.begin)))]...)
	if at := controlIn(p); at >= 0 && o.control == "" {
		o.control = fmt.Sprintf("%q", p[max(0, at-60):min(len(p), at+60)])
	}
	return len(p), nil
}

// controlIn is the place of the first control character, below 0 without one. Most bytes of an
// output are ASCII, which needs no decoding.
func controlIn(p []byte) int {
	for i := 0; i < len(p); {
		if c := p[i]; c >= ' ' && c < 0x7f || c == '\n' || c == '\t' {
			i++
			continue
		}
		r, n := utf8.DecodeRune(p[i:])
		if unicode.IsControl(r) || r == '\u202e' {
			return i
		}
		i += n
	}
	return -1
}

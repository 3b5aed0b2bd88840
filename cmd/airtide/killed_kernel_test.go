//go:build kernel

package main

import (
	"bufio"
	"bytes"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"airtide/test/need"
)

// sleeps reports whether a process runs and is "sleep SECONDS", and no longer ip or a shell.
func sleeps(pid, seconds string) bool {
	cmdline, _ := os.ReadFile(filepath.Join("/proc", pid, "cmdline"))
	return bytes.HasPrefix(cmdline, []byte("sleep\x00"+seconds))
}

func TestAKilledCellEndsItsCommandAndWhatItStarted(t *testing.T) {
	need.Root(t)
	cmd := airtide("cell", "run", cellFile(t, homeCell), "--", "sh", "-c", `
		ip netns exec $AIRTIDE_NS_phone setsid sleep 1001 >/dev/null 2>&1 &
		echo $$ $! $AIRTIDE_NS_phone
		exec sleep 1002`)
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = cmd.Process.Kill() })
	line, err := bufio.NewReader(out).ReadString('\n')
	words := strings.Fields(line)
	if err != nil || len(words) != 3 {
		t.Fatalf("it printed %q, %v", line, err)
	}
	waitFor(t, "both to sleep", func() bool { return sleeps(words[0], "1002") && sleeps(words[1], "1001") })
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait()
	waitFor(t, "the command to end", func() bool { return !sleeps(words[0], "1002") })
	waitFor(t, "what it started to end", func() bool { return !sleeps(words[1], "1001") })
	waitFor(t, "the namespace to go", func() bool {
		_, err := os.Stat(filepath.Join("/run/netns", words[2]))
		return err != nil
	})
}

// TestACommandOutlivesAKilledObserver kills airtide while a command waits for its input. The
// command is the user's own work: it reads on and writes.
func TestACommandOutlivesAKilledObserver(t *testing.T) {
	need.Root(t)
	for _, verb := range [][]string{
		{"record", "-o", "FILE"},
		{"diagnose"},
		{"tune", "--notsent-lowat", "16k", "--bpffs", mountPoint(t)},
		{"cc", "load", "cubic_rtt", "--as", ccName("out")},
	} {
		t.Run(verb[0], func(t *testing.T) {
			dir := t.TempDir()
			args := slices.Clone(verb)
			if at := slices.Index(args, "FILE"); at >= 0 {
				args[at] = filepath.Join(dir, "it.atr")
			}
			command := `echo ready >&2; read line; echo "$line" >` + filepath.Join(dir, "read")
			args = append(args, "--", "sh", "-c", command)
			cmd := airtide(args...)
			in, err := cmd.StdinPipe()
			if err != nil {
				t.Fatal(err)
			}
			stderr, err := cmd.StderrPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() { _ = cmd.Process.Kill() })
			for lines := bufio.NewScanner(stderr); lines.Text() != "ready"; {
				if !lines.Scan() {
					t.Fatalf("the command does not start: %v", lines.Err())
				}
			}
			if err := cmd.Process.Kill(); err != nil {
				t.Fatal(err)
			}
			_, _ = cmd.Process.Wait() // cmd.Wait would close the pipe
			if _, err := in.Write([]byte("later\n")); err != nil {
				t.Fatal(err)
			}
			waitFor(t, "the command to read", func() bool {
				text, _ := os.ReadFile(filepath.Join(dir, "read"))
				return string(text) == "later\n"
			})
		})
	}
}

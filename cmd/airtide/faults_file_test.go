package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/spf13/cobra"
)

// nobody is the number of a user without rights.
const nobody = 65534

// asNobody takes the rights from a command. A user without rights runs it as it is.
func asNobody(cmd *exec.Cmd) *exec.Cmd {
	if os.Geteuid() == 0 {
		cmd.Path = "/proc/self/exe" // the folder that it lies in is root's
		cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
	}
	return cmd
}

// wantFailure runs a command and expects status 1 and one line that an expression matches.
func wantFailure(t *testing.T, cmd *exec.Cmd, want string) {
	t.Helper()
	stdout, stderr, status := runCmd(t, cmd)
	wantClean(t, stdout, stderr)
	if status != statusFailed || stdout != "" || !strings.HasPrefix(stderr, "airtide: ") ||
		!regexp.MustCompile(want).MatchString(stderr) || strings.Count(stderr, "\n") != 1 {
		t.Errorf("airtide %q: status %d, %q, %q; want one line with %q", cmd.Args[1:], status, stdout, stderr, want)
	}
}

func TestWrongFilesOfEveryVerb(t *testing.T) {
	files := faultFiles(t)
	dir := openDir(t)
	write := func(name string, mode os.FileMode, data string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(data), mode); err != nil {
			t.Fatal(err)
		}
		return path
	}
	unreadable := write("unreadable\x1b[31m", 0, "secret")
	for _, wrong := range []string{
		unreadable, dir, filepath.Join(dir, "missing\x1b]0;owned\a"), write("empty", 0o644, ""),
		write("letter", 0o644, "Dear editor,\n\nthis is no recording.\n"),
		write("figure.png", 0o644, "\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR"),
		write("zeros", 0o644, string(make([]byte, 5000))),
		write("other.pcap", 0o644, "\xd4\xc3\xb2\xa1\x02\x00\x04\x00short"),
	} {
		shown := strings.NewReplacer("\x1b", "?", "\a", "?").Replace(filepath.Base(wrong))
		eachVerb(t, func(t *testing.T, _ *cobra.Command, path []string, row faultRow) {
			call := row.whole(path)
			for i, arg := range call {
				if !strings.HasPrefix(arg, "{") || arg == "{new}" {
					continue
				}
				args := slices.Clone(call)
				args[i] = wrong
				cmd := airtide(files(args)...)
				if wrong == unreadable {
					asNobody(cmd)
				}
				if !row.listed {
					wantFailure(t, cmd, regexp.QuoteMeta(shown))
					continue
				}
				stdout, stderr, status := runCmd(t, cmd)
				wantClean(t, stdout, stderr)
				if status != statusFailed || !strings.Contains(stdout, shown) || stderr != "" {
					t.Errorf("airtide %q: status %d, %q, %q", args, status, stdout, stderr)
				}
			}
		})
	}
}

func TestVerbsWithoutRoot(t *testing.T) {
	files := faultFiles(t)
	dir := openDir(t)
	eachVerb(t, func(t *testing.T, _ *cobra.Command, path []string, row faultRow) {
		if row.root != "" {
			wantFailure(t, asNobody(airtide(files(row.whole(path))...)), row.root)
		}
	})
	recorded := filepath.Join(dir, "a.atr")
	results := filepath.Join(dir, "results")
	for _, c := range []struct {
		want string
		args []string
	}{
		{"run it as root, or|not mounted", []string{"record", "-o", recorded, "--", "true"}},
		{"need root: run it with sudo", []string{"lab", "run", "quickstart", "-o", results}},
		{"by root only", []string{"tune", "--port", "5201", "--cwnd-max", "10"}},
	} {
		wantFailure(t, asNobody(airtide(c.args...)), c.want)
	}
	closed := resultOf(t, [2]float64{1, 2})
	if err := os.Chmod(closed, 0); err != nil {
		t.Fatal(err)
	}
	defer os.Chmod(closed, 0o700) // for its removal
	of := filepath.Dir(closed)
	wantFailure(t, asNobody(airtide("lab", "show", filepath.Base(of), "-o", filepath.Dir(of))), "permission denied")
	if left, err := os.ReadDir(dir); len(left) > 0 || err != nil {
		t.Errorf("verbs without root leave %v, %v", left, err)
	}
}

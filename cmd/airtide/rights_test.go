package main

import (
	"errors"
	"os"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/spf13/cobra"
	"golang.org/x/net/bpf"
	"golang.org/x/sys/unix"

	"airtide/internal/sys/privilege"
)

// liveVerbs are the verbs that give up rights themselves once they are attached.
var liveVerbs = []string{"diagnose", "monitor", "record", "share hub", "share run", "tune"}

// freeVerbs are the verbs that keep all rights, by the reason.
var freeVerbs = map[string][]string{
	"they change the kernel or start programs for as long as they run": {
		"cc load", "cc unload", "cell run", "lab resume", "lab run", "timewarp build", "timewarp load", "timewarp run",
		"timewarp set", "timewarp unload", "tune undo",
	},
	"they end at once and read only the kernel or sockets of airtide": {
		"cc list", "cell status", "doctor", "share status", "timewarp status", "tune show",
	},
	"they read no file": {
		"", "cc", "cell", "completion", "completion bash", "completion fish", "completion powershell", "completion zsh",
		"help", "lab", "share", "share key", "timewarp",
	},
}

func TestEveryVerbHasItsRights(t *testing.T) {
	known := map[string]bool{}
	for verb := range fileVerbs {
		known[verb] = true
	}
	for _, verb := range liveVerbs {
		known[verb] = true
	}
	for _, verbs := range freeVerbs {
		for _, verb := range verbs {
			known[verb] = true
		}
	}
	eachVerb(t, func(t *testing.T, verb *cobra.Command, path []string, _ faultRow) {
		if !known[strings.Join(path, " ")] {
			t.Error("no list says which rights it needs: add it to fileVerbs, liveVerbs or freeVerbs")
		}
		v, reads := fileVerbs[strings.Join(path, " ")]
		for _, name := range append(append([]string{v.when}, v.read...), v.write...) {
			if reads && name != "" && verb.Flags().Lookup(name) == nil {
				t.Errorf("fileVerbs names a flag %q that the verb does not have", name)
			}
		}
	})
}

// --force overwrites no file that the same call reads.
func TestAnInputIsNoOutput(t *testing.T) {
	files := faultFiles(t)
	outputs := 0
	eachVerb(t, func(t *testing.T, verb *cobra.Command, path []string, row faultRow) {
		v := fileVerbs[strings.Join(path, " ")]
		for _, flag := range v.write {
			args := files(row.whole(path))
			for i, arg := range args {
				data, err := os.ReadFile(arg)
				if err != nil { // it names no file
					continue
				}
				outputs++
				copied := filepath.Join(t.TempDir(), "copy.svg")
				link := filepath.Join(t.TempDir(), "link")
				if err := errors.Join(os.WriteFile(copied, data, 0o600), os.Symlink(copied, link)); err != nil {
					t.Fatal(err)
				}
				for _, input := range []string{copied, link} {
					args[i] = input
					call := append(slices.Clone(args), "--"+flag+"="+copied)
					if verb.Flags().Lookup("force") != nil {
						call = append(call, "--force")
					}
					wantMisuse(t, verb, "is read and cannot be written", call...)
				}
				if now, err := os.ReadFile(copied); err != nil || string(now) != string(data) {
					t.Errorf("the input has changed: %v", err)
				}
				args[i] = arg
			}
		}
	})
	if outputs < 8 {
		t.Errorf("only %d inputs stand beside an output", outputs)
	}
}

// onOldKernel becomes airtide on a kernel without Landlock and without filters of system calls: the
// calls that set them up fail as there.
func onOldKernel() {
	missing := bpf.RetConstant{Val: unix.SECCOMP_RET_ERRNO | uint32(unix.ENOSYS)}
	raw, err := bpf.Assemble([]bpf.Instruction{
		bpf.LoadAbsolute{Off: 0, Size: 4}, // the number of the call
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_LANDLOCK_CREATE_RULESET, SkipTrue: 1},
		bpf.JumpIf{Cond: bpf.JumpEqual, Val: unix.SYS_SECCOMP, SkipFalse: 1},
		missing,
		bpf.RetConstant{Val: unix.SECCOMP_RET_ALLOW},
	})
	filter := make([]unix.SockFilter, len(raw))
	for i, r := range raw {
		filter[i] = unix.SockFilter{Code: r.Op, Jt: r.Jt, Jf: r.Jf, K: r.K}
	}
	program := unix.SockFprog{Len: uint16(len(filter)), Filter: &filter[0]}
	runtime.LockOSThread()
	if err == nil {
		err = unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
	}
	if err == nil {
		err = unix.Prctl(unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER, uintptr(unsafe.Pointer(&program)), 0, 0)
	}
	if err == nil {
		err = errors.Join(os.Setenv(self, "airtide"), unix.Exec("/proc/self/exe", os.Args, os.Environ()))
	}
	panic(err)
}

// A kernel that cannot restrict a verb changes nothing that the verb prints. doctor names what is
// missing.
func TestAVerbOnAnOldKernelSaysNothing(t *testing.T) {
	old := func(args ...string) (stdout, stderr string, status int) {
		cmd := airtide(args...)
		cmd.Env = append(os.Environ(), self+"=airtide on an old kernel")
		return runCmd(t, cmd)
	}
	stdout, stderr, status := old("info", kernelRecording)
	if want := mustRun(t, "info", kernelRecording); status != 0 || stderr != "" || stdout != want {
		t.Errorf("info: status %d, %q\n%s", status, stderr, stdout)
	}
	stdout, _, _ = old("doctor")
	for _, name := range []string{"seccomp_filters", "landlock"} {
		if !regexp.MustCompile(`missing +` + name + ` +not in this kernel`).MatchString(stdout) {
			t.Errorf("doctor does not say that %s is missing:\n%s", name, stdout)
		}
	}
}

// A result of another person has a link to a file that only the reader may read.
func TestAReadingVerbOpensNoOtherFile(t *testing.T) {
	if privilege.Examine().Landlock == 0 {
		t.Skip("this kernel has no Landlock")
	}
	secret := filepath.Join(t.TempDir(), "secret.json")
	dir := resultOf(t, [2]float64{1, 2})
	runs, err := filepath.Glob(filepath.Join(dir, "runs", "*", "result.json"))
	if err != nil || len(runs) == 0 {
		t.Fatalf("no runs: %v", err)
	}
	text, err := os.ReadFile(runs[0])
	if err == nil {
		err = os.WriteFile(secret, text, 0o600)
	}
	if err == nil {
		err = os.Remove(runs[0])
	}
	if err != nil {
		t.Fatal(err)
	}
	for _, outside := range []string{secret, "/etc/passwd"} {
		if err := os.Symlink(outside, runs[0]); err != nil {
			t.Fatal(err)
		}
		stdout, stderr, _ := run(t, "lab", "show", dir)
		if !strings.Contains(stdout+stderr, "permission denied") {
			t.Errorf("it follows a link to %s:\n%s%s", outside, stdout, stderr)
		}
		if err := os.Remove(runs[0]); err != nil {
			t.Fatal(err)
		}
	}
	// The link may lead within the result.
	inside := filepath.Join(dir, "moved.json")
	if err := os.Rename(secret, inside); err != nil {
		t.Fatal(err)
	}
	if err := os.Symlink(inside, runs[0]); err != nil {
		t.Fatal(err)
	}
	if stdout, stderr, status := run(t, "lab", "show", dir); status != 0 {
		t.Errorf("status %d of a link within the result:\n%s%s", status, stdout, stderr)
	}
}

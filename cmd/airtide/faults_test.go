package main

import (
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
	"unicode"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"airtide/internal/view/terminal"
)

// A faultRow describes calls of a verb for the table of faults. Words in braces name files of
// faultFiles.
type faultRow struct {
	// call holds the arguments of the shortest right call. "surplus" after it is too much,
	// unless the verb takes any number of arguments.
	call []string
	many bool
	// missing is the answer to a call without arguments. It is empty if that is a right call.
	missing string
	// flags complete a call that ends by itself.
	flags []string
	// units are the flags of type string with a value that "5 parsec" is not.
	units []string
	// command says that "-- true" follows.
	command bool
	// root matches the answer to a user without root. It is empty if the verb does not need it.
	root string
	// runs verbs do not end by themselves, or take long.
	runs bool
	// listed verbs print the problems of files on standard output.
	listed bool
}

// faultTable has a row for each verb. A verb without a row fails the test.
var faultTable = map[string]faultRow{
	"":        {},
	"cc":      {},
	"cc list": {root: "need root"},
	"cc load": {
		call: []string{"cubic_rtt"}, missing: "KIND", units: []string{"time-ratio"}, command: true, root: "need root",
	},
	"cc unload":             {call: []string{"nosuch"}, missing: "NAME", root: "need root"},
	"cell":                  {},
	"cell check":            {call: []string{"{experiment}"}, missing: "FILE", many: true, listed: true},
	"cell run":              {call: []string{"{experiment}"}, missing: "FILE", command: true, root: "needs root"},
	"cell status":           {flags: []string{"--once"}, root: "no cell runs here|permission denied"},
	"completion":            {},
	"completion bash":       {},
	"completion fish":       {},
	"completion powershell": {},
	"completion zsh":        {},
	"diagnose":              {call: []string{"{recording}"}, missing: "FILE", many: true},
	"doctor":                {},
	"export": {
		call: []string{"{recording}"}, missing: "FILE", flags: []string{"--to", "csv", "-o", "-"},
	},
	"fairness": {
		call: []string{"30", "28"}, missing: "rates", many: true,
		units: []string{"alpha", "capacity", "max", "weights"},
	},
	"help":        {call: []string{"info"}},
	"info":        {call: []string{"{recording}", "{recording}"}, missing: "FILE"},
	"lab":         {},
	"lab check":   {call: []string{"{experiment}"}, missing: "EXPERIMENT", many: true, listed: true},
	"lab compare": {call: []string{"{result}", "{result}"}, missing: "two", many: true},
	"lab list":    {},
	"lab resume":  {call: []string{"{result}"}, missing: "RESULT", root: "root"},
	"lab run":     {call: []string{"{experiment}"}, missing: "EXPERIMENT", flags: []string{"--dry-run"}},
	"lab show":    {call: []string{"{result}"}, missing: "RESULT"},
	"monitor":     {call: []string{"{recording}"}, flags: []string{"--once"}},
	"packets":     {call: []string{"{capture}"}, missing: "FILE"},
	"packets annotate": {
		call: []string{"{capture}", "{transfer}"}, missing: "FILE", flags: []string{"-o", "-"},
	},
	"packets export": {call: []string{"{capture}"}, missing: "FILE", flags: []string{"--to", "csv", "-o", "-"}},
	"packets join":   {call: []string{"{capture}", "{transfer}"}, missing: "FILE"},
	"packets plot":   {call: []string{"{capture}"}, missing: "FILE", flags: []string{"-o", "-"}},
	"packets show":   {call: []string{"{capture}"}, missing: "FILE"},
	"plot": {
		call: []string{"{recording}"}, missing: "FILE",
		flags: []string{"--flow", "3", "-o", "-", "--format", "svg"},
	},
	"record": {
		missing: "-o FILE", flags: []string{"--source", "diag", "-d", "10ms", "-f", "--json", "-q", "-o", "{new}"},
		units: []string{"density"},
	},
	"share":     {},
	"share hub": {missing: "--key", flags: []string{"--key", "{key}"}, units: []string{"listen"}, runs: true},
	"share key": {},
	"share run": {
		missing: "--key", flags: []string{"--key", "{key}", "--peer", "127.0.0.1"}, units: []string{"alpha"},
		runs: true, root: "root",
	},
	"share status":   {root: "root"},
	"timewarp":       {},
	"timewarp build": {runs: true},
	"timewarp load":  {root: "root|modules"},
	"timewarp run": {
		missing: "command", flags: []string{"-N", "10"}, units: []string{"ratio", "rto"}, command: true,
		root: "root|modules",
	},
	"timewarp set":    {call: []string{"10"}, missing: "N", units: []string{"rto"}, root: "root|modules"},
	"timewarp status": {root: "root|modules"},
	"timewarp unload": {root: "root|modules"},
	"tune":            {flags: []string{"--cwnd-max", "10"}, command: true, root: "root"},
	"tune show":       {root: "root"},
	"tune undo":       {root: "root", many: true},
	"version":         {},
}

// eachVerb runs a test for each verb that can be run, with its row.
func eachVerb(t *testing.T, test func(*testing.T, *cobra.Command, []string, faultRow)) {
	t.Helper()
	root := newRoot(&terminal.Terminal{})
	root.InitDefaultHelpCmd()
	root.InitDefaultCompletionCmd()
	seen := map[string]bool{}
	var visit func(*cobra.Command)
	visit = func(verb *cobra.Command) {
		path := strings.TrimPrefix(strings.TrimPrefix(verb.CommandPath(), "airtide"), " ")
		row, ok := faultTable[path]
		seen[path] = true
		if ok {
			t.Run("airtide "+path, func(t *testing.T) { test(t, verb, strings.Fields(path), row) })
		} else if verb.Runnable() {
			t.Errorf("airtide %s has no row in faultTable", path)
		}
		for _, c := range verb.Commands() {
			if !c.Hidden {
				visit(c)
			}
		}
	}
	visit(root)
	for path := range faultTable {
		if !seen[path] {
			t.Errorf("faultTable has a row for %q, which is no verb", path)
		}
	}
}

// faultFiles makes the files that rows name. The function puts their paths into calls.
func faultFiles(t *testing.T) func(args []string) []string {
	t.Helper()
	dir := openDir(t)
	key := filepath.Join(dir, "cell.key")
	mustRun(t, "share", "key", "-o", key)
	judged := resultOf(t, [2]float64{1, 2})
	if os.Geteuid() == 0 { // asNobody can read them
		for _, of := range []string{key, judged} {
			err := filepath.WalkDir(of, func(path string, _ fs.DirEntry, err error) error {
				return errors.Join(err, os.Chown(path, nobody, nobody))
			})
			if err != nil {
				t.Fatal(err)
			}
		}
	}
	recording, err := filepath.Abs(kernelRecording)
	if err != nil {
		t.Fatal(err)
	}
	capture, err := filepath.Abs(lossyCapture)
	if err != nil {
		t.Fatal(err)
	}
	paths := strings.NewReplacer("{recording}", recording, "{capture}", capture,
		"{transfer}", readable(t, lossyRecording(t)),
		"{experiment}", "quickstart",
		"{result}", judged, "{key}", key, "{new}", filepath.Join(dir, "new.atr"))
	return func(args []string) []string {
		args = slices.Clone(args)
		for i, arg := range args {
			args[i] = paths.Replace(arg)
		}
		return args
	}
}

// readable lets every user read a file in a folder of the test.
func readable(t *testing.T, path string) string {
	t.Helper()
	if err := errors.Join(os.Chmod(path, 0o644), os.Chmod(filepath.Dir(path), 0o755)); err != nil {
		t.Fatal(err)
	}
	return path
}

// openDir makes a folder that every user can enter.
func openDir(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(filepath.Dir(dir), 0o755); err != nil { // shared by all folders of the test
		t.Fatal(err)
	}
	return dir
}

// whole is the call that ends by itself, with more flags.
func (r *faultRow) whole(path []string, more ...string) []string {
	args := slices.Concat(path, r.call, r.flags, more)
	if r.command {
		args = append(args, "--", "true")
	}
	return args
}

// wantMisuse runs airtide and expects status 2, one line that has a text, and the hint at the help.
func wantMisuse(t *testing.T, verb *cobra.Command, text string, args ...string) {
	t.Helper()
	stdout, stderr, status := run(t, args...)
	wantClean(t, stdout, stderr)
	line, hint, _ := strings.Cut(stderr, "\n")
	if status != statusMisuse || stdout != "" || !strings.HasPrefix(line, "airtide: ") ||
		!strings.Contains(line, text) || hint != "See '"+verb.CommandPath()+" --help'.\n" {
		t.Errorf("airtide %q: status %d, %q, %q; want one line with %q and a hint", args, status, stdout, stderr, text)
	}
}

// wantClean reports control characters in outputs.
func wantClean(t *testing.T, outputs ...string) {
	t.Helper()
	for _, text := range outputs {
		var o checkedOutput
		_, _ = o.Write([]byte(text))
		if o.control != "" {
			t.Errorf("it prints a control character: %s", o.control)
		}
	}
}

func TestMisuseOfEveryVerb(t *testing.T) {
	files := faultFiles(t)
	eachVerb(t, func(t *testing.T, verb *cobra.Command, path []string, row faultRow) {
		if row.missing != "" {
			wantMisuse(t, verb, row.missing, path...)
		}
		if !row.many {
			wantMisuse(t, verb, "surplus", files(slices.Concat(path, row.call, []string{"surplus"}, row.flags))...)
		}
		wantMisuse(t, verb, "--nosuchflag", files(row.whole(path, "--nosuchflag"))...)
		verb.InitDefaultHelpFlag()
		verb.Flags().VisitAll(func(f *pflag.Flag) {
			want := "--" + f.Name
			switch f.Value.Type() {
			case "bool":
				return
			case "string", "stringSlice", "stringArray": // most have no unit
				want = "parsec"
				if !slices.Contains(row.units, f.Name) {
					return
				}
			}
			wantMisuse(t, verb, want, files(row.whole(path, "--"+f.Name+"=5 parsec"))...)
		})
	})
}

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
	files, dir := faultFiles(t), openDir(t)
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
	files, dir := faultFiles(t), openDir(t)
	eachVerb(t, func(t *testing.T, _ *cobra.Command, path []string, row faultRow) {
		if row.root != "" {
			wantFailure(t, asNobody(airtide(files(row.whole(path))...)), row.root)
		}
	})
	recorded, results := filepath.Join(dir, "a.atr"), filepath.Join(dir, "results")
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

// TestOutputsThatAreClosedOrFull runs the verbs that end by themselves and do not need root.
func TestOutputsThatAreClosedOrFull(t *testing.T) {
	files := faultFiles(t)
	eachVerb(t, func(t *testing.T, _ *cobra.Command, path []string, row faultRow) {
		if row.root == "" && !row.runs {
			wantQuietEnd(t, files(row.whole(path)))
		}
	})
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
	files, dir := faultFiles(t), openDir(t)
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

// TestStopAndInterrupt presses Ctrl-Z, continues, and presses Ctrl-C.
func TestStopAndInterrupt(t *testing.T) {
	files, recorded := faultFiles(t), filepath.Join(t.TempDir(), "a.atr")
	written := func(string) bool {
		info, err := os.Stat(recorded)
		return err == nil && info.Size() > 0
	}
	for _, c := range []struct {
		args  []string
		ready func(output string) bool
	}{
		{[]string{"monitor", "--source", "diag", "--interval", "50ms"}, printed("PROCESS")},
		{[]string{"monitor", "{recording}", "--speed", "0.001", "--interval", "1ms"}, printed("PROCESS")},
		{[]string{"record", "--source", "diag", "-o", recorded}, written},
		{[]string{"share", "hub", "--key", "{key}", "--listen", freePort(t)}, printed("listening on 127.0.0.1:")},
	} {
		stopAndInterrupt(t, files(c.args), c.ready)
	}
}

// TestOneInterruptEndsEveryVerb interrupts each verb while it works, or when it has waited for a
// while.
func TestOneInterruptEndsEveryVerb(t *testing.T) {
	files := faultFiles(t)
	eachVerb(t, func(t *testing.T, verb *cobra.Command, path []string, row faultRow) {
		if !verb.Runnable() {
			return
		}
		cmd := airtide(files(row.whole(path))...)
		cmd.Dir = t.TempDir()
		var output bytes.Buffer
		cmd.Stdout = &output
		cmd.Stderr = &output
		if err := cmd.Start(); err != nil {
			t.Fatal(err)
		}
		ended := make(chan struct{})
		go func() {
			_ = cmd.Wait()
			close(ended)
		}()
		for began, working := time.Now(), false; !working && time.Since(began) < time.Second; {
			select {
			case <-ended:
				working = true
			case <-time.After(time.Millisecond):
				working = processorTicks(cmd.Process.Pid) > 2
			}
		}
		guard := time.AfterFunc(20*time.Second, func() { _ = cmd.Process.Kill() })
		_ = cmd.Process.Signal(syscall.SIGINT)
		<-ended
		by := cmd.ProcessState.Sys().(syscall.WaitStatus)
		atStart := by.Signaled() && by.Signal() == syscall.SIGINT
		if !guard.Stop() || !by.Exited() && !atStart || strings.Contains(output.String(), "goroutine ") {
			t.Errorf("it ends with %s: %.2000s", cmd.ProcessState, output.String())
		}
	})
}

// processorTicks is the processor time of a process until now, in ticks of 10 ms.
func processorTicks(pid int) (ticks int) {
	stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	_, rest, _ := strings.Cut(string(stat), ") ")
	if fields := strings.Fields(rest); len(fields) > 12 {
		for _, field := range fields[11:13] { // user and system
			n, _ := strconv.Atoi(field)
			ticks += n
		}
	}
	return ticks
}

// printed waits for a text.
func printed(text string) func(string) bool {
	return func(output string) bool { return strings.Contains(output, text) }
}

// freePort is an address of this machine with a port that nothing uses.
func freePort(t *testing.T) string {
	t.Helper()
	c, err := net.ListenPacket("udp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	return c.LocalAddr().String()
}

// stopAndInterrupt stops airtide once it is ready, continues it and interrupts it. It expects
// status 0, because these verbs run until Ctrl-C.
func stopAndInterrupt(t *testing.T, args []string, ready func(output string) bool) {
	t.Helper()
	out, err := os.OpenFile(filepath.Join(t.TempDir(), "output"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	output := func() string {
		text, err := os.ReadFile(out.Name())
		if err != nil {
			t.Fatal(err)
		}
		return string(text)
	}
	cmd := airtide(args...)
	cmd.Stdout = out
	cmd.Stderr = out
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the kernel stops no orphaned group
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	guard := time.AfterFunc(2*time.Minute, func() { _ = cmd.Process.Kill() })
	defer guard.Stop()
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	defer cmd.Process.Kill() // should it not have ended
	stopped := func() bool {
		stat, _ := os.ReadFile(fmt.Sprintf("/proc/%d/stat", cmd.Process.Pid))
		_, state, _ := strings.Cut(string(stat), ") ")
		return strings.HasPrefix(state, "T")
	}
	send := func(s syscall.Signal) {
		if err := cmd.Process.Signal(s); err != nil {
			t.Fatalf("airtide %q: %v\n%s", args, err, output())
		}
	}
	waitFor(t, fmt.Sprintf("airtide %q to run", args), func() bool { return ready(output()) })
	send(syscall.SIGTSTP)
	waitFor(t, "Ctrl-Z to stop it", stopped)
	send(syscall.SIGCONT)
	waitFor(t, "it to continue", func() bool { return !stopped() })
	send(syscall.SIGINT)
	err = <-ended
	wantClean(t, output())
	if err != nil || strings.Contains(output(), "interrupted") || strings.Contains(output(), "context canceled") {
		t.Errorf("airtide %q ends with %v:\n%s", args, err, output())
	}
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
	at := bytes.IndexFunc(p, func(r rune) bool {
		return r != '\n' && r != '\t' && (unicode.IsControl(r) || r == '\u202e')
	})
	if at >= 0 && o.control == "" {
		o.control = fmt.Sprintf("%q", p[max(0, at-60):min(len(p), at+60)])
	}
	return len(p), nil
}

package main

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

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
	"share status":   {root: "root|no agent runs here"},
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

// The name of a file that another person made begins no line, in no verb.
func TestNamesForgeNoLine(t *testing.T) {
	verbs := 0
	eachVerb(t, func(t *testing.T, _ *cobra.Command, path []string, row faultRow) {
		if len(row.call) == 0 || path[0] == "timewarp" {
			return
		}
		verbs++
		args := slices.Clone(path)
		for range row.call {
			args = append(args, filepath.Join(t.TempDir(), "a\nforged: all is well"))
		}
		stdout, stderr, status := run(t, slices.Concat(args, faultFlags(row))...)
		if status == 0 || strings.Contains("\n"+stdout+"\n"+stderr, "\nforged") {
			t.Errorf("status %d, %q, %q", status, stdout, stderr)
		}
	})
	if verbs < 12 {
		t.Errorf("only %d verbs take a file", verbs)
	}
}

// faultFlags are the flags of a row that name no file of faultFiles.
func faultFlags(row faultRow) (flags []string) {
	for _, f := range row.flags {
		if strings.ContainsAny(f, "{") {
			return nil
		}
		flags = append(flags, f)
	}
	return flags
}

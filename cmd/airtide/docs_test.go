package main

import (
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"airtide/internal/view/terminal"
)

// A shownCommand is a command line of airtide in the documentation.
type shownCommand struct {
	page string
	line string
	args []string // without the program's name
}

var fencedBlock = regexp.MustCompile("(?ms)^```[a-z]*\n(.*?)^```$")

// shownCommands returns the command lines in the fenced and indented blocks of README.md and docs:
// lines that begin with "airtide" or "$ airtide". Comments, pipes and redirections end a command.
func shownCommands(t *testing.T) []shownCommand {
	t.Helper()
	var all []shownCommand
	read := func(path string) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var lines []string
		for _, block := range fencedBlock.FindAllStringSubmatch(string(text), -1) {
			lines = append(lines, strings.Split(block[1], "\n")...)
		}
		for line := range strings.Lines(fencedBlock.ReplaceAllString(string(text), "")) {
			if strings.HasPrefix(line, "    ") {
				lines = append(lines, line)
			}
		}
		for _, line := range lines {
			line = strings.TrimPrefix(strings.TrimSpace(line), "$ ")
			words := splitCommand(line)
			// Output of airtide begins with its name, too: "airtide  lost 0 records".
			if len(words) > 1 && words[0] == "airtide" && !strings.HasPrefix(line, "airtide  ") {
				all = append(all, shownCommand{filepath.Base(path), line, words[1:]})
			}
		}
	}
	read("../../README.md")
	err := filepath.WalkDir("../../docs", func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			read(path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// splitCommand returns the words of a shell command up to a comment, pipe, redirection or
// semicolon.
func splitCommand(line string) []string {
	var words []string
	var word strings.Builder
	started := false
	var quote rune
	flush := func() {
		if started {
			words = append(words, word.String())
		}
		word.Reset()
		started = false
	}
	for _, r := range line {
		switch {
		case quote != 0 && r == quote:
			quote = 0
		case quote != 0:
			word.WriteRune(r)
		case r == '\'' || r == '"':
			quote = r
			started = true
		case r == ' ' || r == '\t':
			flush()
		case !started && r == '#', r == '|', r == '>', r == ';', r == '&':
			flush()
			return words
		default:
			started = true
			word.WriteRune(r)
		}
	}
	flush()
	return words
}

// parse finds the command of a line and reads its flags and arguments, without running it.
func (s shownCommand) parse() error {
	cmd, rest, err := newRoot(&terminal.Terminal{}).Find(s.args)
	if err != nil {
		return err
	}
	if err := cmd.ParseFlags(rest); err != nil {
		return err
	}
	if cmd.Run == nil && cmd.RunE == nil {
		return usageError{io.EOF}
	}
	if err := cmd.ValidateRequiredFlags(); err != nil {
		return err
	}
	return cmd.ValidateArgs(cmd.Flags().Args())
}

// Every shown command has verbs, flags and a number of arguments that the program accepts.
func TestShownCommandsAreUnderstood(t *testing.T) {
	all := shownCommands(t)
	if len(all) < 50 {
		t.Errorf("only %d commands were found", len(all))
	}
	verbs := map[string]bool{}
	for _, s := range all {
		if err := s.parse(); err != nil {
			t.Errorf("%s: %q: %v", s.page, s.line, err)
		}
		verbs[s.args[0]] = true
	}
	for _, cmd := range newRoot(&terminal.Terminal{}).Commands() {
		plain := slices.Contains([]string{"completion", "help", "version"}, cmd.Name())
		if name := cmd.Name(); !verbs[name] && cmd.IsAvailableCommand() && !plain {
			t.Errorf("no page shows airtide %s", name)
		}
	}
	wrongFlag := shownCommand{args: []string{"info", "--nosuch", "a.atr"}}
	if wrongFlag.parse() == nil || (shownCommand{args: []string{"info"}}).parse() == nil {
		t.Error("a wrong command is understood")
	}
}

// runsAnywhere reports if a shown command needs neither root nor a network nor a lab result.
func (s shownCommand) runsAnywhere() bool {
	line := strings.Join(s.args, " ")
	switch s.args[0] {
	case "plot", "export":
		return true
	case "diagnose":
		return !strings.Contains(line, "--live") && !slices.Contains(s.args, "--")
	case "packets":
		return !strings.Contains(line, "packets -")
	case "info":
		return !strings.Contains(line, "results/")
	case "fairness":
		return !strings.Contains(line, "--result")
	case "monitor":
		return strings.HasPrefix(line, "monitor upload.atr")
	case "share":
		return strings.HasPrefix(line, "share key")
	case "lab":
		return line == "lab list" || strings.HasPrefix(line, "lab check") || strings.HasSuffix(line, "--dry-run")
	case "version":
		return true
	}
	return false
}

// needsKernel reports if a shown command needs root and ends on its own.
// The documentation's servers are 192.0.2.1 and 10.2.0.1; only iperf3 connects to them here.
func (s shownCommand) needsKernel() bool {
	line := strings.Join(s.args, " ")
	behind := slices.Index(s.args, "--")
	iperf := behind > 0 && behind+1 < len(s.args) && s.args[behind+1] == "iperf3"
	switch s.args[0] {
	case "doctor", "cc":
		return true
	case "record":
		return iperf
	case "monitor":
		return line == "monitor --once"
	case "tune":
		return iperf || line == "tune show" || line == "tune undo"
	}
	return false
}

// isEndless reports if a shown command needs root and runs until it is interrupted.
func (s shownCommand) isEndless() bool {
	line := strings.Join(s.args, " ")
	return line == "monitor" || line == "monitor --json --events" || strings.HasPrefix(line, "tune --port") ||
		strings.HasPrefix(line, "share hub")
}

// shownElsewhere are the beginnings of shown commands that no test of the documentation runs, with
// the reason. Their flags are parsed all the same.
var shownElsewhere = map[string]string{
	"cell run":                     "its shell command has several lines: cell_kernel_test.go",
	"cell status":                  "needs a running cell: cell_kernel_test.go",
	"diagnose --live":              "does not end by itself: diagnose_kernel_test.go",
	"diagnose -- curl":             "needs a web server and a file",
	"lab run quickstart":           "an experiment in real time: lab_kernel_test.go",
	"lab run share-unlike":         "an experiment in real time",
	"lab run my.yaml":              "an experiment in real time: lab_kernel_test.go",
	"lab resume":                   "needs a result: lab_kernel_test.go",
	"lab show":                     "needs a result: lab_kernel_test.go",
	"lab compare":                  "needs two results: lab_test.go",
	"monitor --metrics":            "does not end by itself: publish_kernel_test.go",
	"monitor --otlp":               "needs a collector: publish_kernel_test.go",
	"record -o call.atr --with":    "takes 30 s: record_wifi_guest_test.go",
	"record -o upload.atr --with":  "takes 30 s: with_kernel_test.go",
	"record -o upload.atr -- curl": "needs a web server and a file",
	"share run":                    "needs a terminal's interface: share_kernel_test.go",
	"share status":                 "needs an agent: share_kernel_test.go",
	"timewarp":                     "needs a module: make test-timewarp",
	"tune --netns server":          "needs a namespace of this name: tune_kernel_test.go",
}

// Every shown command runs in a test, or is listed with the reason why it does not.
func TestNoShownCommandIsLeftOut(t *testing.T) {
	used := map[string]bool{}
	for _, s := range shownCommands(t) {
		line := strings.Join(s.args, " ")
		elsewhere := ""
		for beginning := range shownElsewhere {
			if strings.HasPrefix(line, beginning) && len(beginning) > len(elsewhere) {
				elsewhere = beginning
			}
		}
		if s.runsAnywhere() || s.needsKernel() || s.isEndless() {
			continue
		}
		if elsewhere == "" {
			t.Errorf("%s: no test runs %q: let one run it, or list it with the reason", s.page, s.line)
		}
		used[elsewhere] = true
	}
	for beginning := range shownElsewhere {
		if !used[beginning] {
			t.Errorf("%q is listed, but no page shows it, or a test runs it", beginning)
		}
	}
}

// Every shown command that needs no kernel runs, in the order of its page, on a recording in the
// repository. The other commands run under the build tag "kernel".
func TestShownCommandsRun(t *testing.T) {
	recorded, err := os.ReadFile(kernelRecording)
	if err != nil {
		t.Fatal(err)
	}
	sameTransfer, err := os.ReadFile(lossyRecording(t))
	if err != nil {
		t.Fatal(err)
	}
	captured, err := os.ReadFile(lossyCapture)
	if err != nil {
		t.Fatal(err)
	}
	experiment, err := os.ReadFile("../../experiments/quickstart.yaml")
	if err != nil {
		t.Fatal(err)
	}
	byPage := map[string][]shownCommand{}
	for _, s := range shownCommands(t) {
		if s.runsAnywhere() {
			byPage[s.page] = append(byPage[s.page], s)
		}
	}
	n := 0
	for page, commands := range byPage {
		t.Run(page, func(t *testing.T) {
			t.Chdir(t.TempDir())
			for _, s := range commands {
				for _, word := range s.args {
					switch filepath.Ext(word) {
					case ".atr":
						if s.args[0] == "packets" {
							writeFile(t, word, sameTransfer)
							continue
						}
						writeFile(t, word, recorded)
					case ".pcap":
						writeFile(t, word, captured)
					case ".yaml":
						writeFile(t, word, experiment)
					}
				}
				args := slices.Clone(s.args)
				if slices.Contains([]string{"plot", "export", "packets"}, s.args[0]) && slices.Contains(s.args, "-o") {
					args = append(args, "--force") // a page may show the same output twice
				}
				for i := len(args) - 1; i > 0; i-- {
					switch {
					// The recording is not the recording of the pages, and has long pauses.
					case !slices.Contains([]string{"export", "packets"}, args[0]) &&
						slices.Contains([]string{"--from", "--to", "--speed"}, args[i-1]):
						args = slices.Delete(args, i-1, i+1)
					// An output of the system goes to this folder instead.
					case args[i-1] == "-o" && filepath.IsAbs(args[i]):
						args[i] = "absolute-" + filepath.Base(args[i])
					}
				}
				if len(args) == 4 && args[0] == "share" && args[1] == "key" && args[2] == "-o" {
					_ = os.Remove(args[3]) // a key is never replaced, and a page may make it twice
				}
				if _, stderr, status := run(t, args...); status != 0 {
					t.Errorf("%q: status %d: %s", s.line, status, stderr)
				}
				n++
			}
		})
	}
	if n < 20 {
		t.Errorf("only %d commands were run", n)
	}
}

// writeFile writes a file of the test.
func writeFile(t *testing.T, path string, data []byte) {
	t.Helper()
	if err := os.WriteFile(path, data, 0o600); err != nil {
		t.Fatal(err)
	}
}

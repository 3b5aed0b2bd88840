package main

import (
	"bytes"
	"os"
	"os/exec"
	"path/filepath"
	"runtime/debug"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"
)

const someHelp = `Run experiments over a cell

Each run is recorded. A line may begin with
.airtide, which is no request of roff.

Usage:
  airtide lab [command]

Examples:
  airtide lab run a\b

Available Commands:
  check       Check a file that describes an
              experiment
  help        Show help
  run         Run it

Flags:
  -h, --help   help for lab

Use "airtide lab [command] --help" for more information about a command.
`

func TestManPageHasTheSectionsOfTheHelp(t *testing.T) {
	h := parseHelp(someHelp)
	want := []verb{{"check", "Check a file that describes an experiment"}, {"run", "Run it"}}
	if got := h.verbs(); !slices.Equal(got, want) {
		t.Errorf("the verbs are %v", got)
	}
	page := h.page("airtide lab", "", "v1")
	at := -1
	for _, want := range []string{
		`.TH "AIRTIDE-LAB" 1 "" "airtide v1"`, ".SH NAME\nairtide-lab \\- Run experiments over a cell\n",
		".SH SYNOPSIS\n.nf\n  airtide lab [command]\n.fi\n", ".SH DESCRIPTION\n", "\n\\&.airtide, which",
		".SH EXAMPLES\n", `a\eb`, ".SH AVAILABLE COMMANDS\n", ".SH FLAGS\n", `\-h, \-\-help`,
	} {
		next := strings.Index(page, want)
		if next <= at {
			t.Errorf("%q is missing or in the wrong place of\n%s", want, page)
		}
		at = next
	}
	named := h.page("airtide lab", "Run experiments", "v1")
	if !strings.Contains(named, ".SH NAME\nairtide-lab \\- Run experiments\n") ||
		!strings.Contains(named, ".SH DESCRIPTION\n.nf\nRun experiments over a cell\n") {
		t.Errorf("the short description is not the name, or the description is cut:\n%s", named)
	}
	if strings.Contains(page, "more information") {
		t.Error("the page has the hint at --help")
	}
}

func TestPagesOfAProgram(t *testing.T) {
	folder := t.TempDir()
	program := filepath.Join(folder, "airtide")
	script := `#!/bin/sh
case "$*" in
--version) echo "airtide version v1" ;;
--help) printf 'See TCP\n\nAvailable Commands:\n  lab   Run\n' ;;
"lab --help") printf 'Run\n\nUsage:\n  airtide lab\n' ;;
"help topics") echo "units  rates and sizes" ;;
"help units") echo "rate  Mbit/s" ;;
*) exit 2 ;;
esac
`
	if err := os.WriteFile(program, []byte(script), 0o700); err != nil {
		t.Fatal(err)
	}
	out := filepath.Join(folder, "man")
	if err := run([]string{"man", program, out}); err != nil {
		t.Fatal(err)
	}
	for name, want := range map[string]string{
		"airtide.1": "See TCP", "airtide-lab.1": "airtide lab", "airtide-units.7": "rate  Mbit/s",
	} {
		text, err := os.ReadFile(filepath.Join(out, name))
		if err != nil || !strings.Contains(string(text), want) {
			t.Errorf("%s has no %q: %v", name, want, err)
		}
	}
}

// The help of airtide itself is taken apart as it should be.
func TestPagesOfAirtide(t *testing.T) {
	folder := t.TempDir()
	program := filepath.Join(folder, "airtide")
	build := exec.Command("go", "build", "-buildvcs=false", "-o", program, "../../cmd/airtide")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if err := run([]string{"man", program, folder}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"airtide.1", "airtide-fairness.1", "airtide-lab-run.1", "airtide-units.7"} {
		if _, err := os.Stat(filepath.Join(folder, name)); err != nil {
			t.Error(err)
		}
	}
	root, err := os.ReadFile(filepath.Join(folder, "airtide.1"))
	if err != nil || !strings.Contains(string(root), ".nf\n  airtide doctor    ") {
		t.Errorf("the list of verbs is not indented: %v\n%.600s", err, root)
	}
	share, err := os.ReadFile(filepath.Join(folder, "airtide-share-run.1"))
	if err != nil || !strings.Contains(string(share), `\-\-peer 192.168.1.20 \-\-peer 192.168.1.21`) {
		t.Errorf("an example is broken: %v\n%s", err, share)
	}
	pages, err := filepath.Glob(filepath.Join(folder, "airtide*.[17]"))
	if err != nil || len(pages) < 50 || len(pages) > 60 {
		t.Errorf("%d pages, %v", len(pages), err)
	}
	for _, path := range pages {
		page, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		_, page, _ = bytes.Cut(page, []byte("\n.nf\n")) // man breaks the lines before
		width := 73
		for line := range strings.Lines(string(page)) {
			if strings.HasPrefix(line, ".SH") {
				width = 73
			}
			if line == ".SH EXAMPLES\n" {
				width = 80
			}
			shown := strings.NewReplacer(`\e`, "x", `\[mc]`, "u", `\`, "").Replace(strings.TrimSuffix(line, "\n"))
			if utf8.RuneCountInString(shown) > width {
				t.Errorf("%s does not fit 80 columns: %s", filepath.Base(path), line)
			}
		}
	}
}

func TestBillOfMaterialsListsEveryModule(t *testing.T) {
	b := bomOf(&debug.BuildInfo{
		GoVersion: "go1.26.8", Main: debug.Module{Path: "airtide"},
		Deps: []*debug.Module{
			{Path: "example.org/a", Version: "v1.0.0"},
			{Path: "example.org/b", Replace: &debug.Module{Path: "example.org/c", Version: "v2.0.0"}},
		},
	})
	var purls []string
	for _, c := range b.Components {
		purls = append(purls, c.PURL)
	}
	want := []string{"pkg:golang/std@go1.26.8", "pkg:golang/example.org/a@v1.0.0", "pkg:golang/example.org/c@v2.0.0"}
	if !slices.Equal(purls, want) || b.Format != "CycloneDX" || b.Metadata.Component.Name != "airtide" {
		t.Errorf("got %+v", b)
	}
}

func TestLicencesAreFoundByName(t *testing.T) {
	folder := t.TempDir()
	if _, err := licencesIn(folder); err == nil {
		t.Error("a module without a licence is accepted")
	}
	for _, name := range []string{"LICENSE.md", "NOTICE", "license.go", "README"} {
		if err := os.WriteFile(filepath.Join(folder, name), []byte("text of "+name), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	text, err := licencesIn(folder)
	if err != nil || text != "LICENSE.md:\n\ntext of LICENSE.md\nNOTICE:\n\ntext of NOTICE\n" {
		t.Errorf("got %q, %v", text, err)
	}
}

func TestMisuseIsRefused(t *testing.T) {
	for _, args := range [][]string{nil, {"man"}, {"pdf", "a", "b"}, {"sbom", "/nonexistent", "b"}} {
		if run(args) == nil {
			t.Errorf("%v is accepted", args)
		}
	}
}

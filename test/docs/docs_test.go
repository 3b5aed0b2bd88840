// Package docs holds the tests of the documentation: links, anchors and the rules of its text.
// The commands that it shows are tested in cmd/airtide.
package docs

import (
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"unicode"
)

const root = "../.."

// pages returns the text of the pages at the top and of every page below docs, by its path from
// the repository's root.
func pages(t *testing.T) map[string]string {
	t.Helper()
	all := map[string]string{}
	read := func(path string) {
		text, err := os.ReadFile(filepath.Join(root, path))
		if err != nil {
			t.Fatal(err)
		}
		all[path] = string(text)
	}
	for _, top := range []string{"README.md", "CONTRIBUTING.md", "SECURITY.md"} {
		read(top)
	}
	err := filepath.WalkDir(filepath.Join(root, "docs"), func(path string, _ fs.DirEntry, err error) error {
		if err == nil && filepath.Ext(path) == ".md" {
			relative, _ := filepath.Rel(root, path)
			read(relative)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

var (
	fence    = regexp.MustCompile("(?ms)^```.*?^```$")
	code     = regexp.MustCompile("`[^`\n]*`")
	link     = regexp.MustCompile(`\]\(([^)\s]+)\)`)
	heading  = regexp.MustCompile(`(?m)^#+ (.*)$`)
	linkText = regexp.MustCompile(`\[([^\]]*)\]\([^)]*\)`)
)

// anchors returns the anchors that GitHub gives to the headings of a page.
func anchors(text string) map[string]bool {
	all := map[string]bool{}
	for _, m := range heading.FindAllStringSubmatch(fence.ReplaceAllString(text, ""), -1) {
		title := strings.ToLower(linkText.ReplaceAllString(m[1], "$1"))
		all[strings.Map(func(r rune) rune {
			switch {
			case r == ' ':
				return '-'
			case r == '-' || r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r):
				return r
			}
			return -1
		}, title)] = true
	}
	return all
}

func TestLinksLeadSomewhere(t *testing.T) {
	all := pages(t)
	for path, text := range all {
		for _, m := range link.FindAllStringSubmatch(code.ReplaceAllString(fence.ReplaceAllString(text, ""), ""), -1) {
			if strings.Contains(m[1], "://") {
				continue
			}
			target, anchor, _ := strings.Cut(m[1], "#")
			to := path
			if target != "" {
				to = filepath.Join(filepath.Dir(path), target)
			}
			if _, err := os.Stat(filepath.Join(root, to)); err != nil {
				t.Errorf("%s: %s leads nowhere", path, m[1])
			} else if anchor != "" && !anchors(all[to])[anchor] {
				t.Errorf("%s: %s has no heading #%s", path, to, anchor)
			}
		}
	}
}

// Every page is reached from the index, page by page.
func TestEveryPageIsReached(t *testing.T) {
	all := pages(t)
	reached := map[string]bool{}
	var follow func(string)
	follow = func(path string) {
		if reached[path] || all[path] == "" {
			return
		}
		reached[path] = true
		for _, m := range link.FindAllStringSubmatch(all[path], -1) {
			target, _, _ := strings.Cut(m[1], "#")
			follow(filepath.Join(filepath.Dir(path), target))
		}
	}
	follow("docs/index.md")
	for path := range all {
		if !reached[path] && strings.HasPrefix(path, "docs/") {
			t.Errorf("no link leads from docs/index.md to %s", path)
		}
	}
}

// shownPath matches a path of the repository. A star stands for any name.
var shownPath = regexp.MustCompile(
	"`((?:internal|cmd|bpf|kmod|test|scripts|experiments|packaging|docs)/[A-Za-z0-9_./*-]+)`")

// A file or folder that a page names exists.
func TestNamedFilesExist(t *testing.T) {
	found := 0
	for path, text := range pages(t) {
		for _, m := range shownPath.FindAllStringSubmatch(text, -1) {
			found++
			if there, err := filepath.Glob(filepath.Join(root, m[1])); err != nil || len(there) == 0 {
				t.Errorf("%s names %s, which does not exist", path, m[1])
			}
		}
	}
	if found < 30 {
		t.Errorf("only %d names were found", found)
	}
}

var paperCode = regexp.MustCompile(`\bP[1-5]\b`)

// The short codes of the papers are for docs/papers.md. Names of experiments such as p4-fig8 are no
// codes.
func TestPapersAreNamed(t *testing.T) {
	for path, text := range pages(t) {
		if path != "docs/papers.md" {
			for i, line := range strings.Split(text, "\n") {
				if paperCode.MatchString(line) {
					t.Errorf("%s:%d names a paper by its code: %s", path, i+1, line)
				}
			}
		}
	}
}

// Prose has at most 100 columns. Headings, tables, code, pictures and generated parts may be
// longer.
func TestProseIsNarrow(t *testing.T) {
	generated := regexp.MustCompile(`(?s)<!-- \S+ begin.*?-->.*?<!-- \S+ end -->`)
	for path, text := range pages(t) {
		prose := fence.ReplaceAllStringFunc(generated.ReplaceAllStringFunc(text, blank), blank)
		for i, line := range strings.Split(prose, "\n") {
			if n := len([]rune(line)); n > 100 && !wide.MatchString(line) {
				t.Errorf("%s:%d has %d columns", path, i+1, n)
			}
		}
	}
}

// wide matches lines of Markdown that may be longer than prose.
var wide = regexp.MustCompile(`^(\||#|    |!\[)`)

// blank keeps the lines of a text and drops the rest.
func blank(text string) string { return strings.Repeat("\n", strings.Count(text, "\n")) }

func TestDocumentationIsEnglish(t *testing.T) {
	for path, text := range pages(t) {
		for i, line := range strings.Split(text, "\n") {
			for _, r := range line {
				if unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana) {
					t.Errorf("%s:%d is not in English", path, i+1)
					break
				}
			}
		}
	}
}

// Experiments print English: the original words of a paper stand in comments. Outside of the
// papers' folder, where the names of files begin with the codes, nothing names a paper by its code.
func TestExperimentsPrintEnglish(t *testing.T) {
	files, err := filepath.Glob(filepath.Join(root, "experiments/*/*.yaml"))
	if err != nil || len(files) < 40 {
		t.Fatalf("%d experiments (%v)", len(files), err)
	}
	for _, path := range append(files, filepath.Join(root, "experiments/quickstart.yaml")) {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		for i, line := range strings.Split(string(text), "\n") {
			value := line
			comment := strings.HasPrefix(strings.TrimSpace(line), "#")
			if !comment && strings.IndexFunc(value, func(r rune) bool {
				return unicode.In(r, unicode.Han, unicode.Hiragana, unicode.Katakana)
			}) >= 0 {
				t.Errorf("%s:%d prints Japanese", path, i+1)
			}
			if paperCode.MatchString(line) {
				t.Errorf("%s:%d names a paper by its code: %s", path, i+1, line)
			}
			quoted := strings.Contains(line, "「") || strings.Contains(line, "Made by go generate")
			if comment && !quoted && len([]rune(line)) > 100 {
				t.Errorf("%s:%d has %d columns", path, i+1, len([]rune(line)))
			}
		}
	}
}

// A guide of a verb begins with a command of that verb.
func TestGuidesBeginWithACommand(t *testing.T) {
	for path, text := range pages(t) {
		folder, name := filepath.Split(path)
		verb := strings.TrimSuffix(name, ".md")
		if folder != "docs/guide/" || slices.Contains([]string{"devices", "getting-started", "symptoms"}, verb) {
			continue
		}
		if !strings.HasPrefix(text, "# airtide "+verb+": ") {
			t.Errorf("%s does not begin with its verb", path)
		}
		_, rest, _ := strings.Cut(text, "\n")
		if !strings.HasPrefix(rest, "\n```\n$ airtide "+verb) {
			t.Errorf("%s does not show a command first", path)
		}
	}
}

var pagePath = regexp.MustCompile(`\bdocs/[a-z0-9/-]+\.md\b`)

// Comments, help texts and experiments point to existing pages.
func TestSourcesPointToExistingPages(t *testing.T) {
	found := 0
	err := filepath.WalkDir(root, func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		name := d.Name()
		if d.IsDir() {
			if path != root && (strings.HasPrefix(name, ".") || name == "docs" ||
				name == "results" || name == "dist") {
				return filepath.SkipDir
			}
			return nil
		}
		switch filepath.Ext(name) {
		case ".go", ".c", ".h", ".py", ".yaml", ".yml", ".service", "":
		default:
			return nil
		}
		if info, err := d.Info(); err != nil || info.Size() > 1<<20 || !info.Mode().IsRegular() {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		for _, page := range pagePath.FindAllString(string(text), -1) {
			found++
			if _, err := os.Stat(filepath.Join(root, page)); err != nil {
				t.Errorf("%s points to %s, which does not exist", path, page)
			}
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if found < 30 {
		t.Errorf("only %d references were found", found)
	}
}

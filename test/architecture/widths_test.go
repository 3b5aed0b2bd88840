package architecture

import (
	"bytes"
	"fmt"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"
)

// A tab counts as four columns.
const (
	codeColumns  = 120
	proseColumns = 100 // comments and Markdown
)

func TestLinesAreNotTooWide(t *testing.T) {
	for _, path := range sources(t) {
		for _, line := range wideLines(path, readFile(t, filepath.Join(root, path))) {
			t.Error(line)
		}
	}
}

// sources are the paths of all files whose widths are held, below the top of the repository.
func sources(t *testing.T) (paths []string) {
	t.Helper()
	err := filepath.WalkDir(root, func(path string, entry fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		path, err = filepath.Rel(root, path)
		if err != nil {
			return err
		}
		if entry.IsDir() {
			// Test data is output of other programs. The other folders are made by make, ignored
			// by git except docs/results.
			switch entry.Name() {
			case ".git", ".venv", "testdata", "LICENSES", "node_modules":
				return fs.SkipDir
			}
			switch path {
			case "results", "dist", "demo-out", "kernels-out", "docs/results":
				return fs.SkipDir
			}
			return nil
		}
		if kind(path) != none && entry.Type().IsRegular() {
			paths = append(paths, path)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

type language int

const (
	none language = iota
	golang
	c
	shell // and make
	yaml
	markdown
)

func kind(path string) language {
	switch base := filepath.Base(path); {
	case strings.Contains(base, "_bpfel."):
		return none // generated
	case strings.HasSuffix(base, ".go"):
		return golang
	case strings.HasSuffix(base, ".c"), strings.HasSuffix(base, ".h"):
		return c
	case strings.HasSuffix(base, ".yml"), strings.HasSuffix(base, ".yaml"):
		return yaml
	case strings.HasSuffix(base, ".md"):
		return markdown
	case base == "Makefile", strings.HasPrefix(path, "scripts/") && !strings.Contains(base, "."),
		strings.HasPrefix(path, ".ci/"):
		return shell
	}
	return none
}

// wideLines names the lines of a file that are too wide. A line of a single word, such as a link,
// cannot be broken.
func wideLines(path string, content []byte) (found []string) {
	language := kind(path)
	var comments map[int]bool
	switch language {
	case none:
		return nil
	case golang:
		comments = commentLines(path, content)
	}
	block, fence := false, false
	for i, line := range strings.Split(string(content), "\n") {
		text := strings.TrimSpace(line)
		limit := codeColumns
		switch language {
		case golang:
			if strings.HasPrefix(text, "//go:") || strings.HasSuffix(text, "\"`") { // a struct's tag is one line
				continue
			}
			if comments[i+1] {
				limit = proseColumns
			}
		case c:
			block = block || strings.HasPrefix(text, "/*")
			if block || strings.HasPrefix(text, "//") {
				limit = proseColumns
			}
			block = block && !strings.Contains(text, "*/")
		case shell:
			if strings.HasPrefix(text, "#") {
				limit = proseColumns
			}
		case yaml:
			// Other lines are data, and a quotation in its original language is one line.
			if !strings.HasPrefix(text, "#") || strings.Contains(text, "「") {
				continue
			}
			limit = proseColumns
		case markdown:
			if strings.HasPrefix(text, "```") {
				fence = !fence
			}
			if fence || strings.HasPrefix(text, "|") { // a table's row is one line
				continue
			}
			limit = proseColumns
		}
		words := strings.Fields(strings.TrimLeft(text, "/*#->"))
		if width := columns(line); width > limit && (limit == codeColumns || len(words) > 1) {
			found = append(found, fmt.Sprintf("%s:%d: %d columns of at most %d", path, i+1, width, limit))
		}
	}
	return found
}

// commentLines are the numbers of the lines of a Go file that hold a comment and nothing else.
func commentLines(path string, content []byte) map[int]bool {
	files := token.NewFileSet()
	lines := map[int]bool{}
	f, err := parser.ParseFile(files, path, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return lines // the compiler says it better
	}
	for _, group := range f.Comments {
		for _, comment := range group.List {
			from, to := files.Position(comment.Pos()), files.Position(comment.End())
			start := from.Offset - (from.Column - 1)
			if len(bytes.TrimSpace(content[start:from.Offset])) > 0 {
				from.Line++ // it begins behind code
			}
			for line := from.Line; line <= to.Line; line++ {
				lines[line] = true
			}
		}
	}
	return lines
}

// columns of a line: characters, and four for each tab.
func columns(line string) int {
	return utf8.RuneCountInString(line) + 3*strings.Count(line, "\t")
}

func TestWideLinesAreFound(t *testing.T) {
	long := strings.Repeat("word ", 21) // 105 columns
	longer := strings.Repeat("word ", 25)
	for _, test := range []struct {
		path, content string
		line          int // 0 if nothing is too wide
	}{
		{"a.go", "package a\n\n// " + long + "\nvar a int\n", 3},
		{"a.go", "package a\n\n/*\n" + long + "\n*/\nvar a int\n", 4},
		{"a.go", "package a\n\nvar a int // " + long + "\n", 0},
		{"a.go", "package a\n\nvar a int // " + longer + "\n", 3},
		{"a.go", "package a\n\nconst a = `\n// " + long + "\n`\n", 0},
		{"a.go", "package a\n\n// https://" + strings.Repeat("a", 110) + "\nvar a int\n", 0},
		{"a.go", "package a\n\n//go:generate " + longer + "\n", 0},
		{"a.go", "package a\n\nfunc a() {\n" + strings.Repeat("\t", 28) + "return // why\n}\n", 4},
		{"a_bpfel.go", "package a\n\n// " + longer + "\n", 0},
		{"a.c", "/* first\n * " + long + "\n */\n", 2},
		{"a.c", "int a; // " + long + "\n", 0},
		{"Makefile", "# " + long + "\n", 1},
		{"scripts/demo", "echo " + long + "\n", 0},
		{"scripts/demo", "echo " + longer + "\n", 1},
		{"a.yaml", "a: 1\n  # " + long + "\n", 2},
		{"a.yaml", "# 「" + long + "」\na: " + longer + "\n", 0},
		{"a.md", long + "\n", 1},
		{"a.md", "| " + long + " |\n", 0},
		{"a.md", "```\n" + longer + "\n```\n", 0},
	} {
		found := strings.Join(wideLines(test.path, []byte(test.content)), "; ")
		want := ""
		if test.line > 0 {
			want = fmt.Sprintf("%s:%d: ", test.path, test.line)
		}
		if want == "" && found != "" || !strings.HasPrefix(found, want) {
			t.Errorf("%s, %q: found %q, want %q", test.path, test.content, found, want)
		}
	}
}

package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"strings"
	"testing"
)

// misnamed lists the comments of functions and types in a file that begin with another name.
func misnamed(path string, source []byte) (found []string, err error) {
	files := token.NewFileSet()
	if strings.HasSuffix(path, "_test.go") {
		return nil, nil // their comments tell behaviour
	}
	f, err := parser.ParseFile(files, path, source, parser.ParseComments)
	if err != nil || ast.IsGenerated(f) {
		return nil, err
	}
	check := func(doc *ast.CommentGroup, name string) {
		text := doc.Text()
		for _, article := range []string{"A ", "An ", "The "} {
			text = strings.TrimPrefix(text, article)
		}
		if text != "" && !strings.HasPrefix(text, name) {
			line, _, _ := strings.Cut(text, "\n")
			found = append(found, files.Position(doc.Pos()).String()+": "+name+": "+line)
		}
	}
	for _, decl := range f.Decls {
		switch d := decl.(type) {
		case *ast.FuncDecl:
			check(d.Doc, d.Name.Name)
		case *ast.GenDecl:
			for _, spec := range d.Specs {
				if s, ok := spec.(*ast.TypeSpec); ok && !d.Lparen.IsValid() {
					check(d.Doc, s.Name.Name)
				}
			}
		}
	}
	return found, nil
}

// A comment begins with the name that it explains. Renaming leaves the old name behind.
func TestCommentsBeginWithTheName(t *testing.T) {
	if n := checkFiles(t, misnamed); n < 500 {
		t.Errorf("only %d files were checked", n)
	}
	found, err := misnamed("a.go", []byte("package a\n\n// u64 reads.\nfunc readU64() {}\n\n// A b is.\ntype b int\n"))
	if err != nil || len(found) != 1 {
		t.Errorf("of a stale and a good comment it finds %v, %v", found, err)
	}
}

package architecture

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// guarded are the functions and variables that only the places of openers may use. Files of users
// are opened and written by internal/sys/file, which neither waits nor follows links. Text, CSV and
// JSON go through internal/units and internal/view/terminal, which remove control characters.
var guarded = map[string][]string{
	"os": {
		"ReadFile", "Open", "OpenFile", "Create", "WriteFile", "CreateTemp", "OpenRoot", "DirFS", "Stdout", "Stderr",
	},
	"io/ioutil":    {"ReadFile", "WriteFile", "TempFile"},
	"fmt":          {"Print", "Printf", "Println"},
	"encoding/csv": {"NewWriter"},
	"log":          {"Print", "Printf", "Println", "Fatal", "Fatalf", "Fatalln"},
}

// openers are the files and folders whose guarded names are meant, each with the reason. A path of
// the kernel that is written in the call needs no entry.
var openers = map[string]string{
	"cmd/airtide/main.go":                    "it gives the streams to the terminal",
	"internal/cell/engine/process.go":        "the pipe to the program that started the engine",
	"internal/doctor/kernel.go":              "the configuration of the kernel below /boot and /lib/modules",
	"internal/doctor/machine.go":             "files of the kernel",
	"internal/kernel/congestion/holders.go":  "files below /proc and /run/netns",
	"internal/kernel/sockets/owner/group.go": "a folder of cgroups",
	"internal/kernel/timewarp/":              "files of the kernel module, its build and its own state; root's alone",
	"internal/kernel/tune/":                  "files of the kernel, and the locks of its own folder in /run",
	"internal/lab/machine/":                  "files of the kernel, and outputs of programs in a folder of its own",
	"internal/lab/run/":                      "outputs in the folder of a run that it has made",
	"internal/lab/workload/":                 "inputs and outputs of programs in a folder of its own",
	"internal/share/cellkey/file.go":         "a new key is never written over a file",
	"internal/share/rwnd/device.go":          "a namespace",
	"internal/sys/":                          "the openers themselves, locks, and files of the kernel",
	"internal/units/csv.go":                  "the writer of CSV",
	"internal/view/screen/observe.go":        "the standard output of tests and examples without a terminal",
	"internal/vm/":                           "files of a guest and its kernel, in folders of root",
}

// guardedUses are the places of a file that use guarded names.
func guardedUses(files *token.FileSet, f *ast.File) (found []string) {
	names := map[string]string{} // what the file calls a package
	for _, i := range f.Imports {
		path := strings.Trim(i.Path.Value, `"`)
		name := filepath.Base(path)
		if i.Name != nil {
			name = i.Name.Name
		}
		names[name] = path
	}
	ofKernel := map[ast.Node]bool{} // functions that are called with a path of the kernel
	ast.Inspect(f, func(n ast.Node) bool {
		if call, ok := n.(*ast.CallExpr); ok && len(call.Args) > 0 && beginsInKernel(call.Args[0]) {
			ofKernel[call.Fun] = true
		}
		if s, ok := n.(*ast.SelectorExpr); ok && !ofKernel[s] {
			x, ok := s.X.(*ast.Ident)
			if ok && x.Obj == nil && slices.Contains(guarded[names[x.Name]], s.Sel.Name) {
				found = append(found, fmt.Sprintf("%s: %s.%s", files.Position(n.Pos()), x.Name, s.Sel.Name))
			}
		}
		return true
	})
	return found
}

// beginsInKernel reports whether a path is written as one below /proc or /sys: as a text, or as the
// first part of a format or of filepath.Join.
func beginsInKernel(path ast.Expr) bool {
	switch path := path.(type) {
	case *ast.BasicLit:
		text := strings.Trim(path.Value, "\"`")
		return text == "/proc" || strings.HasPrefix(text, "/proc/") || strings.HasPrefix(text, "/sys/")
	case *ast.BinaryExpr:
		return beginsInKernel(path.X)
	case *ast.CallExpr:
		return len(path.Args) > 0 && beginsInKernel(path.Args[0])
	}
	return false
}

// reasonFor returns the key of openers that holds for a file, or "".
func reasonFor(path string) string {
	for key := range openers {
		if path == key || strings.HasSuffix(key, "/") && strings.HasPrefix(path, key) {
			return key
		}
	}
	return ""
}

func TestFilesAreOpenedAndTextsPrintedInOnePlace(t *testing.T) {
	unused := maps.Clone(openers)
	check := func(path string, entry fs.DirEntry, err error) error {
		if err != nil || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return err
		}
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, path, nil, 0)
		if err != nil {
			return err
		}
		uses := guardedUses(files, f)
		if len(uses) == 0 {
			return nil
		}
		path, err = filepath.Rel(root, path)
		if err != nil {
			return err
		}
		key := reasonFor(path)
		if key == "" {
			t.Errorf("%s: use internal/sys/file, units or view/terminal instead", strings.Join(uses, ", "))
		}
		delete(unused, key)
		return nil
	}
	for _, folder := range []string{"cmd", "internal"} {
		if err := filepath.WalkDir(filepath.Join(root, folder), check); err != nil {
			t.Fatal(err)
		}
	}
	for key := range unused {
		t.Errorf("%s no longer needs its exception", key)
	}
}

func TestGuardedUsesAreFound(t *testing.T) {
	for source, want := range map[string]string{
		`import "os"; var _, _ = os.ReadFile("a")`:                           "os.ReadFile",
		`import sys "os"; var _, _ = sys.Create("a")`:                        "sys.Create",
		`import "fmt"; func f() { fmt.Println("a") }`:                        "fmt.Println",
		`import "encoding/csv"; var _ = csv.NewWriter(nil)`:                  "csv.NewWriter",
		`import "os"; var _, _ = os.Open("/proc/" + name)`:                   "",
		`import "os"; var _, _ = os.Open("/process")`:                        "os.Open",
		`import "os"; var _, _ = os.Open(fmt.Sprintf("/proc/%d/stat", pid))`: "",
		`import "os"; var _, _ = os.Stat("a")`:                               "",
		`import "airtide/x/os"; var _, _ = os.ReadFile("a")`:                 "",
		`import "os"; func f(os struct{ Open int }) { os.Open }`:             "",
	} {
		files := token.NewFileSet()
		f, err := parser.ParseFile(files, "a.go", "package a\n"+source, 0)
		if err != nil {
			t.Fatal(err)
		}
		found := strings.Join(guardedUses(files, f), "; ")
		if want == "" && found != "" || !strings.HasSuffix(found, want) {
			t.Errorf("%s: found %q, want %q", source, found, want)
		}
	}
}

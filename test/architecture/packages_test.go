// Package architecture holds what the linter cannot: generated code, packages that know no clock, and a base without I/O.
// Which package may import which stands in .golangci.yml.
package architecture

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os/exec"
	"testing"
)

type goPackage struct {
	ImportPath string
	Imports    []string
}

func listPackages(t *testing.T) []goPackage {
	t.Helper()
	cmd := exec.Command("go", "list", "-json=ImportPath,Imports", "airtide/...")
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("listing packages: %v", err)
	}
	var all []goPackage
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p goPackage
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("reading go list: %v", err)
		}
		all = append(all, p)
	}
}

func TestTheBaseDoesNoInputOrOutput(t *testing.T) {
	for _, p := range listPackages(t) {
		if p.ImportPath != "airtide/internal/tcp" {
			continue
		}
		for _, imported := range p.Imports {
			switch imported {
			case "os", "io", "net", "syscall", "golang.org/x/sys/unix":
				t.Errorf("package tcp imports %s", imported)
			}
		}
	}
}

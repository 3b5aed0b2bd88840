package main

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
)

// programs are the static ones that a guest gets.
type programs struct {
	airtide string
	tests   map[string]string // name in the steps to path
}

// testPackages are those whose tests are run in guests.
var testPackages = map[string]string{
	"bpf": "./internal/observe/bpf", "diag": "./internal/observe/diag", "tune": "./internal/kernel/tune",
	"congestion": "./internal/kernel/congestion", "share": "./internal/share",
	"timewarp": "./internal/kernel/timewarp", "engine": "./internal/cell/engine", "cell": "./internal/cell",
}

// needed are the test programs of rows.
func needed(rows *regexp.Regexp) map[string]bool {
	names := map[string]bool{}
	for _, p := range parts {
		for _, s := range p.steps {
			names[s.tests] = names[s.tests] || rows.MatchString(p.name)
		}
	}
	return names
}

// build builds them for an architecture, and of the tests those that rows need. They have no
// symbols, which would only fill the guests' memory.
func build(ctx context.Context, folder, architecture string, s settings) (programs, error) {
	p := programs{airtide: filepath.Join(folder, "airtide"), tests: map[string]string{}}
	if err := goBuild(ctx, s, architecture, "build", p.airtide, "./cmd/airtide"); err != nil {
		return p, err
	}
	names := needed(s.rows)
	for name, pkg := range testPackages {
		if !names[name] {
			continue
		}
		p.tests[name] = filepath.Join(folder, name+".test")
		if err := goBuild(ctx, s, architecture, "test", p.tests[name], pkg); err != nil {
			return p, err
		}
	}
	return p, nil
}

func goBuild(ctx context.Context, s settings, architecture, verb, to, pkg string) error {
	if _, err := os.Stat(to); err == nil && s.built {
		return nil
	}
	args := []string{verb, "-trimpath", "-ldflags", "-s -w", "-o", to}
	if verb == "test" {
		args = append(args, "-c", "-tags", "kernel")
	}
	c := exec.CommandContext(ctx, "go", append(args, pkg)...)
	c.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS=linux", "GOARCH="+architecture)
	if text, err := c.CombinedOutput(); err != nil {
		return fmt.Errorf("building %s for %s: %w: %s", pkg, architecture, err, text)
	}
	return nil
}

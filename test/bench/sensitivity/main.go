// Command sensitivity changes the constants of the sharing agent's control by a quarter, one after
// the other, and writes docs/results/share-sensitivity.md: which tests and recorded traces notice.
package main

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"

	"airtide/test/bench/benchtext"
)

// folder is the package whose constants are changed.
const folder = "internal/share/control"

func main() {
	page := flag.String("page", "docs/results/share-sensitivity.md", "the page that is written")
	only := flag.String("only", "", "constants with names that match this regular expression")
	tests := flag.String("tests", "", "run only the tests that match this regular expression")
	flag.Parse()
	benchtext.Run("sensitivity", func(ctx context.Context) error { return run(ctx, *page, *only, *tests) })
}

func run(ctx context.Context, page, only, tests string) error {
	chosen, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	all, err := constants(folder)
	if err != nil {
		return err
	}
	work, err := os.MkdirTemp("", "sensitivity")
	if err != nil {
		return err
	}
	defer os.RemoveAll(work)
	suite := suite{only: tests, work: work}
	if failed, err := suite.run(ctx, nil); err != nil || len(failed) > 0 {
		return fmt.Errorf("without a change: %q fail: %w", failed, err)
	}
	var rows []row
	for _, c := range all {
		if !chosen.MatchString(c.name) {
			continue
		}
		r := row{constant: c}
		for _, r.factor = range factors {
			r.failed, err = c.try(ctx, suite, r.factor)
			if err != nil {
				return fmt.Errorf("%s times %g: %w", c.name, r.factor, err)
			}
			if len(r.failed) > 0 {
				break
			}
		}
		fmt.Fprintf(os.Stderr, "%s times %g: %d tests\n", c.name, r.factor, len(r.failed))
		rows = append(rows, r)
	}
	var b bytes.Buffer
	write(&b, rows)
	return os.WriteFile(page, b.Bytes(), 0o644)
}

// try runs the tests with the constant times a factor, and returns those that fail.
func (c *constant) try(ctx context.Context, s suite, factor float64) ([]string, error) {
	changed := filepath.Join(s.work, "changed.go")
	if err := os.WriteFile(changed, c.times(factor), 0o644); err != nil {
		return nil, err
	}
	path, err := filepath.Abs(c.path)
	if err != nil {
		return nil, err
	}
	return s.run(ctx, map[string]string{path: changed})
}

// skipped are tests with thousands of random cells. They take ten times as long as all others.
const skipped = "TestOutputsFollowFromInputs|TestBounds"

// slow are tests that take longer than all others together. They run if no other test fails.
const slow = "TestLiarsTakeNobodyBelowTheFloor|TestCellsDoNotDependOnTheTime"

// failing is a line of go test about a test or subtest that fails.
var failing = regexp.MustCompile(`(?m)^\s*--- FAIL: (\S+)`)

// suite are the package's tests. They are built in the folder work. If only is not empty, those
// that match this regular expression run.
type suite struct {
	only string
	work string
}

// run builds the tests with files replaced, runs them, and returns those that fail. A test that
// panics ends the others, and counts alone.
func (s suite) run(ctx context.Context, replace map[string]string) (failed []string, err error) {
	overlay, err := json.Marshal(map[string]any{"Replace": replace})
	if err != nil {
		return nil, err
	}
	overlayPath := filepath.Join(s.work, "overlay.json")
	binary := filepath.Join(s.work, "control.test")
	if err := os.WriteFile(overlayPath, overlay, 0o644); err != nil {
		return nil, err
	}
	build := exec.CommandContext(ctx, "go", "test", "-c", "-vet=off", "-ldflags=-s -w",
		"-overlay", overlayPath, "-o", binary, "./"+folder)
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("%w: %s", err, out)
	}
	stages := [][]string{
		{"-test.skip", "^(" + skipped + "|" + slow + ")$"},
		{"-test.run", "^(" + slow + ")$"},
	}
	if s.only != "" {
		stages = [][]string{{"-test.run", s.only}}
	}
	for _, which := range stages {
		tests := exec.CommandContext(ctx, binary, append(which, "-test.timeout", "5m")...)
		tests.Dir = folder
		out, err := tests.CombinedOutput()
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		for _, m := range failing.FindAllSubmatch(out, -1) {
			failed = append(failed, string(m[1]))
		}
		if err != nil && len(failed) == 0 {
			return nil, fmt.Errorf("%w: %s", err, out)
		}
		if len(failed) > 0 {
			break
		}
	}
	slices.Sort(failed)
	return slices.Compact(failed), nil
}

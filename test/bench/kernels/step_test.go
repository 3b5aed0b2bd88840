package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestWhatTestsSay(t *testing.T) {
	got := readTests(`=== RUN   TestAll
=== RUN   TestAll/one
    some_test.go:12: it is 3
--- FAIL: TestAll (0.50s)
    --- PASS: TestAll/two (0.10s)
    --- FAIL: TestAll/one (0.10s)
=== RUN   TestNot
    other_test.go:7: this kernel has no BBR
--- SKIP: TestNot (0.00s)
=== RUN   TestOld
--- SKIP: TestOld (0.00s)
    other_test.go:9: needs Linux 6.4
--- PASS: TestGood (1.00s)
FAIL
`)
	if got.passed != 2 || !slices.Equal(got.failed, []string{"TestAll/one"}) {
		t.Errorf("%d passed, %v failed", got.passed, got.failed)
	}
	if want := []string{"TestNot: this kernel has no BBR", "TestOld: needs Linux 6.4"}; !slices.Equal(got.skipped,
		want) {
		t.Errorf("skipped are %q, want %q", got.skipped, want)
	}
}

func TestVersionsAreCompared(t *testing.T) {
	for _, c := range []struct {
		release, version string
		want             bool
	}{
		{"6.12.38+deb12-cloud-amd64", "6.4", true},
		{"6.1.0-56-cloud-arm64", "6.4", false},
		{"6.4.0", "6.4", true},
		{"5.10.0-46-cloud-amd64", "5.16", false},
		{"7.1-cloud-amd64", "6.9", true},
	} {
		if got := atLeast(c.release, c.version); got != c.want {
			t.Errorf("%s is at least %s: %t", c.release, c.version, got)
		}
	}
}

// Each step does one thing, and its programs are built.
func TestPartsAreWhole(t *testing.T) {
	names := map[string]bool{}
	for _, p := range parts {
		if names[p.name] {
			t.Errorf("two rows are named %q", p.name)
		}
		names[p.name] = true
		if len(p.steps) == 0 {
			t.Errorf("%s has no steps", p.name)
		}
		for _, s := range slices.Concat(p.steps, p.refused) {
			if (s.script == "") == (s.tests == "") {
				t.Errorf("%s: a step is either a script or tests: %+v", p.name, s)
			}
			if _, known := testPackages[s.tests]; s.tests != "" && !known {
				t.Errorf("%s: there are no tests named %s", p.name, s.tests)
			}
		}
	}
}

// A test that was renamed would silently no longer run in the guests.
func TestNamedTestsExist(t *testing.T) {
	sources := map[string]string{} // package to source text
	for name, folder := range testPackages {
		files, err := filepath.Glob(filepath.Join("../../..", folder, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Fatalf("%s has no tests: %v", folder, err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			sources[name] += string(text)
		}
	}
	for _, p := range parts {
		for _, s := range slices.Concat(p.steps, p.refused) {
			if s.tests != "" && len(s.run) == 0 {
				t.Errorf("%s: no test of %s is named", p.name, s.tests)
			}
			for _, missing := range missingTests(sources[s.tests], s.run) {
				t.Errorf("%s: package %s has no test or subtest %s", p.name, testPackages[s.tests], missing)
			}
		}
	}
}

func TestMissingTestsAreFound(t *testing.T) {
	source := `func TestHere(t *testing.T) { for _, name := range []string{"by the kernel"} {`
	run := []string{"TestHere", "TestThere", "TestHere/(by_the_kernel$|elsewhere)", "TestHer"}
	if got := missingTests(source, run); !slices.Equal(got, []string{"TestThere", "elsewhere", "TestHer"}) {
		t.Errorf("missing: %q", got)
	}
	s := step{run: []string{"TestA", "TestB/(x|y)"}}
	if got := s.pattern(); got != "^TestA$|^TestB$/(x|y)" {
		t.Errorf("pattern %s", got)
	}
}

// missingTests are the tests and the names of subtests that the source of a package lacks.
func missingTests(source string, run []string) (missing []string) {
	for _, test := range run {
		name, subtests, found := strings.Cut(test, "/")
		if !strings.Contains(source, "func "+name+"(t *testing.T)") {
			missing = append(missing, name)
		}
		if !found {
			continue
		}
		for subtest := range strings.SplitSeq(strings.Trim(subtests, "^()$"), "|") {
			name := strings.Trim(subtest, "^$") // spaces have become underscores
			if !strings.Contains(source, name) && !strings.Contains(source, strings.ReplaceAll(name, "_", " ")) {
				missing = append(missing, subtest)
			}
		}
	}
	return missing
}

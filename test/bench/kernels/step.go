package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"time"

	"airtide/internal/vm"
	"airtide/test/bench/benchtext"
)

// step is something that is tried in a guest: a script, or tests of a package.
type step struct {
	script string
	// tests is the name of a package's test program. run names the tests to run; behind a slash
	// stands a regular expression of subtests.
	tests string
	run   []string
	env   []string
	// says are regular expressions that the output has to match.
	says []string
	// fails means that the step must be refused: with a status other than 0.
	fails bool
	limit time.Duration // 0 means usualLimit
}

// usualLimit bounds the time of a step. It is long, because emulation is slow and the machine may
// be busy.
const usualLimit = 10 * time.Minute

// do runs the step and returns the skipped tests with the reasons. An error is a failure.
func (s *step) do(ctx context.Context, g *vm.Guest, log *os.File) (skipped []string, err error) {
	limit := s.limit
	if limit == 0 {
		limit = usualLimit
	}
	script := s.script
	if s.tests != "" {
		// The limit is of real time, which a test of accelerated time does not tell.
		script = fmt.Sprintf("exec %s%s -test.v -test.short -test.timeout 0 -test.run '%s'", testsFolder, s.tests,
			s.pattern())
	}
	fmt.Fprintf(log, "\n# %s\n", strings.TrimSpace(script))
	began := time.Now()
	env := append([]string{"AIRTIDE_TIMEWARP_MODULE=" + fmt.Sprintf(moduleFile, g.Release)}, s.env...)
	said, err := shell(ctx, g, script, env, limit, log)
	fmt.Fprintf(log, "# %s: %v\n", time.Since(began).Round(time.Second), err)
	var status *vm.ExitError
	if err != nil && !errors.As(err, &status) {
		return nil, err
	}
	if s.tests != "" {
		t := readTests(said)
		switch {
		case len(t.failed) > 0:
			return t.skipped, fmt.Errorf("%s fail", strings.Join(t.failed, ", "))
		case err != nil:
			return t.skipped, fmt.Errorf("the tests of %s end with %w: %s", s.tests, status, benchtext.LastLine(said))
		case t.passed == 0:
			return t.skipped, fmt.Errorf("no test of %s was run", s.tests)
		}
		return t.skipped, nil
	}
	switch {
	case s.fails && err == nil:
		return nil, fmt.Errorf("%s is not refused", oneLine(script))
	case !s.fails && err != nil:
		return nil, fmt.Errorf("%s: %w: %s", oneLine(script), status, benchtext.LastLine(said))
	}
	for _, want := range s.says {
		if !regexp.MustCompile("(?m)" + want).MatchString(said) {
			return nil, fmt.Errorf("%s does not say %q but: %s", oneLine(script), want, benchtext.LastLine(said))
		}
	}
	return nil, nil
}

// pattern is the value of -test.run.
func (s *step) pattern() string {
	var all []string
	for _, test := range s.run {
		name, subtests, found := strings.Cut(test, "/")
		name = "^" + name + "$"
		if found {
			name += "/" + subtests
		}
		all = append(all, name)
	}
	return strings.Join(all, "|")
}

// tests is the outcome of tests.
type tests struct {
	passed          int
	failed, skipped []string // names; of skipped ones with the reason
}

var verdictLine = regexp.MustCompile(`^ *--- (PASS|FAIL|SKIP): (\S+) \(`)

// readTests reads the output of tests with -test.v. A test that fails because one below it does is
// not named beside that.
func readTests(said string) (t tests) {
	lines := strings.Split(said, "\n")
	for i, line := range lines {
		m := verdictLine.FindStringSubmatch(line)
		if m == nil {
			continue
		}
		switch m[1] {
		case "PASS":
			t.passed++
		case "FAIL":
			t.failed = append(t.failed, m[2])
		case "SKIP":
			t.skipped = append(t.skipped, m[2]+": "+skipReason(lines, i))
		}
	}
	t.failed = slices.DeleteFunc(t.failed, func(name string) bool {
		return slices.ContainsFunc(t.failed, func(other string) bool { return strings.HasPrefix(other, name+"/") })
	})
	return t
}

var testLine = regexp.MustCompile(`^ +\w+_test\.go:\d+: (.*)`)

// skipReason is beside the verdict: before it as tests say it, behind it in older versions of Go.
func skipReason(lines []string, at int) string {
	for _, i := range []int{at - 1, at + 1} {
		if i >= 0 && i < len(lines) {
			if m := testLine.FindStringSubmatch(lines[i]); m != nil {
				return m[1]
			}
		}
	}
	return "it does not say why"
}

// oneLine is the beginning of a text.
func oneLine(text string) string {
	first, _, more := strings.Cut(strings.TrimSpace(text), "\n")
	if more {
		first += " ..."
	}
	return first
}

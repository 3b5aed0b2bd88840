package main

import (
	"fmt"
	"io"
	"path"
	"strings"
)

// row is which tests notice a constant times a factor: the first factor that any notices.
type row struct {
	constant
	factor float64
	failed []string
}

// golden is the prefix of the tests that replay recorded traces.
const golden = "TestGoldenTraces/"

// noticed returns how many recorded traces and how many other tests notice the change.
func (r *row) noticed() (traces, tests int) {
	for _, name := range r.failed {
		switch {
		case strings.HasPrefix(name, golden):
			traces++
		case !strings.Contains(name, "/") && name+"/" != golden:
			tests++
		}
	}
	return traces, tests
}

func write(w io.Writer, rows []row) {
	var silent []row
	for _, r := range rows {
		if len(r.failed) == 0 {
			silent = append(silent, r)
		}
	}
	fmt.Fprintf(w, `# How sensitive sharing is to its constants

Written by `+"`go run ./test/bench/sensitivity`"+`. Each numeric constant of %[1]s is
multiplied by %[2]g and by %[3]g, one at a time. The tests of the package then run; they replay the
traces that were recorded in the lab. Two tests with thousands of random cells are left out, and
constants made of others. Two that are slow run only if no other fails. A constant that is noticed
times %[2]g is not tried times %[3]g.

%[4]d of %[5]d constants are noticed. [Sharing control](../design/sharing.md#constants-without-evidence)
says why the others have their values.

## Nothing notices

| constant | value | file |
|---|---|---|
`, folder, factors[0], factors[1], len(rows)-len(silent), len(rows))
	for _, r := range silent {
		fmt.Fprintf(w, "| `%s` | `%s` | %s |\n", r.name, r.value, path.Base(r.path))
	}
	fmt.Fprint(w, `
## Noticed

Traces that decide something else, and other tests that fail.

| constant | value | times | traces | tests |
|---|---|---:|---:|---:|
`)
	for _, r := range rows {
		if len(r.failed) > 0 {
			traces, tests := r.noticed()
			fmt.Fprintf(w, "| `%s` | `%s` | %g | %d | %d |\n", r.name, r.value, r.factor, traces, tests)
		}
	}
}

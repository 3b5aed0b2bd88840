package main

import (
	"fmt"
	"io"
	"strings"
)

// verdicts say which rows are within their goals, by goal in the order in which these came.
type verdicts []verdict

type verdict struct {
	goal    string
	rows    int
	outside []string
}

func (v *verdicts) add(goal, row string, within bool) {
	last := v.of(goal)
	last.rows++
	if !within {
		last.outside = append(last.outside, row)
	}
}

func (v *verdicts) of(goal string) *verdict {
	for i := range *v {
		if (*v)[i].goal == goal {
			return &(*v)[i]
		}
	}
	*v = append(*v, verdict{goal: goal})
	return &(*v)[len(*v)-1]
}

// print writes a table of the goals, and its error says that rows are outside of them.
func (v verdicts) print(w io.Writer) error {
	fmt.Fprint(w, "\n## Verdicts\n\n| goal | within | outside |\n|---|---|---|\n")
	outside := 0
	for _, one := range v {
		outside += len(one.outside)
		fmt.Fprintf(w, "| %s | %d of %d | %s |\n", one.goal, one.rows-len(one.outside), one.rows,
			strings.Join(one.outside, ", "))
	}
	if outside > 0 {
		return fmt.Errorf("%d rows are outside their goals", outside)
	}
	return nil
}

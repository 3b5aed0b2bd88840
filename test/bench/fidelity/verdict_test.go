package main

import (
	"strings"
	"testing"
)

func TestVerdictsNameTheRowsOutsideTheirGoals(t *testing.T) {
	var v verdicts
	v.add("first", "a", true)
	v.add("second", "a", true)
	v.add("first", "b", true)
	var b strings.Builder
	if err := v.print(&b); err != nil {
		t.Errorf("all are within, and it says %v", err)
	}
	v.add("second", "b", false)
	v.add("second", "c", false)
	b.Reset()
	if err := v.print(&b); err == nil || !strings.HasPrefix(err.Error(), "2 rows") {
		t.Errorf("two are outside, and it says %v", err)
	}
	if want := "| first | 2 of 2 |  |\n| second | 1 of 3 | b, c |\n"; !strings.HasSuffix(b.String(), want) {
		t.Errorf("%s\nwant at its end\n%s", b.String(), want)
	}
}

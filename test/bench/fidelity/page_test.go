package main

import (
	"os"
	"strings"
	"testing"
)

// The page's tables are those that make fidelity prints.
func TestThePageHasTheColumnsThatAreMade(t *testing.T) {
	page, err := os.ReadFile("../../../docs/results/fidelity.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, header := range []string{udpHeader, tcpHeader} {
		_, table, found := strings.Cut(string(page), "\n"+header+"\n")
		if !found {
			t.Errorf("the page has no table of the columns %s", header)
			continue
		}
		rows := 0
		for line := range strings.Lines(table) {
			if !strings.HasPrefix(line, "|") {
				break
			}
			rows++
			if strings.Count(line, "|") != strings.Count(header, "|") {
				t.Errorf("a row of %d columns for %d headings: %s", strings.Count(line, "|")-1, strings.Count(header,
					"|")-1, line)
			}
		}
		if rows < 50 {
			t.Errorf("the table of %s has %d rows", header, rows)
		}
	}
}

package main

import (
	"os"
	"strings"
	"testing"

	"github.com/spf13/cobra"
)

// TestTheSecurityTopicNamesEveryVerb compares the lists of verbs in the topic with the command
// tree. A verb with parts may be named by its group.
func TestTheSecurityTopicNamesEveryVerb(t *testing.T) {
	text, err := os.ReadFile("topics/security.txt")
	if err != nil {
		t.Fatal(err)
	}
	lists, _, ok := strings.Cut(string(text), "\nFiles:")
	if !ok {
		t.Fatal("the topic has no part Files")
	}
	named := map[string]bool{}
	for line := range strings.Lines(lists) {
		if !strings.HasPrefix(line, "  ") {
			continue
		}
		verbs, _, _ := strings.Cut(strings.TrimSpace(line), "  ")
		group := ""
		for verb := range strings.SplitSeq(verbs, ", ") {
			first, rest, isPart := strings.Cut(strings.TrimSpace(verb), " ")
			switch {
			case isPart:
				group = first
				named[first+" "+rest] = true
			case group != "": // "lab list, check"
				named[group+" "+first] = true
			}
			named[verb] = true
		}
	}
	eachVerb(t, func(t *testing.T, verb *cobra.Command, path []string, _ faultRow) {
		if !verb.Runnable() || len(path) == 0 || path[0] == "help" || path[0] == "completion" {
			return
		}
		group := verb.HasSubCommands() && len(path) == 1 // its verbs are named
		if whole := strings.Join(path, " "); !group && !named[whole] && !named[path[0]] {
			t.Errorf("topics/security.txt does not say what rights airtide %s needs", whole)
		}
	})
}

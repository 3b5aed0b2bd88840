package diagnose

import (
	"os"
	"strings"
	"testing"
)

// Each limit and each rule has a row in the reference.
func TestReferenceHasEachLimitAndRule(t *testing.T) {
	text, err := os.ReadFile("../../docs/reference/diagnosis.md")
	if err != nil {
		t.Fatal(err)
	}
	page := string(text)
	for l := range numLimits {
		if row := "| " + l.String() + " | " + l.Sentence() + " |\n"; !strings.Contains(page, row) {
			t.Errorf("the page lacks %q", row)
		}
		if parsed, err := ParseLimit(l.String()); err != nil || parsed != l {
			t.Errorf("%q is read as %q: %v", l, parsed, err)
		}
	}
	sender, receiver, _ := strings.Cut(page, "## Rules of the receiver")
	for part, rules := range map[string][]rule{sender: senderRules, receiver: receiverRules} {
		before := -1
		for _, r := range rules {
			at := strings.Index(part, "\n| "+r.name+" | ")
			if _, after, found := strings.Cut(part, "## Rules of the sender"); found {
				at = strings.Index(after, "\n| "+r.name+" | ")
			}
			if at <= before {
				t.Errorf("the page lacks rule %q at its place", r.name)
			}
			before = at
		}
	}
}

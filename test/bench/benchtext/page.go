package benchtext

import (
	"fmt"
	"os"
	"strings"
)

// WriteTable puts a text between two lines of a page, in place of the text that is there. Both
// lines end in a line feed.
func WriteTable(page, begin, end, text string) error {
	old, err := os.ReadFile(page)
	if err != nil {
		return fmt.Errorf("reading the page of the table: %w", err)
	}
	head, rest, begins := strings.Cut(string(old), begin)
	_, tail, ends := strings.Cut(rest, end)
	if !begins || !ends {
		return fmt.Errorf("%s has no place for the table: put the lines %q and %q there", page,
			strings.TrimSpace(begin), strings.TrimSpace(end))
	}
	return os.WriteFile(page, []byte(head+begin+"\n"+text+"\n"+end+tail), 0o644)
}

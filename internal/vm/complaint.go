package vm

import (
	"regexp"
	"strings"
)

// complaint is what a kernel says when something is wrong with it. Kernels and architectures do not
// agree on capitals.
var complaint = regexp.MustCompile(`WARNING|BUG:|Oops|Kernel panic|stall|hung_task|blocked for more|unstable|Invalid padding|` +
	`(?i:lockup|call trace|NMI backtrace|general protection|unable to handle)`)

// IsComplaint says whether a line of a kernel's log or console tells that something is wrong.
func IsComplaint(line string) bool { return complaint.MatchString(line) }

// FirstComplaint is the first line of a kernel's log or console that tells that something is wrong,
// "" for none.
func FirstComplaint(text string) string {
	for line := range strings.Lines(text) {
		if IsComplaint(line) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

package vm

import (
	"regexp"
	"strings"
)

// kernelProblem matches the kernel's messages about its own faults. Kernels and architectures
// differ in capitals.
var kernelProblem = regexp.MustCompile(
	`WARNING|BUG:|Oops|Kernel panic|stall|hung_task|blocked for more|unstable|Invalid padding|` +
		`(?i:lockup|call trace|NMI backtrace|general protection|unable to handle)`)

// IsKernelProblem reports whether a line of a kernel's log or console reports a fault.
func IsKernelProblem(line string) bool { return kernelProblem.MatchString(line) }

// FirstKernelProblem returns the first line of a log or console that reports a fault; empty without
// a fault.
func FirstKernelProblem(text string) string {
	for line := range strings.Lines(text) {
		if IsKernelProblem(line) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

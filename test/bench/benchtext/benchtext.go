// Package benchtext prints results of benchmarks, and the machine that they ran on.
package benchtext

import (
	"fmt"
	"os"
	"runtime"
	"slices"
	"strings"
	"time"
)

// Machine names the kernel by its version, the processors, and the day.
func Machine() string {
	release, _ := os.ReadFile("/proc/sys/kernel/osrelease")
	kernel, _, _ := strings.Cut(strings.TrimSpace(string(release)), "-")
	cpu := "unknown processor"
	info, _ := os.ReadFile("/proc/cpuinfo")
	for line := range strings.Lines(string(info)) {
		if name, value, ok := strings.Cut(line, ":"); ok && strings.TrimSpace(name) == "model name" {
			cpu = strings.TrimSpace(value)
			break
		}
	}
	return fmt.Sprintf("Linux %s, %d x %s, %s", kernel, runtime.NumCPU(), cpu, time.Now().UTC().Format(time.DateOnly))
}

// Spread is the median of some values with their extremes.
type Spread struct{ Low, Median, High float64 }

// SpreadOf takes the values that a function gives of some runs, of which there is one at least.
func SpreadOf[Run any](runs []Run, value func(Run) float64) Spread {
	v := make([]float64, len(runs))
	for i, r := range runs {
		v[i] = value(r)
	}
	slices.Sort(v)
	n := len(v)
	return Spread{v[0], (v[(n-1)/2] + v[n/2]) / 2, v[n-1]}
}

// Text writes it with a verb of fmt for each number: the median, the extremes behind it.
func (s Spread) Text(format string) string {
	return fmt.Sprintf(format+" ("+format+"..."+format+")", s.Median, s.Low, s.High)
}

// LastLine returns the last line of a program's output. It mostly gives the reason of a failure.
func LastLine(text string) string {
	text = strings.TrimSpace(text)
	return text[strings.LastIndex(text, "\n")+1:]
}

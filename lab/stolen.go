package lab

import (
	"fmt"
	"os"
	"strconv"
	"strings"
)

// processorTime is how much time the processors of this machine have spent since it started, in ticks, and how much of it
// the host of a virtual machine gave to others ("steal" in proc_stat(5)).
type processorTime struct{ all, stolen float64 }

func readProcessorTime() (processorTime, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return processorTime{}, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return processorTime{}, fmt.Errorf("/proc/stat begins with %q", line)
	}
	var p processorTime
	for i, field := range fields[1:9] { // guests' time, behind it, is contained in the user's
		ticks, err := strconv.ParseFloat(field, 64)
		if err != nil {
			return processorTime{}, fmt.Errorf("/proc/stat: %w", err)
		}
		p.all += ticks
		if i == 7 {
			p.stolen = ticks
		}
	}
	return p, nil
}

// stolenPercent is the share that was stolen since an earlier time.
func (p processorTime) stolenPercent(since processorTime) float64 {
	if p.all <= since.all {
		return 0
	}
	return 100 * (p.stolen - since.stolen) / (p.all - since.all)
}

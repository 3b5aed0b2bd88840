package machine

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"time"
)

// ProcessorTime is the time that the processors of this computer have spent since its start, in
// steps of 10 ms.
type ProcessorTime struct {
	All  time.Duration
	Busy time.Duration
	// Stolen is the time that the host of a virtual machine gave to other guests ("steal" in
	// proc_stat(5)). It is part of All and not of Busy.
	Stolen time.Duration
}

// ReadProcessorTime reads the times from /proc/stat.
func ReadProcessorTime() (ProcessorTime, error) {
	text, err := os.ReadFile("/proc/stat")
	if err != nil {
		return ProcessorTime{}, err
	}
	line, _, _ := strings.Cut(string(text), "\n")
	return parseProcessorTime(line)
}

// processorTick is the unit of /proc/stat: USER_HZ is 100 on every supported architecture.
const processorTick = 10 * time.Millisecond

// parseProcessorTime parses the line for all processors.
func parseProcessorTime(line string) (p ProcessorTime, err error) {
	fields := strings.Fields(line)
	if len(fields) < 9 || fields[0] != "cpu" {
		return p, fmt.Errorf("/proc/stat begins with %q", line)
	}
	const idle, waiting, stolen = 3, 4, 7
	for i, field := range fields[1:9] { // the guest time after it is part of the user time
		ticks, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return p, fmt.Errorf("/proc/stat: %w", err)
		}
		spent := time.Duration(ticks) * processorTick
		p.All += spent
		switch i {
		case idle, waiting:
		case stolen:
			p.Stolen = spent
		default:
			p.Busy += spent
		}
	}
	return p, nil
}

// StolenPercent returns the stolen share of the time since an earlier reading.
func (p ProcessorTime) StolenPercent(since ProcessorTime) float64 {
	if p.All <= since.All {
		return 0
	}
	return 100 * float64(p.Stolen-since.Stolen) / float64(p.All-since.All)
}

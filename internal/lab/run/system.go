package run

import (
	"bufio"
	"context"
	"os"
	"runtime"
	"strings"
	"sync"

	"airtide/internal/lab/machine"
	"airtide/internal/lab/result"
)

// computer describes the computer of the runs.
type computer struct {
	tool string // the version of this program

	mu     sync.Mutex
	system *result.System // nil before the first run has ended
}

// describe asks the tools for their versions once.
func (c *computer) describe(ctx context.Context) (*result.System, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.system != nil {
		return c.system, nil
	}
	versions, err := machine.Versions(ctx)
	if err != nil {
		return nil, err
	}
	kernel := versions["kernel"]
	delete(versions, "kernel")
	c.system = &result.System{
		Airtide: c.tool, Kernel: kernel, Arch: runtime.GOARCH, CPUs: runtime.NumCPU(), CPUModel: processor(),
		Tools: versions,
	}
	return c.system, nil
}

// processor returns the model of this computer's processors; empty if Linux does not report it.
func processor() string {
	f, err := os.Open("/proc/cpuinfo")
	if err != nil {
		return ""
	}
	defer f.Close()
	for s := bufio.NewScanner(f); s.Scan(); {
		name, value, _ := strings.Cut(s.Text(), ":")
		if strings.TrimSpace(name) == "model name" {
			return strings.TrimSpace(value)
		}
	}
	return ""
}

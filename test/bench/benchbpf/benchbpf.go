// Package benchbpf reads the kernel's statistics of BPF programs for benchmarks.
package benchbpf

import (
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/cilium/ebpf"
)

// Programs are the ids of all BPF programs in the kernel.
func Programs() (map[ebpf.ProgramID]bool, error) {
	all := map[ebpf.ProgramID]bool{}
	for id := ebpf.ProgramID(0); ; {
		next, err := ebpf.ProgramGetNextID(id)
		if errors.Is(err, os.ErrNotExist) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("listing BPF programs: %w", err)
		}
		all[next] = true
		id = next
	}
}

// Run counts the runs of a program while the statistics were on (ebpf.EnableStats), and their time.
type Run struct {
	Name string
	Time time.Duration
	Runs uint64
}

// Runs are those of the programs that are in the kernel now and were not before.
func Runs(before map[ebpf.ProgramID]bool) ([]Run, error) {
	now, err := Programs()
	if err != nil {
		return nil, err
	}
	var all []Run
	for id := range now {
		if before[id] {
			continue
		}
		p, err := ebpf.NewProgramFromID(id)
		if err != nil {
			continue // gone meanwhile
		}
		info, infoErr := p.Info()
		st, err := p.Stats()
		p.Close()
		if err := errors.Join(infoErr, err); err != nil {
			return nil, fmt.Errorf("reading BPF statistics: %w", err)
		}
		all = append(all, Run{Name: info.Name, Time: st.Runtime, Runs: st.RunCount})
	}
	return all, nil
}

package run

import (
	"fmt"

	"airtide/internal/cell"
)

// stolenWorthSaying, in per cent: half of what makes one packet in a hundred late.
const stolenWorthSaying = 0.5

// emulatorProblems are those of the emulator itself, from time zero to the end: it was late, or it lost packets that no
// queue and no path has lost. A status that there is none of says nothing.
func emulatorProblems(s *cell.Status, stolenPercent float64) (problems []string) {
	if s == nil || s.Engine == nil {
		return nil
	}
	if s.Engine.LagExceeded {
		late := "the emulator fell behind: " + s.Engine.Lag.Against(s.Engine.LagLimitNs)
		if stolenPercent > stolenWorthSaying {
			late += fmt.Sprintf(", while the host of this virtual machine gave %.1f %% of its processors' time to others", stolenPercent)
		}
		problems = append(problems, late)
	}
	if n := s.Engine.Exhausted; n > 0 {
		problems = append(problems, fmt.Sprintf("the emulator lost %d packets because all its %d places for packets were taken: "+
			"let queues, rate or delay of the path be less", n, s.Engine.Slots))
	}
	if n := unread(s); n > 0 {
		problems = append(problems, fmt.Sprintf("the emulator lost %d packets that it did not read in time", n))
	}
	return problems
}

// unread packets were lost between a machine and the engine. A lab has no machine outside, whose sender nothing holds back.
func unread(s *cell.Status) (n uint64) {
	for _, t := range s.Terminals {
		n += t.Port.KernelDropped
	}
	for _, p := range s.Engine.Servers {
		n += p.KernelDropped
	}
	return n
}

// behind says whether a run is not valid because the engine was late or lost what it did not read in time, so that
// another attempt may be better.
func (a *attempt) behind() bool {
	return a.result.Engine != nil && (a.result.Engine.LagExceeded || unread(a.poller.to) > 0)
}

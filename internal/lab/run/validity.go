package run

import (
	"fmt"

	"airtide/internal/cell"
)

// minStolenPercent is reported beside a late emulator. It is half of the stolen time that makes one
// packet in a hundred late.
const minStolenPercent = 0.5

// emulatorProblems are problems of the emulator from time zero to the end: it was late, or it lost
// packets outside of queues and paths. If the status is missing, nothing is known.
func emulatorProblems(s *cell.Status, stolenPercent float64) (problems []string) {
	if s == nil || s.Engine == nil {
		return nil
	}
	if s.Engine.LagExceeded {
		late := "the emulator fell behind: " + s.Engine.Lag.Against(s.Engine.LagLimitNs)
		if stolenPercent > minStolenPercent {
			late += fmt.Sprintf(
				", while the host of this virtual machine gave %.1f %% of its processors' time to others",
				stolenPercent)
		}
		problems = append(problems, late)
	}
	if n := s.Engine.Exhausted; n > 0 {
		problems = append(problems, fmt.Sprintf("the emulator lost %d packets because all its %d places "+
			"for packets were taken: let queues, rate or delay of the path be less", n, s.Engine.Slots))
	}
	if n := unreadPackets(s); n > 0 {
		problems = append(problems, fmt.Sprintf("the emulator lost %d packets that it did not read in time", n))
	}
	return problems
}

// unreadPackets counts packets lost between a machine and the engine. A lab has no outside machine,
// whose sender could exceed every limit.
func unreadPackets(s *cell.Status) (n uint64) {
	for _, t := range s.Terminals {
		n += t.Port.KernelDropped
	}
	for _, p := range s.Engine.Servers {
		n += p.KernelDropped
	}
	return n
}

// late reports whether a run is not valid because the engine was late or did not read packets in
// time. Another attempt may be better.
func late(s *cell.Status) bool {
	return s != nil && s.Engine != nil && (s.Engine.LagExceeded || unreadPackets(s) > 0)
}

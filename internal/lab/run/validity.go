package run

import (
	"fmt"

	"airtide/internal/cell"
	"airtide/internal/units"
)

// minStolenPercent is the stolen time from which a report of a late emulator mentions it. It is
// half of the stolen time that makes one packet in a hundred late.
const minStolenPercent = 0.5

// emulatorProblems reports whether the emulator was late, or lost packets outside of queues and
// paths, between time zero and end. If the status is missing, nothing is known.
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
		problems = append(problems, fmt.Sprintf("the emulator lost %s because all its %d places "+
			"for packets were taken: let queues, rate or delay of the path be less", units.Count(n, "packet"),
			s.Engine.Slots))
	}
	if n := unreadPackets(s); n > 0 {
		lost := units.Count(n, "packet")
		problems = append(problems, fmt.Sprintf("the emulator lost %s that it did not read in time", lost))
	}
	return problems
}

// unreadPackets counts packets lost between a machine and the engine. A lab has no outside machine
// that could send more than any limit.
func unreadPackets(s *cell.Status) (n uint64) {
	for _, t := range s.Terminals {
		n += t.Port.KernelDropped
	}
	for _, p := range s.Engine.Servers {
		n += p.KernelDropped
	}
	return n
}

// late reports whether a run is invalid because the engine was late or did not read packets in
// time. A further attempt may succeed.
func late(s *cell.Status) bool {
	return s != nil && s.Engine != nil && (s.Engine.LagExceeded || unreadPackets(s) > 0)
}

package trace

import (
	"fmt"
	"strings"

	"airtide/internal/units"
)

// Range is a range of bytes of the file that could not be read, and why.
type Range struct {
	From   int64  `json:"from"`
	To     int64  `json:"to"` // exclusive
	Reason string `json:"reason"`
}

// Damage lists the parts of a recording that a scan could not read. The scan read everything else.
type Damage struct {
	// Skipped lists the damaged places, at most maxSkipped; SkippedBytes counts all.
	Skipped      []Range `json:"skipped,omitempty"`
	SkippedBytes int64   `json:"skipped_bytes"`
	// TailBytes is the length of an incomplete block at the end of the file.
	TailBytes int64 `json:"tail_bytes"`
	// UndefinedFlows counts flows with lost definitions. Such flows are delivered with only their
	// IDs.
	UndefinedFlows int `json:"undefined_flows"`
	// UnknownBlocks counts blocks of kinds that this version does not know.
	UnknownBlocks int `json:"unknown_blocks"`
	// CleanEnd is set if Close ended the recording. Without it, data of the last second may be
	// missing.
	CleanEnd bool `json:"clean_end"`
	// Live is set if a writer still records to the file, so the file has no end yet.
	Live bool `json:"live"`
}

const maxSkipped = 1000

// Whole reports whether nothing is missing: the whole file was read, and the recording has ended or
// is still running.
func (d *Damage) Whole() bool {
	return len(d.Skipped) == 0 && d.UndefinedFlows == 0 && d.UnknownBlocks == 0 && (d.CleanEnd || d.Live)
}

// String describes the missing parts in one line.
func (d *Damage) String() string {
	if d.Whole() {
		if d.Live {
			return "still being recorded"
		}
		return "whole"
	}
	var parts []string
	if d.SkippedBytes > 0 {
		parts = append(parts, fmt.Sprintf("%s skipped in %s", units.Count(d.SkippedBytes, "damaged byte"),
			units.Count(len(d.Skipped), "place")))
	}
	if d.UndefinedFlows > 0 {
		parts = append(parts, units.Count(d.UndefinedFlows, "flow")+" without a definition")
	}
	if d.UnknownBlocks > 0 {
		parts = append(parts, units.Count(d.UnknownBlocks, "block")+" of a newer version not read")
	}
	switch {
	case d.Live:
	case d.TailBytes > 0:
		parts = append(parts, fmt.Sprintf("cut off within a block (%d bytes)", d.TailBytes))
	case !d.CleanEnd:
		parts = append(parts, "cut off: the recording was not ended cleanly")
	}
	return strings.Join(parts, "; ")
}

func (d *Damage) skip(from, to int64, reason string) {
	d.SkippedBytes += to - from
	if len(d.Skipped) < maxSkipped {
		d.Skipped = append(d.Skipped, Range{from, to, reason})
	}
}

package probe

import (
	"time"

	"airtide/internal/share/message"
)

// Active is the probe that runs now. Its kind is message.NoProbe outside probes.
type Active struct {
	Kind       message.ProbeKind
	Own        bool // this terminal proposed it
	Begin, End time.Duration
}

// Proposal is a probe that this terminal announces to its peers. Times are absolute. The zero value
// announces nothing.
type Proposal struct {
	Kind  message.ProbeKind `json:"kind,omitempty"`
	Begin time.Duration     `json:"begin,omitempty"`
	End   time.Duration     `json:"end,omitempty"`
	// Repeat means that the probe runs already and is announced until its end.
	Repeat bool `json:"repeat,omitempty"`
}

// At returns the announcement for a report that is sent now.
func (p Proposal) At(now time.Duration) message.Probe {
	switch {
	case p.Repeat && now < p.End:
		left := min(p.End-now, message.LongestProbe)
		return message.ProbeIn(p.Kind, 0, left.Round(message.ProbeLengthStep))
	case !p.Repeat && now < p.Begin:
		return message.ProbeIn(p.Kind, p.Begin-now, p.End-p.Begin)
	}
	return message.Probe{}
}

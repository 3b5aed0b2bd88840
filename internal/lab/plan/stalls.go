package plan

import "fmt"

// Stalls are periods in which the path delays all packets of all terminals in both directions, like
// a radio that scans or sleeps. No packet is lost or overtaken.
type Stalls struct {
	Every  Duration `json:"every,omitzero" jsonschema:"Time from the start of one stall to the next, and from the start of the run to the first."`
	Length Duration `json:"length,omitzero" jsonschema:"Length of a stall. Packets that enter during it arrive when it ends."`
}

const (
	// stallSteps is the number of steps in which the added delay falls during a stall. All packets
	// leave the stall within the length of one step.
	stallSteps = 10
	// maxStalls is the limit of stalls in a run.
	maxStalls = 10_000
)

func (s Stalls) check(c *checker, path string) {
	if s == (Stalls{}) {
		return
	}
	switch {
	case s.Every == 0 || s.Length == 0:
		c.problem(path, "stalls without every or length", "both, such as {every: 1 s, length: 100 ms}")
	case s.Length >= s.Every:
		c.problem(path+".length", s.Length.String(),
			fmt.Sprintf("less than the time from one to the next, %s", s.Every))
	case c.e.Duration/s.Every > maxStalls:
		c.problem(path+".every", fmt.Sprintf("%d stalls", c.e.Duration/s.Every),
			fmt.Sprintf("at most %d in a run", maxStalls))
	}
}

// steps returns the number of steps that the stalls of a run add to a line.
func (s Stalls) steps(duration Duration) int {
	if s.Every == 0 {
		return 0
	}
	return int(duration/s.Every) * (stallSteps + 1)
}

// apply adds the stalls of a run to the steps of a line.
func (s Stalls) apply(steps []LineStep, duration Duration) []LineStep {
	if s.Every == 0 {
		return steps
	}
	var with []LineStep
	rest := steps
	var line Line // the current line of the schedule
	// until copies the schedule's steps before a time. During a stall it drops them.
	until := func(at Duration, keep bool) {
		for len(rest) > 0 && rest[0].At <= at {
			line = rest[0].Line
			if keep && rest[0].At < at {
				with = append(with, rest[0])
			}
			rest = rest[1:]
		}
	}
	for start := s.Every; start+s.Length <= duration; start += s.Every {
		until(start, true)
		for i := range Duration(stallSteps) {
			at := start + s.Length*i/stallSteps
			until(at, false)
			held := line
			held.Delay += s.Length * (stallSteps - i) / stallSteps
			with = append(with, LineStep{at, held})
		}
		until(start+s.Length, false)
		with = append(with, LineStep{start + s.Length, line})
	}
	return append(with, rest...)
}

package run

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"airtide/internal/lab/plan"
	"airtide/internal/share/radio"
)

// change is what happens to an agent in mid-run, since the start of the run.
type change struct {
	at plan.Duration
	do func() error
}

// changeAgents makes the changes as their times come, from time zero on.
func (a *attempt) changeAgents(ctx context.Context, zero time.Time) error {
	slices.SortStableFunc(a.changes, func(a, b change) int { return cmp.Compare(a.at, b.at) })
	for _, c := range a.changes {
		if err := sleepUntil(ctx, zero.Add(time.Duration(c.at))); err != nil {
			return err
		}
		if err := c.do(); err != nil {
			return err
		}
	}
	return nil
}

// stopAgent asks the agent of a machine to end, and leaves it to end in its time.
func (a *attempt) stopAgent(machine string) error {
	i := slices.IndexFunc(a.agents, func(one *agent) bool { return one.file == agentName+machine+agentSuffix })
	if i < 0 {
		return fmt.Errorf("the agent of %s was never started", machine)
	}
	return a.agents[i].stop()
}

// phyFile is where the agent of a terminal reads its PHY rate, as others ask nl80211 for it.
func (a *attempt) phyFile(terminal string) string {
	return filepath.Join(a.dir, "phy-"+terminal+".json")
}

func tellPHY(file string, s plan.PHYStep) error {
	return radio.Told{PHYRateBps: float64(s.PHY.RateBps), Standard: s.PHY.Standard.String(), Streams: s.PHY.Streams}.Write(file)
}

// addPHYChanges has an agent that knows its PHY rate told how it changes.
func (a *attempt) addPHYChanges(t plan.TerminalSetup) {
	if !t.Share.KnowsPHY {
		return
	}
	for _, step := range t.Radio.PHY[1:] {
		a.changes = append(a.changes, change{step.At, func() error { return tellPHY(a.phyFile(t.Name), step) }})
	}
}

package cell

import (
	"errors"
	"fmt"

	"airtide/internal/cell/queue"
)

// check validates the cell as a whole. Its parts are validated where they are made.
func (c *Config) check() error {
	if len(c.Terminals) == 0 {
		return errors.New("the cell has no terminals: name at least one")
	}
	if err := checkSteps(c.WireUp, func(s WireStep) int64 { return s.AtNs }); err != nil {
		return fmt.Errorf("wire towards the servers: %w", err)
	}
	if err := checkSteps(c.WireDown, func(s WireStep) int64 { return s.AtNs }); err != nil {
		return fmt.Errorf("wire towards the terminals: %w", err)
	}
	for i := range c.Terminals {
		if err := c.Terminals[i].check(); err != nil {
			return fmt.Errorf("terminal %q: %w", c.Terminals[i].Name, err)
		}
	}
	if err := c.AP.check(); err != nil {
		return err
	}
	return c.checkFlows()
}

func (t *Terminal) check() error {
	line := func(s LineStep) int64 { return s.AtNs }
	if err := checkSteps(t.Up, line); err != nil {
		return fmt.Errorf("its path towards the servers: %w", err)
	}
	if err := checkSteps(t.Down, line); err != nil {
		return fmt.Errorf("its path from the servers: %w", err)
	}
	if t.Radio == nil {
		if t.Refuse {
			return errors.New("it has no radio, so there is no queue for which its device could refuse packets")
		}
		return nil
	}
	if len(t.Radio.PHY) == 0 {
		return errors.New("its radio has no PHY rate")
	}
	if err := checkSteps(t.Radio.PHY, func(s PHYStep) int64 { return s.AtNs }); err != nil {
		return fmt.Errorf("its PHY rates: %w", err)
	}
	return nil
}

// checkSteps checks that the first step is at 0 and each other one behind the one before.
func checkSteps[S any](all []S, at func(S) int64) error {
	for i, s := range all {
		if i == 0 && at(s) != 0 {
			return fmt.Errorf("the first step is at %d ns: put one at 0, from which the run starts", at(s))
		}
		if i > 0 && at(s) <= at(all[i-1]) {
			return fmt.Errorf("the step at %d ns does not follow the one at %d ns: put them in order of time", at(s),
				at(all[i-1]))
		}
	}
	return nil
}

func (a *AccessPoint) check() error {
	if a.WindowSharing && a.Limit == (queue.Limit{}) {
		return errors.New("the access point shares windows by its queue, which has no limit: give it one")
	}
	return nil
}

// maxFlows is the greatest number of flows, limited by the 16-bit index of the flow table.
const maxFlows = 1<<16 - 1

func (c *Config) checkFlows() error {
	if len(c.Flows) > maxFlows {
		return fmt.Errorf("%d flows: at most %d can be counted", len(c.Flows), maxFlows)
	}
	ports := map[uint16]string{}
	for _, f := range c.Flows {
		if f.Port == 0 {
			for _, host := range []string{f.From, f.To} {
				if host != "" && c.addresses(host) == nil {
					return fmt.Errorf("flow %q: there is no host %q", f.Name, host)
				}
			}
			continue
		}
		if other, taken := ports[f.Port]; taken {
			return fmt.Errorf("flows %q and %q are both counted by port %d: give each its own", other, f.Name, f.Port)
		}
		ports[f.Port] = f.Name
	}
	return nil
}

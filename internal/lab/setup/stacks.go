package setup

import (
	"context"
	"fmt"

	"airtide/internal/cell"
	"airtide/internal/lab/machine"
	"airtide/internal/lab/plan"
)

// Namespaces returns the machines of a cell on this computer, without outside machines.
func Namespaces(c *cell.Cell) (all machine.Set) {
	for _, h := range c.Hosts() {
		if h.Namespace != "" {
			all = append(all, machine.NewNamespace(h.Name, h.Namespace, h.Address))
		}
	}
	return all
}

// ApplyStacks applies the TCP settings of a setup to machines. A warning names a setting that a
// machine's kernel lacks.
func ApplyStacks(ctx context.Context, machines machine.Set, s *plan.Setup) (warnings []string, err error) {
	stacks := map[string]plan.Stack{}
	for _, t := range s.Terminals {
		stacks[t.Name] = t.Stack
	}
	for _, server := range s.Servers {
		stacks[server.Name] = server.Stack
	}
	for _, m := range machines {
		missing, err := m.ApplyStack(ctx, stacks[m.Name()])
		if err != nil {
			return nil, fmt.Errorf("setting up %s: %w", m.Name(), err)
		}
		for _, sysctl := range missing {
			warnings = append(warnings, fmt.Sprintf(
				"%s: its kernel has no sysctl %s of a network namespace, so it is not set", m.Name(), sysctl))
		}
	}
	return warnings, nil
}

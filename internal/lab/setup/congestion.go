package setup

import (
	"errors"
	"fmt"
	"slices"

	"airtide/internal/kernel/congestion"
	"airtide/internal/lab/plan"
)

// CongestionControls are the loaded congestion controls of a setup. They are not pinned, so they
// end with Close or with this process.
type CongestionControls struct {
	// Loaded maps the setup's names to the kernel's names.
	Loaded map[string]string
	loaded []*congestion.Loaded
}

// LoadCongestion loads the congestion controls of a setup under unique names: the kind, an
// underscore and three letters. Congestion controls that are already loaded, also by another lab,
// remain unchanged.
func LoadCongestion(s *plan.Setup) (c *CongestionControls, err error) {
	c = &CongestionControls{Loaded: map[string]string{}}
	for _, one := range s.CongestionControls {
		l, err := congestion.LoadUnique(one.Kind, one.Parameters)
		if err != nil {
			return nil, errors.Join(fmt.Errorf("congestion control %s: %w", one.Name, err), c.Close())
		}
		c.loaded = append(c.loaded, l)
		c.Loaded[one.Name] = l.Name
		if err := setBounds(l.Name, one.Bounds); err != nil {
			return nil, errors.Join(fmt.Errorf("congestion control %s: %w", one.Name, err), c.Close())
		}
	}
	return c, nil
}

func setBounds(name string, bounds congestion.Bounds) error {
	if bounds == (congestion.Bounds{}) {
		return nil
	}
	b, err := congestion.OpenBounds(name)
	if err != nil {
		return err
	}
	return errors.Join(b.Set(congestion.All, bounds), b.Close())
}

// In returns a setup with the loaded names.
func (c *CongestionControls) In(s *plan.Setup) *plan.Setup {
	if len(c.Loaded) == 0 {
		return s
	}
	replace := func(name *string) {
		if loaded, ok := c.Loaded[*name]; ok {
			*name = loaded
		}
	}
	with := *s
	with.Terminals = slices.Clone(s.Terminals)
	with.Servers = slices.Clone(s.Servers)
	with.Flows = slices.Clone(s.Flows)
	for i := range with.Terminals {
		replace(&with.Terminals[i].Stack.Congestion)
	}
	for i := range with.Servers {
		replace(&with.Servers[i].Stack.Congestion)
	}
	for i := range with.Flows {
		replace(&with.Flows[i].Flow.Congestion)
	}
	return &with
}

// Close unregisters the congestion controls. Sockets keep using theirs until they end.
func (c *CongestionControls) Close() error {
	var errs []error
	for _, l := range c.loaded {
		if err := l.Close(); err != nil {
			errs = append(errs, fmt.Errorf("unloading congestion control %s: %w", l.Name, err))
		}
	}
	c.loaded = nil
	return errors.Join(errs...)
}

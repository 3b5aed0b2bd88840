package run

import (
	"context"
	"fmt"
	"path"
	"time"

	"airtide/internal/kernel/timewarp"
	"airtide/internal/lab/machine"
)

// tcpCounters reads the TCP error counters of all machines at warm-up and at the end.
type tcpCounters struct {
	machines machine.Set
	before   map[string]timewarp.Errors
	// growth is the increase from warm-up to end, by machine; nil before the end.
	growth map[string]map[string]uint64
}

// events read the counters.
func (c *tcpCounters) events(warmup, end time.Duration) []event {
	return []event{
		{warmup, func(ctx context.Context) (err error) {
			c.before, err = c.read(ctx)
			return err
		}},
		{end, func(ctx context.Context) error {
			after, err := c.read(ctx)
			if err != nil {
				return err
			}
			c.growth = map[string]map[string]uint64{}
			for name, errors := range after {
				c.growth[name] = errors.Since(c.before[name])
			}
			return nil
		}},
	}
}

func (c *tcpCounters) read(ctx context.Context) (map[string]timewarp.Errors, error) {
	all := map[string]timewarp.Errors{}
	for _, m := range c.machines {
		counters, err := timewarp.ErrorsFrom(func(name string) ([]byte, error) {
			return m.ReadNet(ctx, path.Base(name))
		})
		if err != nil {
			return nil, fmt.Errorf("machine %s: %w", m.Name(), err)
		}
		all[m.Name()] = counters
	}
	return all, nil
}

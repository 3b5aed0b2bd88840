package share

import (
	"context"
	"errors"

	"golang.org/x/sync/errgroup"

	"airtide/internal/kernel/tune"
	"airtide/internal/observe/monitor"
	"airtide/internal/share/control"
	"airtide/internal/share/hold"
	"airtide/internal/sockets/filter"
)

// grip is what sees an agent's flows, and what holds them. Both are made for its addresses: with others it needs another.
type grip struct {
	source monitor.Source
	hold   *hold.Hold // nil where nothing is held
}

// takeGrip loads both at once, for each takes half a second of a processor.
func takeGrip(ctx context.Context, c *Config, flows filter.Filter) (g grip, err error) {
	parts := errgroup.Group{}
	parts.Go(func() error {
		source, err := monitor.Open(monitor.Options{
			Source: c.Source, Filter: flows, Density: filter.Density{Mode: filter.AtMost, Every: sampleEvery},
			BatchTime: stepEvery / 4, Drain: stepEvery / 2, NoOwners: true, // so few flows' samples fill no ring in that time
		})
		if err == nil {
			g.source = source
		}
		return err
	})
	if c.Policy != control.Observe {
		parts.Go(func() (err error) {
			g.hold, err = hold.Begin(ctx, tune.Selection{Filter: flows})
			return err
		})
	}
	if err := parts.Wait(); err != nil {
		return grip{}, errors.Join(err, g.close())
	}
	return g, nil
}

// close lets all flows go.
func (g *grip) close() error {
	var errs []error
	if g.hold != nil {
		errs = append(errs, g.hold.Close())
	}
	if g.source != nil {
		errs = append(errs, g.source.Close())
	}
	return errors.Join(errs...)
}

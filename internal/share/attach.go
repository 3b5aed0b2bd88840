package share

import (
	"context"
	"errors"
	"time"

	"golang.org/x/sync/errgroup"

	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/kernel/tune"
	"airtide/internal/observe/source"
	"airtide/internal/share/control"
	"airtide/internal/share/cwnd"
)

// sampleEvery is the least time between two samples of a flow. A step has several samples.
const sampleEvery = 10 * time.Millisecond

// attachment samples an agent's flows and bounds their congestion windows.
type attachment struct {
	source  source.Source
	bounder *cwnd.Bounder // nil with the policy Observe
}

// attach loads both at the same time, because each takes half a second of a processor.
func attach(ctx context.Context, c *Config, flows filter.Filter) (g attachment, err error) {
	parts := errgroup.Group{}
	parts.Go(func() error {
		opened, err := source.Open(source.Options{
			Source: c.Source, Filter: flows, Density: filter.Density{Mode: filter.AtMost, Every: sampleEvery},
			// The few flows of a terminal do not fill a ring in this time.
			BatchTime: stepEvery / 4, Drain: stepEvery / 2, NoOwners: true,
		})
		if err == nil {
			g.source = opened
		}
		return err
	})
	if c.Policy != control.Observe {
		parts.Go(func() (err error) {
			g.bounder, err = cwnd.Attach(ctx, tune.Selection{Filter: flows})
			return err
		})
	}
	if err := parts.Wait(); err != nil {
		return attachment{}, errors.Join(err, g.close())
	}
	return g, nil
}

// close lifts all bounds.
func (g *attachment) close() error {
	var errs []error
	if g.bounder != nil {
		errs = append(errs, g.bounder.Close())
	}
	if g.source != nil {
		errs = append(errs, g.source.Close())
	}
	return errors.Join(errs...)
}

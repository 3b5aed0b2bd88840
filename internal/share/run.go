package share

import (
	"context"
	"errors"
	"fmt"

	"golang.org/x/sync/errgroup"

	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/kernel/sockets/owner"
	"airtide/internal/share/control"
	"airtide/internal/share/cwnd"
	"airtide/internal/share/link"
	"airtide/internal/share/message"
	"airtide/internal/share/rwnd"
	"airtide/internal/share/sampler"
	"airtide/internal/sys/clock"
)

// Run shares until the context ends. Then it lifts all bounds and tells the peers. It needs root
// for BPF, and a kernel that can bound congestion windows unless the policy is Observe.
func Run(ctx context.Context, c Config) (err error) {
	if c.Policy == "" {
		c.Policy = control.Shares
	}
	if err := c.check(); err != nil {
		return err
	}
	if c.Notice == nil {
		c.Notice = func(string) {}
	}
	if c.Weight == 0 {
		c.Weight = 1
	}
	namespace, err := owner.SelfNetNS()
	if err != nil {
		return fmt.Errorf("sharing: %w", err)
	}
	at, err := openAddresses(&c)
	if err != nil {
		return fmt.Errorf("sharing: %w", err)
	}
	defer at.close()
	if err := at.take(); err != nil {
		return fmt.Errorf("sharing: %w", err)
	}
	for again := false; ; again = true {
		flows := filter.Filter{NetNS: []uint32{namespace}, Prefixes: at.prefixes()}
		moved, err := runSession(ctx, c, at, flows, again)
		if err != nil || !moved {
			return err
		}
		if err := at.await(ctx, c.publishWaiting); err != nil {
			return fmt.Errorf("sharing: %w", err)
		}
		if ctx.Err() != nil {
			return nil
		}
	}
}

// runSession shares until the context ends or the terminal's addresses change. moved means that
// they have changed, and again that an earlier session ended so.
func runSession(
	ctx context.Context, c Config, at *addressWatch, flows filter.Filter, again bool,
) (moved bool, err error) {
	now := clock.Now()
	a := &agent{config: c, at: at, again: again, sampler: sampler.New(now)}
	a.link, err = link.Open(c.Link)
	if err != nil {
		return false, err
	}
	defer func() { err = errors.Join(err, a.link.Close()) }()
	var unbound error // reported later, because the main parts report missing rights first
	a.windows, unbound = rwnd.Attach(c.Interface)
	if unbound == nil {
		defer func() { err = errors.Join(err, a.windows.Close()) }()
	} else {
		a.windows = nil
	}
	a.reports.groups = a.link.Groups()
	var known control.Radio
	if c.Radio != nil {
		known, _ = a.updateRadio(c.Radio())
	}
	r := message.NewReceiver(message.Config{
		Key: c.Key, OldKey: c.OldKey, Link: a.reportLink(), Hubs: c.Link.Addresses(),
	}, now)
	a.reports.sender = message.NewSender(r, now)
	a.reports.receiver = r
	config := control.Config{
		Policy: c.Policy, Options: c.Control, Weight: c.Weight, StandaloneBps: c.MaxBps, CapacityBps: c.CapacityBps,
		SingleFrames: c.SingleFrames, BoundReceive: a.windows != nil, Session: r.Session(),
	}
	a.core = control.New(config)
	if c.Record != nil {
		c.Record.Begin(config)
	}
	a.out.Report = a.core.FirstReport(known)
	return a.run(ctx, flows, unbound)
}

// run runs all parts until the context ends or a part fails. It receives reports while flows are
// attached.
func (a *agent) run(ctx context.Context, flows filter.Filter, unbound error) (moved bool, err error) {
	parts, ctx := errgroup.WithContext(ctx)
	var at attachment
	ready := make(chan *cwnd.Bounder, 1)
	parts.Go(func() (err error) {
		at, err = attach(ctx, &a.config, flows)
		if err != nil {
			if ctx.Err() != nil {
				return nil // the session ended before it had begun
			}
			return fmt.Errorf("sharing: %w", err)
		}
		if errors.Is(unbound, rwnd.ErrNotSupported) {
			a.config.Notice("what this terminal receives is not bounded: " + unbound.Error())
		} else if unbound != nil {
			return fmt.Errorf("sharing: %w", unbound)
		}
		ready <- at.bounder
		return at.source.Run(ctx, a.sampler)
	})
	parts.Go(func() error { return a.link.Receive(ctx, a.receive) })
	parts.Go(func() error { return a.loop(ctx, ready) })
	err = parts.Wait()
	moved = errors.Is(err, errMoved)
	if moved {
		err = nil
	}
	return moved, errors.Join(err, at.close())
}

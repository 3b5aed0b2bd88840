package run

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// event happens at a time of a run, counted from time zero.
type event struct {
	at time.Duration
	do func(context.Context) error
}

// runTimeline runs events at their times. It ends at the first error and when ctx ends.
func runTimeline(ctx context.Context, zero time.Time, events []event) error {
	events = slices.Clone(events)
	slices.SortStableFunc(events, func(a, b event) int { return cmp.Compare(a.at, b.at) })
	for _, e := range events {
		if err := sleepUntil(ctx, zero.Add(e.at)); err != nil {
			return err
		}
		if err := e.do(ctx); err != nil {
			return err
		}
	}
	return nil
}

// sleepUntil sleeps until a time. If ctx ends first, it returns the cause.
func sleepUntil(ctx context.Context, t time.Time) error {
	timer := time.NewTimer(time.Until(t))
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-timer.C:
		return nil
	}
}

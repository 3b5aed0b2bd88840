package run

import (
	"cmp"
	"context"
	"slices"
	"time"
)

// moment is a time at which counters are read; series says that a window of the time series ends there.
type moment struct {
	time   time.Duration
	series bool
}

// times are the moments from 0 to the end: one each interval, and those between.
func times(interval, end time.Duration, between []time.Duration) []moment {
	var all []moment
	for t := time.Duration(0); t < end; t += interval {
		all = append(all, moment{t, true})
	}
	all = append(all, moment{end, true})
	for _, t := range between {
		if t > 0 && t < end && !slices.ContainsFunc(all, func(m moment) bool { return m.time == t }) {
			all = append(all, moment{t, false})
		}
	}
	slices.SortFunc(all, func(a, b moment) int { return cmp.Compare(a.time, b.time) })
	return all
}

// sleepUntil returns the context's error when it ended before.
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

package run

import (
	"cmp"
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"time"

	"airtide/internal/cell"
	"airtide/internal/lab/measure"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
)

// cellSampler reads the cell's counters during a run: for the time series at each interval, and for
// the measurements at warm-up and end.
type cellSampler struct {
	cell   *cell.Cell
	warmup time.Duration
	series *result.Series

	samples        []sample // samples without a status yet
	counts         measure.Counts
	from, to, last *cell.Status // at warm-up, the latest, and the latest in the series
}

func newCellSampler(dir string, c *cell.Cell, warmup time.Duration) (*cellSampler, error) {
	series, err := result.CreateSeries(filepath.Join(dir, result.SeriesFile))
	if err != nil {
		return nil, err
	}
	return &cellSampler{cell: c, warmup: warmup, series: series}, nil
}

// sample is a time at which the engine takes a status. It may end a window of the time series.
type sample struct {
	at       time.Duration
	inSeries bool
}

// plan chooses the times of statuses from time zero to the end and returns them for Cell.Begin. The
// extra times are the starts and ends of flows.
func (c *cellSampler) plan(interval, end time.Duration, extra []time.Duration) (times []time.Duration) {
	c.samples = samples(interval, end, append(extra, c.warmup))
	for _, s := range c.samples {
		times = append(times, s.at)
	}
	return times
}

// events reads the statuses soon after their times.
func (c *cellSampler) events() (events []event) {
	last := len(c.samples) - 1
	for i, s := range c.samples {
		events = append(events, event{s.at, func(ctx context.Context) error { return c.read(ctx, i == last) }})
	}
	return events
}

// statusDelay is the time between two questions for the last status.
const statusDelay = 5 * time.Millisecond

// read reads the statuses that the engine has taken. With all it waits for the last one.
func (c *cellSampler) read(ctx context.Context, all bool) error {
	for len(c.samples) > 0 {
		s, err := c.cell.TakenStatus()
		switch {
		case err != nil:
			return fmt.Errorf("reading the cell's counters: %w", err)
		case s != nil:
			if err := c.add(c.samples[0], s); err != nil {
				return err
			}
			c.samples = c.samples[1:]
		case !all:
			return nil
		default:
			if err := sleepUntil(ctx, time.Now().Add(statusDelay)); err != nil {
				return err
			}
		}
	}
	return nil
}

// samples returns the times from 0 to the end, one per interval, and the times between them.
func samples(interval, end time.Duration, between []time.Duration) []sample {
	var all []sample
	for t := time.Duration(0); t < end; t += interval {
		all = append(all, sample{t, true})
	}
	all = append(all, sample{end, true})
	for _, t := range between {
		if t > 0 && t < end && !slices.ContainsFunc(all, func(s sample) bool { return s.at == t }) {
			all = append(all, sample{t, false})
		}
	}
	slices.SortFunc(all, func(a, b sample) int { return cmp.Compare(a.at, b.at) })
	return all
}

func (c *cellSampler) add(at sample, s *cell.Status) error {
	c.counts.Add(s)
	if at.at == c.warmup {
		c.from = s
	}
	c.to = s
	if !at.inSeries {
		return nil
	}
	last := c.last
	c.last = s
	if last == nil {
		return nil
	}
	return c.series.Add(cell.Between(last, s))
}

// readLate returns a problem if the counters of the warm-up or of the end were read too late for
// measurements between these times; "" if they were in time or the run ended before.
func (c *cellSampler) readLate(end time.Duration) string {
	if c.from == nil || c.to == nil {
		return ""
	}
	late := max(time.Duration(c.from.TimeNs)-c.warmup, time.Duration(c.to.TimeNs)-end)
	if float64(late) <= measure.TimeTolerance*float64(end-c.warmup) {
		return ""
	}
	return fmt.Sprintf("the counters were read %s late, because the processors were busy: let fewer runs be at once",
		late.Round(10*time.Millisecond))
}

// window returns the counters from warm-up to end; nil if the run ended before.
func (c *cellSampler) window() *cell.Window {
	if c.from == nil || c.to == nil || c.to.TimeNs <= c.from.TimeNs {
		return nil
	}
	return cell.Between(c.from, c.to)
}

// flowTimes returns the times at which flows start and end.
func flowTimes(s *plan.Setup) (times []time.Duration) {
	for _, f := range s.Flows {
		times = append(times, time.Duration(f.Start), time.Duration(f.Flow.Stop))
	}
	return times
}

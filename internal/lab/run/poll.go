package run

import (
	"context"
	"fmt"
	"time"

	"airtide/internal/cell"
	"airtide/internal/lab/measure"
	"airtide/internal/lab/result"
)

// poller reads the cell's counters during a run: at each interval for the time series, and at the two times between which
// is measured.
type poller struct {
	cell     *cell.Cell
	interval time.Duration
	warmup   time.Duration
	end      time.Duration
	series   *result.Series

	counts   measure.Counts
	from, to *cell.Status
}

// run polls from time zero to the end. Other times at which a status is wanted, such as a flow's start, are in extra.
func (p *poller) run(ctx context.Context, zero time.Time, extra []time.Duration) error {
	var last *cell.Status
	for _, at := range times(p.interval, p.end, append(extra, p.warmup)) {
		if err := sleepUntil(ctx, zero.Add(at.time)); err != nil {
			return err
		}
		s, err := p.cell.Status()
		if err != nil {
			return fmt.Errorf("reading the cell's counters: %w", err)
		}
		p.counts.Add(s)
		if at.time == p.warmup {
			p.from = s
		}
		p.to = s
		if !at.series {
			continue
		}
		if last != nil {
			if err := p.series.Add(cell.Between(last, s)); err != nil {
				return err
			}
		}
		last = s
	}
	return nil
}

// window is what happened between warm-up and the end.
func (p *poller) window() *cell.Window {
	if p.from == nil || p.to == nil || p.to.TimeNs <= p.from.TimeNs {
		return nil
	}
	return cell.Between(p.from, p.to)
}

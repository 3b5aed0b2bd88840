package live

import (
	"context"
	"errors"
	"time"
)

// Watch calls show with the activity of all cells, or of the cell of one process, after each
// interval until ctx ends. With once it stops after the first. It returns an error if no cell is
// running any more.
func Watch(ctx context.Context, pid int, interval time.Duration, once bool, show func([]*Seen) error) error {
	before, err := askAll(pid)
	if err != nil {
		return err
	}
	tick := time.NewTicker(interval)
	defer tick.Stop()
	for {
		select {
		case <-ctx.Done():
			return nil
		case <-tick.C:
		}
		now, err := askAll(pid)
		if err != nil {
			return err
		}
		var seen []*Seen
		for _, r := range now {
			// A cell that has just begun is shown from the next interval on.
			for _, b := range before {
				if b.PID == r.PID {
					seen = append(seen, Between(b, r))
				}
			}
		}
		if len(seen) > 0 {
			if err := show(seen); err != nil || once {
				return err
			}
		}
		before = now
	}
}

// askAll asks the cell of one process, or all running cells if pid is 0.
func askAll(pid int) ([]*Report, error) {
	if pid > 0 {
		r, err := Ask(pid)
		return []*Report{r}, err
	}
	pids, err := Find()
	if err != nil {
		return nil, err
	}
	var reports []*Report
	var failed error
	for _, p := range pids {
		r, err := Ask(p)
		if err != nil {
			failed = err // it may have ended since
			continue
		}
		reports = append(reports, r)
	}
	if len(reports) == 0 {
		if failed != nil {
			return nil, failed
		}
		return nil, errors.New("no cell runs here; airtide cell run FILE starts one")
	}
	return reports, nil
}

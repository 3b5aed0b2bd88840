package live

import (
	"context"
	"errors"
	"fmt"
	"time"
)

// Watch calls show with the activity of all cells, or of those of one process, after each
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
				if b.ID == r.ID {
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

// askAll asks the cells of one process, or all running cells if pid is 0.
func askAll(pid int) ([]*Report, error) {
	ids, err := Find()
	if err != nil {
		return nil, err
	}
	var reports []*Report
	var failed error
	for _, id := range ids {
		if pid > 0 && id.PID != pid {
			continue
		}
		r, err := Ask(id)
		if err != nil {
			failed = err // it may have ended since
			continue
		}
		reports = append(reports, r)
	}
	switch {
	case len(reports) > 0:
		return reports, nil
	case failed != nil:
		return nil, failed
	case pid > 0:
		return nil, fmt.Errorf("process %d runs no cell", pid)
	}
	return nil, errors.New("no cell runs here; airtide cell run FILE starts one")
}

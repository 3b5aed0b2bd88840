package tune

import (
	"context"
	"time"
)

// Reports of a history follow one another after a time that doubles from the first to the second of
// these. Short connections are read back soon, and long commands cost little.
const (
	firstLook   = 50 * time.Millisecond
	longestLook = 2 * time.Second
)

// history remembers the last state of each socket of a tune, for a report after sockets have
// closed. The zero value is ready.
type history struct {
	failed map[uint64]bool // key: socket cookie
}

// follow reads reports until the context ends. A report that fails is left out.
func (h *history) follow(ctx context.Context, a *Applied) {
	for pause := firstLook; ; pause = min(2*pause, longestLook) {
		select {
		case <-ctx.Done():
			return
		case <-time.After(pause):
		}
		if r, err := a.Report(ctx); err == nil {
			h.add(r)
		}
	}
}

func (h *history) add(r *Report) {
	if h.failed == nil {
		h.failed = map[uint64]bool{}
	}
	for i := range r.Sockets {
		h.failed[r.Sockets[i].Cookie] = r.Sockets[i].Failed()
	}
}

// complete counts the remembered sockets that the report no longer has. It forgets those that the
// report has.
func (h *history) complete(r *Report) {
	for i := range r.Sockets {
		delete(h.failed, r.Sockets[i].Cookie)
	}
	for _, failed := range h.failed {
		if failed {
			r.Counts.GoneFailed++
		} else {
			r.Counts.GoneChanged++
		}
	}
}

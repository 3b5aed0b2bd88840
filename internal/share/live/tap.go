package live

import (
	"context"
	"slices"
	"sync"

	"airtide/internal/share"
)

// Tap lets others look at an agent's status. They get its next one, not the last: an agent at which
// nobody looks pays nothing, and one that stands still is not taken for one that goes on. The zero
// value is ready.
type Tap struct {
	mutex   sync.Mutex
	waiting []*look
}

type look struct {
	at   func(share.Status)
	done chan struct{}
}

// Step is the agent's: it shows a status to those who wait. It belongs into share.Config.Step.
func (t *Tap) Step(s share.Status) {
	t.mutex.Lock()
	defer t.mutex.Unlock()
	for _, l := range t.waiting {
		l.at(s)
		close(l.done)
	}
	t.waiting = t.waiting[:0]
}

// Look calls at with the agent's next status, in the agent's own time: it must be quick, and keep
// nothing of the status, whose slices are used again. When the context ends first, at is not
// called, and the context's cause is the error.
func (t *Tap) Look(ctx context.Context, at func(share.Status)) error {
	l := &look{at, make(chan struct{})}
	t.mutex.Lock()
	t.waiting = append(t.waiting, l)
	t.mutex.Unlock()
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
	}
	t.mutex.Lock()
	defer t.mutex.Unlock()
	if i := slices.Index(t.waiting, l); i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
		return context.Cause(ctx)
	}
	return nil // it came in the meantime
}

package statusfeed

import (
	"context"
	"slices"
	"sync"
	"time"

	"airtide/internal/share"
)

// Feed gives other goroutines access to an agent's next status. The agent has no cost while nobody
// asks, and the status of a stalled agent is never taken for a current one. The zero value is
// ready.
type Feed struct {
	// Starting is the status until the first one is published. It is nil if readers have to wait.
	Starting *share.Status

	mu        sync.Mutex
	published bool
	waiting   []*look
}

type look struct {
	at   func(share.Status)
	done chan struct{}
}

// Publish passes a status to the waiting readers. The agent calls it as share.Config.Step.
func (t *Feed) Publish(s share.Status) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.published = true
	for _, l := range t.waiting {
		l.at(s)
		close(l.done)
	}
	t.waiting = t.waiting[:0]
}

// Next calls at with the agent's next status on the agent's goroutine, or with Starting at once
// before the first one. at must be quick. It must not keep the status, because its slices are
// reused. If the context ends first, Next returns its cause and does not call at.
func (t *Feed) Next(ctx context.Context, at func(share.Status)) error {
	l := &look{at, make(chan struct{})}
	t.mu.Lock()
	if !t.published && t.Starting != nil {
		s := *t.Starting
		s.Time = time.Now()
		at(s)
		t.mu.Unlock()
		return nil
	}
	t.waiting = append(t.waiting, l)
	t.mu.Unlock()
	select {
	case <-l.done:
		return nil
	case <-ctx.Done():
	}
	t.mu.Lock()
	defer t.mu.Unlock()
	if i := slices.Index(t.waiting, l); i >= 0 {
		t.waiting = slices.Delete(t.waiting, i, i+1)
		return context.Cause(ctx)
	}
	return nil // it came in the meantime
}

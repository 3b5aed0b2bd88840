package diag

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"airtide/internal/kernel/sockets/filter"
	"airtide/internal/kernel/sockets/owner"
	"airtide/internal/sys/clock"
	"airtide/internal/tcp"
)

// Limits and defaults.
const (
	DefaultInterval = 100 * time.Millisecond
	leastInterval   = time.Millisecond
	// defaultBatchRows is no power of two, or the same row of all columns would fall into the same
	// few lines of the processor's cache.
	defaultBatchRows = 1000
	relistInterval   = time.Second
	// failuresInARow is the number of polls in a row that fail for want of memory before Run gives
	// up.
	failuresInARow = 20
)

// Options selects the observed sockets and the interval.
type Options struct {
	Interval time.Duration // between polls; 0 means DefaultInterval
	// Filter picks flows. When it names network namespaces exactly those are polled (others than
	// the own one need root).
	Filter filter.Filter
	// AllNamespaces polls every network namespace that a process lives in or that is mounted (needs
	// root), new ones within a second.
	AllNamespaces bool
	BatchRows     int // most samples per batch; 0 means 1000
	// NoOwners leaves out the owners of the sockets. It is not for a filter by process.
	NoOwners bool
}

// Stats counts the work of a Source.
type Stats struct {
	Polls      uint64        // polls of all namespaces
	Skipped    uint64        // polls that were due but left out, to stay below half a processor or for want of one
	Failed     uint64        // dumps that the kernel broke off; their flows have no sample of that poll
	Last       time.Duration // how long the last poll took, the sink included
	Longest    time.Duration
	Namespaces int // polled now
	Hidden     int // processes whose network namespace may not be read
}

// guardedStats is written by Run and read from anywhere.
type guardedStats struct {
	mu sync.Mutex
	s  Stats
}

func (g *guardedStats) change(f func(*Stats)) {
	g.mu.Lock()
	defer g.mu.Unlock()
	f(&g.s)
}

func (g *guardedStats) setHidden(n int)     { g.change(func(s *Stats) { s.Hidden = n }) }
func (g *guardedStats) setNamespaces(n int) { g.change(func(s *Stats) { s.Namespaces = n }) }

// Source polls inet_diag.
type Source struct {
	options        Options
	fixed, ofOwner filter.Filter // the parts of Options.Filter
	request        []byte
	self           uint32 // inode of the own network namespace
	spaces         map[uint32]*space
	owners         *owner.Resolver
	cgroups        *owner.Cgroups // nil without cgroup v2
	stats          guardedStats

	// sink and the fields below are used by Run only.
	sink       tcp.Sink
	emitEvent  func(*tcp.Event) error
	round      uint64
	generation uint64 // the owners' generation at this poll
	lastID     tcp.FlowID
	failures   int
	answer     answer
	row        row
	now        past // the row's values
	batch      *tcp.Batch
	rows       int // filled rows of the batch
	comparison comparison
}

// New opens the netlink sockets, so a missing part shows here. Run or Close must follow.
func New(o Options) (*Source, error) {
	if o.Interval == 0 {
		o.Interval = DefaultInterval
	}
	if o.Interval < leastInterval {
		return nil, fmt.Errorf("polling every %v is too often: want %v or more", o.Interval, leastInterval)
	}
	if o.BatchRows <= 0 {
		o.BatchRows = defaultBatchRows
	}
	if err := o.Filter.Check(); err != nil {
		return nil, err
	}
	self, err := owner.SelfNetNS()
	if err != nil {
		return nil, fmt.Errorf("finding own network namespace: %w", err)
	}
	s := &Source{
		options: o, request: dumpRequest(bytecode(&o.Filter)), self: self,
		spaces: map[uint32]*space{}, batch: tcp.NewBatch(o.BatchRows),
	}
	if !o.NoOwners {
		s.owners = owner.NewResolver()
	}
	s.batch.Resize(o.BatchRows)
	s.fixed, s.ofOwner = split(o.Filter)
	s.emitEvent = s.emit
	s.cgroups, err = owner.OpenCgroups()
	if err != nil {
		s.cgroups = nil // flows then have an id at most
	}
	if err := s.openFirst(); err != nil {
		s.Close()
		return nil, err
	}
	for _, sp := range s.spaces {
		if _, err := sp.conn.dump(s.request, func(int64, []byte) error { return nil }); err != nil {
			s.Close()
			return nil, err
		}
	}
	return s, nil
}

// Close gives up a Source that is not going to run. Run does it by itself.
func (s *Source) Close() {
	for _, sp := range s.spaces {
		sp.conn.close()
	}
	clear(s.spaces)
}

// Interval is the time between two polls.
func (s *Source) Interval() time.Duration { return s.options.Interval }

// Stats may be called from any goroutine.
func (s *Source) Stats() Stats {
	s.stats.mu.Lock()
	defer s.stats.mu.Unlock()
	return s.stats.s
}

// Description describes in a line this source and how well it keeps up. It may be called from
// any goroutine.
func (s *Source) Description() string {
	st := s.Stats()
	var b strings.Builder
	fmt.Fprintf(&b, "inet_diag polled every %v in %d network namespace", s.options.Interval, st.Namespaces)
	if st.Namespaces != 1 {
		b.WriteByte('s')
	}
	if s.options.AllNamespaces && st.Hidden > 0 {
		fmt.Fprintf(&b, " (those of %d processes may not be read)", st.Hidden)
	}
	if st.Skipped > 0 {
		fmt.Fprintf(&b, "; %d of %d polls left out to stay below half a processor, the longest took %v", st.Skipped,
			st.Polls+st.Skipped, st.Longest.Round(time.Millisecond))
	}
	if st.Failed > 0 {
		fmt.Fprintf(&b, "; %d polls of a namespace broken off by the kernel", st.Failed)
	}
	return b.String()
}

// Run polls until ctx ends, then polls once more, ends every flow with tcp.ReasonStillOpen and
// returns nil. All calls of the sink come from the calling goroutine. A poll never starts sooner
// after the last one than that one took, so polling costs at most half a processor. Skipped
// polls are counted.
func (s *Source) Run(ctx context.Context, sink tcp.Sink) error {
	defer s.Close()
	s.sink = sink
	if err := s.owners.Refresh(ctx); err != nil && ctx.Err() == nil && len(s.ofOwner.PIDs)+len(s.ofOwner.Comms) > 0 {
		return fmt.Errorf("filter by process: %w", err)
	}
	var background sync.WaitGroup
	defer background.Wait()
	ownersCtx, stopOwners := context.WithCancel(ctx)
	defer stopOwners()
	background.Go(func() { _ = s.owners.Run(ownersCtx) }) // fails without /proc: flows then have no owner

	due := time.Now()
	nextList := due.Add(relistInterval)
	timer := time.NewTimer(0)
	defer timer.Stop()
	for {
		select {
		case <-ctx.Done():
			return s.finish()
		case <-timer.C:
		}
		start := time.Now()
		if start.After(nextList) {
			nextList = start.Add(relistInterval)
			if err := s.relist(); err != nil {
				return err
			}
		}
		if err := s.poll(); err != nil {
			return err
		}
		due = s.schedule(due, start, time.Now())
		timer.Reset(time.Until(due))
	}
}

// schedule returns the time of the next poll and counts skipped polls.
func (s *Source) schedule(due, start, end time.Time) time.Time {
	took := end.Sub(start)
	next := due.Add(s.options.Interval)
	var skipped uint64
	for earliest := end.Add(took); next.Before(earliest); next = next.Add(s.options.Interval) {
		skipped++
	}
	s.stats.change(func(st *Stats) {
		st.Polls++
		st.Skipped += skipped
		st.Last = took
		st.Longest = max(st.Longest, took)
	})
	return next
}

// poll takes one sample of every flow.
func (s *Source) poll() error {
	s.round++
	s.generation = s.owners.Generation()
	for _, sp := range s.spaces {
		if err := s.pollSpace(sp); err != nil {
			return err
		}
	}
	return s.flush()
}

func (s *Source) pollSpace(sp *space) error {
	sp.seen = 0
	whole, err := sp.conn.dump(s.request, func(timeNs int64, msg []byte) error { return s.take(sp, timeNs, msg) })
	if err == nil && whole {
		err = s.settle(sp)
	}
	if err == nil {
		s.failures = 0
		return nil
	}
	// Memory may be short for a moment; the next poll makes good for this one.
	s.failures++
	if s.failures < failuresInARow && (errors.Is(err, unix.ENOBUFS) || errors.Is(err, unix.ENOMEM)) {
		s.stats.change(func(st *Stats) { st.Failed++ })
		return nil
	}
	return fmt.Errorf("polling network namespace %v: %w", sp.ns, err)
}

// finish takes a last sample and ends all flows.
func (s *Source) finish() error {
	if err := s.poll(); err != nil {
		return err
	}
	now := clock.Now()
	for _, sp := range s.spaces {
		for _, fl := range sp.flows {
			if err := s.end(fl, now, tcp.ReasonStillOpen); err != nil {
				return err
			}
		}
	}
	return nil
}

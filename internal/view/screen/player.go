package screen

import (
	"cmp"
	"context"
	"errors"
	"math"
	"slices"
	"sync"
	"time"

	"airtide/internal/tcp"
)

// PlayerOptions describe a recording to replay. Times are CLOCK_MONOTONIC nanoseconds.
type PlayerOptions struct {
	// Scan delivers the recording from its beginning to its end.
	Scan func(context.Context, tcp.Sink) error
	// StartNs and EndNs are the times of the first and the last record.
	StartNs, EndNs int64
	// FromNs is the time at which the replay begins; 0 means StartNs.
	FromNs int64
	// Wall is the wall clock at StartNs.
	Wall time.Time
	// Speed is recorded seconds per second. 0 is as fast as possible, for Plain and JSONLines.
	Speed float64
}

// The speeds that keys choose.
const (
	minSpeed = 1.0 / 64
	maxSpeed = 4096
)

// Player replays a recording. It is the source of a Table and also its clock.
type Player struct {
	o     PlayerOptions
	table *Table

	mu      sync.Mutex
	nowNs   int64 // place in the recording at the time set
	set     time.Time
	speed   float64
	paused  bool
	rewinds int           // number of times the table was emptied
	changed chan struct{} // closed by a change of any of these

	stretched time.Duration
}

// NewPlayer makes a player that fills a table.
func NewPlayer(t *Table, o PlayerOptions) *Player {
	o.EndNs = max(o.StartNs, o.EndNs)
	p := &Player{o: o, table: t, speed: o.Speed, changed: make(chan struct{})}
	p.nowNs = p.within(o.FromNs)
	return p
}

func (p *Player) within(ns int64) int64 { return min(max(ns, p.o.StartNs), p.o.EndNs) }

// Clock returns the place of the replay and its wall time.
func (p *Player) Clock() (monotonicNs int64, wall time.Time) {
	p.mu.Lock()
	defer p.mu.Unlock()
	ns := p.now()
	return ns, p.o.Wall.Add(time.Duration(ns - p.o.StartNs))
}

func (p *Player) now() int64 {
	if p.paused || p.set.IsZero() {
		return p.nowNs
	}
	gone := time.Since(p.set).Seconds() * p.speed * 1e9
	if left := p.o.EndNs - p.nowNs; gone >= float64(left) {
		return p.o.EndNs
	}
	return p.nowNs + int64(gone)
}

// change calls f at the present place and wakes the source.
func (p *Player) change(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.nowNs = p.now()
	p.set = time.Now()
	f()
	close(p.changed)
	p.changed = make(chan struct{})
}

// Pause halts the replay or continues it.
func (p *Player) Pause() { p.change(func() { p.paused = !p.paused }) }

// Faster multiplies the speed.
func (p *Player) Faster(factor float64) {
	p.change(func() { p.speed = min(max(p.speed*factor, minSpeed), maxSpeed) })
}

// Seek moves the place by a time. Backwards, the recording is read again from its beginning.
func (p *Player) Seek(by time.Duration) {
	p.change(func() {
		to := p.within(p.nowNs + by.Nanoseconds())
		if to < p.nowNs {
			p.rewinds++
		}
		p.nowNs = to
	})
}

// Step pauses and moves the place by a time.
func (p *Player) Step(by time.Duration) {
	p.change(func() { p.paused = true })
	p.Seek(by)
}

// PlayerState is the place of a replay.
type PlayerState struct {
	Place, Length time.Duration // times since the first record
	Speed         float64
	Paused, Ended bool
}

// State returns the place of the replay.
func (p *Player) State() PlayerState {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.now()
	return PlayerState{
		time.Duration(now - p.o.StartNs), time.Duration(p.o.EndNs - p.o.StartNs), p.speed, p.paused, now >= p.o.EndNs,
	}
}

var errRewound = errors.New("the replay was rewound")

// play fills the table at the pace of the clock until the context ends.
func (p *Player) play(ctx context.Context, sink tcp.Sink) error {
	p.change(func() {})
	for {
		p.mu.Lock()
		rewinds := p.rewinds
		p.mu.Unlock()
		p.table.reset()
		err := p.o.Scan(ctx, &paced{
			Sink: sink, reach: func(ns int64) error { return p.await(ctx, ns, rewinds) },
		})
		if err == nil { // the end: only a rewind goes on from here
			err = p.await(ctx, math.MaxInt64, rewinds)
		}
		if ctx.Err() != nil {
			return nil
		}
		if !errors.Is(err, errRewound) {
			return err
		}
	}
}

// await waits for a time of the recording. It fails if the context ends or the replay is rewound.
func (p *Player) await(ctx context.Context, ns int64, rewinds int) error {
	for {
		p.mu.Lock()
		now := p.now()
		paused := p.paused
		speed := p.speed
		changed := p.changed
		rewound := p.rewinds != rewinds
		p.mu.Unlock()
		switch {
		case ctx.Err() != nil:
			return ctx.Err()
		case rewound:
			return errRewound
		case now >= ns:
			return nil
		}
		pause := make(<-chan time.Time)
		if !paused && ns <= p.o.EndNs {
			timer := time.NewTimer(time.Duration(min(float64(ns-now)/speed, 1e9)) + time.Millisecond)
			defer timer.Stop()
			pause = timer.C
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-pause:
		}
	}
}

// errShown ends a scan after the only round of lines.
var errShown = errors.New("shown once")

// A replay without a speed prints at most freeRows rows, and rowsPerRecord more for each record.
// After that its interval grows by stretch with each round. Otherwise a recording of 1 MB, with as
// many flows as records, would print gigabytes.
const (
	freeRows      = 50_000
	rowsPerRecord = 4
	stretch       = 4
)

// Stretched returns the interval of a replay that printed less often than it was asked to, else 0.
func (p *Player) Stretched() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.stretched
}

// show fills the table and calls show whenever the time of the recording has gone on by an
// interval. It skips intervals without records.
func (p *Player) show(ctx context.Context, sink tcp.Sink, o *Options, show func() error) error {
	interval := max(o.Interval.Nanoseconds(), 1)
	next := p.within(p.o.FromNs) + interval
	var rows int64
	begun := time.Now()
	from := p.within(p.o.FromNs)
	at := func(ns int64) error {
		p.mu.Lock()
		p.nowNs = p.within(ns)
		p.mu.Unlock()
		if p.speed > 0 {
			due := float64(ns-from)/p.speed - float64(time.Since(begun))
			select {
			case <-ctx.Done():
			case <-time.After(time.Duration(min(max(due, 0), math.MaxInt64/2))):
			}
		}
		if ctx.Err() != nil {
			return ctx.Err()
		}
		return show()
	}
	records := &paced{Sink: sink}
	records.reach = func(ns int64) error {
		if ctx.Err() != nil {
			return ctx.Err()
		}
		if ns < next {
			return nil
		}
		if err := at(next); err != nil {
			return err
		}
		rows += int64(p.table.count())
		if p.speed == 0 && rows > freeRows+rowsPerRecord*records.seen {
			interval = min(interval, math.MaxInt64/stretch) * stretch
			p.mu.Lock()
			p.stretched = time.Duration(interval)
			p.mu.Unlock()
		}
		if o.Once {
			return errShown
		}
		// A hostile recording may span more than int64, and end at its greatest value.
		late := (uint64(ns) - uint64(next)) % uint64(interval)
		next = ns + interval - int64(late)
		if next < ns {
			next = math.MaxInt64
		}
		return nil
	}
	err := p.o.Scan(ctx, records)
	switch {
	case errors.Is(err, errShown):
		return nil
	case ctx.Err() != nil:
		return nil // interrupted, as a live observation is
	case err != nil:
		return err
	}
	p.mu.Lock()
	p.nowNs = p.o.EndNs
	p.mu.Unlock()
	return show()
}

// paced is a sink that waits for the time of the records before it passes them on.
type paced struct {
	tcp.Sink
	reach func(ns int64) error
	seen  int64 // records
	order []int // scratch of Samples
	row   tcp.Sample
	slice *tcp.Batch
}

// sliceNs is the time that a batch of a replay covers. A recording's batches cover up to a second.
const sliceNs = 50_000_000

// Samples passes the samples of all flows on in the order of time, in short batches.
func (s *paced) Samples(b *tcp.Batch) error {
	s.order = s.order[:0]
	for i := range b.Len() {
		s.order = append(s.order, i)
	}
	slices.SortStableFunc(s.order, func(i, j int) int { return cmp.Compare(b.TimeNs[i], b.TimeNs[j]) })
	if s.slice == nil {
		s.slice = tcp.NewBatch(1 << 8)
	}
	for i, at := range s.order {
		b.Row(at, &s.row)
		s.slice.Append(&s.row)
		if i+1 < len(s.order) && b.TimeNs[s.order[i+1]]/sliceNs == s.row.TimeNs/sliceNs {
			continue
		}
		s.seen += int64(s.slice.Len())
		if err := s.reach(s.row.TimeNs); err != nil {
			return err
		}
		if err := s.Sink.Samples(s.slice); err != nil {
			return err
		}
		s.slice.Reset()
	}
	return nil
}

// Event waits for the event.
func (s *paced) Event(e *tcp.Event) error {
	s.seen++
	if err := s.reach(e.TimeNs); err != nil {
		return err
	}
	return s.Sink.Event(e)
}

package metrics

import (
	"cmp"
	"context"
	"maps"
	"slices"
	"sync"
	"time"

	"airtide/internal/diagnose"
	"airtide/internal/stats"
	"airtide/internal/sys/metrics"
	"airtide/internal/tcp"
)

const (
	// window is the time after which the limits are judged and the RTTs begin anew.
	window = 10 * time.Second
	// windowBins bounds the memory of a window's engine, to about 20 MB.
	windowBins = 1 << 15
	// lateness is longer than a sample may come after its flow's end (tcp.Sink).
	lateness = 2 * time.Second
)

// Observer sums up flows. It is a tcp.Sink for one goroutine and may be gathered by others
// meanwhile.
type Observer struct {
	options diagnose.Options

	mu       sync.Mutex
	flows    map[tcp.FlowID]*connection
	groups   map[name]*group
	engine   *diagnose.Engine
	beginNs  int64 // begin of the window; 0 before the first sample
	judging  sync.WaitGroup
	loss     tcp.Loss
	touched  []*connection // scratch of Samples
	batch    uint64
	carried  *tcp.Batch // last samples, which begin the next window
	maxGroup int
	newest   tcp.FlowID
	radios   map[tcp.RadioID]*radio
}

// connection is a flow.
type connection struct {
	flow   tcp.Flow
	group  *group
	last   tcp.Sample
	seen   bool
	counts [4]stats.Counter // acknowledged, received, retransmitted, spurious
	minRtt int64
	// closedNs is the time of its end, 0 before. Samples of it may come up to lateness later.
	closedNs int64
	batch    uint64
	row      int
}

// New returns an observer without flows.
func New(source diagnose.Source) *Observer {
	o := diagnose.Options{Source: source, MaxBins: windowBins}
	return &Observer{
		options: o, engine: diagnose.New(o), flows: map[tcp.FlowID]*connection{}, groups: map[name]*group{},
		radios: map[tcp.RadioID]*radio{}, carried: tcp.NewBatch(0), maxGroup: maxGroups,
	}
}

// Set returns the metrics of the observer.
func (o *Observer) Set() *metrics.Set { return &metrics.Set{Metrics: all, Gather: o.gather} }

// gather returns the points at present.
func (o *Observer) gather(context.Context) ([]metrics.Point, []metrics.Label, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	least := map[*group]int64{}
	for _, c := range o.flows {
		if known, ok := least[c.group]; c.minRtt > 0 && c.closedNs == 0 && (!ok || c.minRtt < known) {
			least[c.group] = c.minRtt
		}
	}
	list := []metrics.Point{
		{Metric: lost, Value: float64(o.loss.Total())}, {Metric: untracked, Value: float64(o.loss.Untracked)},
	}
	for _, n := range sortedNames(o.groups) {
		list = append(list, o.groups[n].points(n, least[o.groups[n]])...)
	}
	byID := func(a, b tcp.RadioID) int {
		return cmp.Or(cmp.Compare(a.NetNS, b.NetNS), cmp.Compare(a.Interface, b.Interface))
	}
	for _, id := range slices.SortedFunc(maps.Keys(o.radios), byID) {
		list = append(list, o.radios[id].points(id)...)
	}
	return list, nil, nil
}

// groupOf returns a group, and makes it if there is room. A group without connections goes when its
// place is needed.
func (o *Observer) groupOf(n name) *group {
	if g := o.groups[n]; g != nil {
		return g
	}
	if len(o.groups) >= o.maxGroup {
		maps.DeleteFunc(o.groups, func(_ name, g *group) bool { return g.connections == 0 })
	}
	if len(o.groups) >= o.maxGroup {
		n = name{rest, rest}
		if g := o.groups[n]; g != nil {
			return g
		}
	}
	g := newGroup()
	o.groups[n] = g
	return g
}

// Flow takes a new flow, or more knowledge of a flow.
func (o *Observer) Flow(f *tcp.Flow) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	c := o.flows[f.ID]
	if c == nil {
		if f.ID <= o.newest { // it has ended
			return nil
		}
		o.newest = f.ID
		c = &connection{}
		o.flows[f.ID] = c
		c.group = o.groupOf(nameOf(f))
		c.group.connections++
	} else if f.PID == 0 && f.Comm == "" {
		f = &c.flow
	} else if wanted := nameOf(f); wanted != nameOf(&c.flow) && c.closedNs == 0 {
		c.group.connections--
		c.group = o.groupOf(wanted)
		c.group.connections++
	}
	c.flow = *f
	return o.engine.Flow(f)
}

// Samples takes a batch.
func (o *Observer) Samples(b *tcp.Batch) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if b.Len() == 0 {
		return nil
	}
	o.roll(b.TimeNs[b.Len()-1])
	o.batch++
	o.touched = o.touched[:0]
	var c *connection
	for i, id := range b.Flow {
		if c == nil || c.flow.ID != id {
			c = o.flows[id]
		}
		if c == nil {
			continue
		}
		if c.batch != o.batch {
			c.batch = o.batch
			o.touched = append(o.touched, c)
		}
		c.row = i
		if v := b.Cols[tcp.RttUs][i]; v > 0 {
			c.group.rtt.Add(v)
		} else if v == tcp.Absent {
			c.group.rtt.Add(b.Cols[tcp.SrttUs][i])
		}
	}
	for _, c := range o.touched {
		b.Row(c.row, &c.last)
		c.take()
	}
	return o.engine.Samples(b)
}

// take adds the growth since the last sample to the group. A connection that was opened during the
// observation began at zero.
func (c *connection) take() {
	g := c.group
	to := [...]*int64{&g.sent, &g.received, &g.counted, &g.retransmits[typeSpurious]}
	for i, f := range [...]tcp.Field{tcp.AckedBytes, tcp.ReceivedBytes, tcp.RetransmitsPackets, tcp.DSackDups} {
		v, ok := c.last.Get(f)
		if !ok {
			continue
		}
		if !c.seen && !c.flow.Inherited {
			c.counts[i].Add(0)
		}
		c.counts[i].Add(v)
		*to[i] += c.counts[i].Take()
	}
	c.seen = true
	if v := c.last.Values[tcp.MinRttUs]; v > 0 {
		c.minRtt = v
	}
}

// Event takes an event.
func (o *Observer) Event(e *tcp.Event) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	if err := o.engine.Event(e); err != nil {
		return err
	}
	c := o.flows[e.Flow]
	if c == nil {
		return nil
	}
	switch e.Kind {
	case tcp.EventOpen:
		if !c.flow.Inherited && e.From != e.To {
			c.group.opened++
		}
	case tcp.EventRetransmit:
		c.group.retransmits[typeOf(e.Cause)] += max(1, e.Value)
	case tcp.EventZeroWindow:
		c.group.zeroWindows++
	case tcp.EventClose:
		if e.Reason != tcp.ReasonStillOpen && c.closedNs == 0 {
			c.group.closed[e.Reason]++
			c.group.connections--
			c.closedNs = e.TimeNs
		}
	}
	return nil
}

// Lost takes the counts of lost records.
func (o *Observer) Lost(l *tcp.Loss) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.loss = *l
	o.loss.PerCPU = append([]uint64{}, l.PerCPU...)
	return o.engine.Lost(l)
}

// roll ends the window if it is over. Its limits are judged beside the observation. Each flow's
// last sample begins the next window, so no time is left out.
func (o *Observer) roll(nowNs int64) {
	if o.beginNs == 0 {
		o.beginNs = nowNs
	}
	if nowNs-o.beginNs < window.Nanoseconds() {
		return
	}
	o.beginNs = nowNs
	for _, g := range o.groups {
		g.lastRTT = g.rtt
		g.rtt = stats.NewSketch()
	}
	ended := o.engine
	o.engine = diagnose.New(o.options)
	o.carried.Reset()
	groups := map[tcp.FlowID]*group{}
	for id, c := range o.flows {
		groups[id] = c.group
		if c.closedNs > 0 {
			if nowNs-c.closedNs > lateness.Nanoseconds() {
				delete(o.flows, id)
			}
			continue
		}
		f := c.flow
		f.Inherited = f.Inherited || c.seen
		_ = o.engine.Flow(&f)
		if c.seen {
			o.carried.Append(&c.last)
		}
	}
	_ = o.engine.Samples(o.carried)
	for _, r := range o.radios {
		if r.described.Kind == tcp.RadioInterface {
			_ = o.engine.Radio(&r.described)
		}
	}
	o.judging.Go(func() { o.judge(ended, groups) })
}

// judge adds the times of a window to the groups.
func (o *Observer) judge(ended *diagnose.Engine, groups map[tcp.FlowID]*group) {
	report := ended.Report()
	o.mu.Lock()
	defer o.mu.Unlock()
	for i := range report.Connections {
		c := &report.Connections[i]
		g := groups[c.ID]
		if g == nil { // it has ended
			g = o.groupOf(nameOf(&c.Flow))
		}
		for _, s := range c.Shares {
			g.limited[s.Limit] += s.Share * c.Seconds
		}
	}
}

// Radio takes a record about a radio, which may limit flows.
func (o *Observer) Radio(r *tcp.Radio) error {
	o.mu.Lock()
	defer o.mu.Unlock()
	of := o.radios[r.ID()]
	if of == nil && len(o.radios) < maxRadios {
		of = &radio{stations: map[string]tcp.Radio{}, events: map[tcp.RadioKind]int64{}}
		o.radios[r.ID()] = of
	}
	if of != nil {
		of.take(r)
	}
	return o.engine.Radio(r)
}

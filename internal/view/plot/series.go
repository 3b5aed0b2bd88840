package plot

import (
	"cmp"
	"math"
	"slices"

	"airtide/internal/diagnose"
	"airtide/internal/tcp"
)

// Bounds of a Series. A curve of 8192 buckets has at least 3072 after a merge, more than a figure
// of 16 cm has pixels at 300 dpi (1890). All curves together have at most 64 MiB of buckets; beyond
// it they become coarser.
const (
	curveLimit    = 8192
	minCurveLimit = 64
	totalLimit    = 64 << 20 / 56
	markLimit     = 8192
)

// Series is a tcp.Sink that collects the data of figures of some flows.
type Series struct {
	fields   []tcp.Field
	segments bool
	volumes  bool                // counts the bytes of flows
	picked   map[tcp.FlowID]bool // nil: all
	extent
	limit int // buckets of a curve at most
	rows  int // rows since memory was last checked
	flows map[tcp.FlowID]*FlowSeries
	lost  tcp.Loss
	// diagnosis is nil if no figure needs it.
	diagnosis *diagnose.Engine
}

// NewSeries makes a Series for figures of the given flows, of all when none is given. Of the
// options it uses OriginNs, From and To.
func NewSeries(kinds []Kind, flows []tcp.FlowID, o Options) *Series {
	s := &Series{extent: extentOf(o), limit: curveLimit, flows: map[tcp.FlowID]*FlowSeries{}}
	for _, k := range kinds {
		d := definitions[k]
		s.fields = append(s.fields, d.fields...)
		s.segments = s.segments || d.segments
		s.volumes = true
		if d.limits && s.diagnosis == nil {
			s.diagnosis = diagnose.New(diagnose.Options{Source: o.Diagnosis})
		}
	}
	slices.Sort(s.fields)
	s.fields = slices.Compact(s.fields)
	if len(flows) > 0 {
		s.picked = map[tcp.FlowID]bool{}
		for _, id := range flows {
			s.picked[id] = true
		}
	}
	return s
}

// Flows are the collected flows in the order of their numbers.
func (s *Series) Flows() []*FlowSeries {
	all := make([]*FlowSeries, 0, len(s.flows))
	for _, f := range s.flows {
		all = append(all, f)
	}
	slices.SortFunc(all, func(a, b *FlowSeries) int { return cmp.Compare(a.Flow.ID, b.Flow.ID) })
	return all
}

// LostRecords is the number of records that the recording lacks, for a note below the figure.
func (s *Series) LostRecords() uint64 { return s.lost.Total() }

// Flow implements tcp.Sink.
func (s *Series) Flow(f *tcp.Flow) error {
	fs := s.flow(f.ID)
	if fs == nil {
		return nil
	}
	fs.Flow = *f
	if s.diagnosis != nil {
		return s.diagnosis.Flow(f)
	}
	return nil
}

// Lost implements tcp.Sink.
func (s *Series) Lost(l *tcp.Loss) error {
	s.lost = *l
	s.lost.PerCPU = slices.Clone(l.PerCPU)
	if s.diagnosis != nil {
		return s.diagnosis.Lost(l)
	}
	return nil
}

// flow finds or makes the series of a flow. It is nil if the flow was not chosen.
func (s *Series) flow(id tcp.FlowID) *FlowSeries {
	if fs := s.flows[id]; fs != nil {
		return fs
	}
	if s.picked != nil && !s.picked[id] {
		return nil
	}
	fs := &FlowSeries{
		Flow: tcp.Flow{ID: id}, series: s, FirstNs: math.MaxInt64, LastNs: math.MinInt64,
		held: make([]int64, len(s.fields)), curves: make([]curve, len(s.fields)), caChanges: curve{limit: s.limit},
	}
	for i := range fs.curves {
		fs.curves[i].limit = s.limit
		fs.held[i] = tcp.Absent
	}
	for i := range fs.marks {
		fs.marks[i].limit = markLimit
	}
	s.flows[id] = fs
	return fs
}

// extent is the time of a figure.
type extent struct {
	o      Options
	origin bool // o.OriginNs is known
}

func extentOf(o Options) extent { return extent{o, o.OriginNs != 0} }

// bounds are the times between which samples and events are kept. An extent without an origin
// starts at t.
func (s *extent) bounds(t int64) (from, to int64) {
	if !s.origin {
		s.origin = true
		s.o.OriginNs = t
	}
	from = s.o.OriginNs + int64(s.o.From)
	to = math.MaxInt64
	if s.o.From == 0 {
		from = math.MinInt64
	}
	if s.o.To != 0 {
		to = s.o.OriginNs + int64(s.o.To)
	}
	return from, to
}

// Samples implements tcp.Sink.
func (s *Series) Samples(b *tcp.Batch) error {
	var fs *FlowSeries
	for i, t := range b.TimeNs {
		from, to := s.bounds(t)
		if id := b.Flow[i]; fs == nil || fs.Flow.ID != id {
			fs = s.flow(id)
		}
		if fs == nil || !fs.reaches(t, from, to) {
			continue
		}
		if t < from {
			for j, f := range s.fields {
				fs.held[j] = valueAt(b, f, i)
			}
			continue
		}
		fs.Samples++
		if s.volumes {
			fs.add(b, i)
		}
		for j, f := range s.fields {
			c := &fs.curves[j]
			if c.empty() && fs.held[j] != tcp.Absent {
				c.add(from, fs.held[j])
			}
			c.add(t, valueAt(b, f, i))
		}
	}
	s.rows += b.Len()
	if s.rows >= 1<<16 {
		s.rows = 0
		s.shrink()
	}
	if s.diagnosis != nil {
		return s.diagnosis.Samples(b)
	}
	return nil
}

// shrink makes all curves coarser if there are too many buckets.
func (s *Series) shrink() {
	total := 0
	for _, fs := range s.flows {
		for i := range fs.curves {
			total += len(fs.curves[i].buckets)
		}
	}
	for ; total > totalLimit && s.limit > minCurveLimit; total /= 2 {
		s.limit /= 2
		for _, fs := range s.flows {
			for i := range fs.curves {
				c := &fs.curves[i]
				c.shrink(s.limit)
				c.buckets = slices.Clip(slices.Clone(c.buckets)) // a copy, so that the memory becomes free
			}
		}
	}
}

// Event implements tcp.Sink.
func (s *Series) Event(e *tcp.Event) error {
	from, to := s.bounds(e.TimeNs)
	fs := s.flow(e.Flow)
	if fs != nil && s.diagnosis != nil {
		if err := s.diagnosis.Event(e); err != nil {
			return err
		}
	}
	if fs == nil || !fs.reaches(e.TimeNs, from, to) {
		return nil
	}
	switch e.Kind {
	case tcp.EventCAState:
		switch {
		case e.TimeNs < from: // only the last state before the start shows
			fs.caChanges.buckets = fs.caChanges.buckets[:0]
		case fs.caChanges.empty():
			fs.caChanges.add(fs.FirstNs, int64(e.From))
		}
		fs.caChanges.add(max(e.TimeNs, from), int64(e.To))
	case tcp.EventCCChange:
		if len(fs.controls) == maxControls {
			break
		}
		fs.controls = append(fs.controls, controlChange{e.TimeNs, e.Text})
	}
	if e.TimeNs < from {
		return nil
	}
	fs.Events++
	if e.Code != tcp.CodeNone && e.Code < tcp.NumErrorCodes {
		fs.marks[markCode+markClass(e.Code)].add(mark{t: e.TimeNs, n: 1})
	}
	if !s.segments {
		return nil
	}
	switch e.Kind {
	case tcp.EventRetransmit:
		packets := int(max(1, e.Value))
		again := mark{t: e.TimeNs, n: packets, lo: e.Seq, hi: e.EndSeq}
		fs.marks[markRetransmit+markClass(min(e.Cause, tcp.CauseOther))].add(again)
	case tcp.EventSack, tcp.EventDsack:
		for i, b := range e.Blocks[:min(e.NumBlocks, tcp.MaxBlocks)] {
			class := markSack
			if e.Kind == tcp.EventDsack && i == 0 {
				class = markDsack
			}
			fs.marks[class].add(mark{t: e.TimeNs, n: 1, lo: b.Start, hi: b.End})
		}
	}
	return nil
}

// Radio implements tcp.Sink.
func (s *Series) Radio(r *tcp.Radio) error {
	if s.diagnosis != nil {
		return s.diagnosis.Radio(r)
	}
	return nil
}

package screen

import (
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	"airtide/internal/diagnose"
	"airtide/internal/stats"
	"airtide/internal/tcp"
	"airtide/internal/units"
)

// These sizes bound the memory of a Table. A flow takes about 2 kB plus its history; history and
// events are allocated on demand. Flows beyond manyFlows have smaller limits, so 10 000 busy flows
// stay below 100 MB.
const (
	defaultMaxFlows = 20_000
	manyFlows       = 1_000
	historyPoints   = 600
	historyFew      = 120
	eventsKept      = 200
	eventsKeptFew   = 16
	// limitBins bounds the times that the diagnosis keeps of all flows, about 20 MB.
	limitBins = 1 << 15
)

const (
	// rateWindow is the time over which a rate is taken.
	rateWindow = 2 * time.Second
	// radioWindow is the time over which a radio is summed up.
	radioWindow = 3 * time.Second
	// sinkDelay is the greatest delay of a sample (tcp.Sink's flush period): a flow is not called
	// slow before that.
	sinkDelay = time.Second
	// linger is the time for which a closed flow remains in the table.
	linger = 5 * time.Second
)

// Source describes the origin of the samples.
type Source struct {
	// Name is shown in the header, for instance "bpf, per ACK" or "diag, polled every 100ms".
	Name string
	// Unseen are the error codes that this source cannot observe; their counts are absent, not
	// zero.
	Unseen []tcp.ErrorCode
}

// TableOptions configures a Table. The zero value suits a source that samples every ACK.
type TableOptions struct {
	// SampleEvery is the time between two samples of a busy flow (poll interval or density), 0 for
	// every ACK. Rates are taken over at least twice this time.
	SampleEvery time.Duration
	// MaxFlows bounds the number of kept flows; zero means 20 000. Further flows are counted as
	// untracked.
	MaxFlows int
	// Diagnosis has the kind of the source, for the limits of rates, and whether it tells drops.
	Diagnosis diagnose.Options
}

// Table is the live model of all flows: last sample, rates, counts, recent events and short
// histories. It is a tcp.Sink for one goroutine and may be read by others meanwhile.
type Table struct {
	mu         sync.Mutex
	source     Source
	flows      map[tcp.FlowID]*connection
	maxFlows   int
	windowNs   int64
	delayNs    int64
	latestNs   int64 // time of the newest sample of any flow
	samples    int64
	samplesIn  stats.Meter
	loss       tcp.Loss
	untracked  uint64        // flows that found this table full
	ended      []ended       // in the order of their ends
	touched    []*connection // scratch of Samples
	batchCount uint64
	row        tcp.Sample // scratch of Samples
	diagnosis  diagnose.Options
	engine     *diagnose.Engine
}

// NewTable makes an empty table.
func NewTable(o TableOptions) *Table {
	if o.MaxFlows <= 0 {
		o.MaxFlows = defaultMaxFlows
	}
	limits := diagnose.Options{
		Source: o.Diagnosis.Source, Drops: o.Diagnosis.Drops,
		Window: historySpan, MaxFlows: o.MaxFlows, MaxBins: limitBins,
	}
	return &Table{
		flows: map[tcp.FlowID]*connection{}, maxFlows: o.MaxFlows, diagnosis: limits, engine: diagnose.New(limits),
		windowNs: max(rateWindow, 2*o.SampleEvery).Nanoseconds(),
		delayNs:  max(sinkDelay, sinkDelay+o.SampleEvery).Nanoseconds(),
	}
}

// SetSource sets the origin of the samples. A source that chooses its own method calls it after the
// choice.
func (t *Table) SetSource(s Source) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.source = Source{Name: s.Name, Unseen: slices.Clone(s.Unseen)}
}

// reset forgets everything but the source.
func (t *Table) reset() {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.flows = map[tcp.FlowID]*connection{}
	t.engine = diagnose.New(t.diagnosis)
	t.latestNs = 0
	t.samples = 0
	t.samplesIn = stats.Meter{}
	t.loss = tcp.Loss{}
	t.untracked = 0
	t.ended = nil
}

// Flow announces a flow or updates it.
func (t *Table) Flow(f *tcp.Flow) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.flows[f.ID]; c != nil {
		c.announceAgain(f)
		return t.engine.Flow(f)
	}
	if len(t.flows) >= t.maxFlows {
		t.prune(max(t.latestNs, f.FirstNs))
	}
	if len(t.flows) >= t.maxFlows {
		t.untracked++
		return nil
	}
	t.flows[f.ID] = newConnection(f, len(t.flows) >= manyFlows)
	return t.engine.Flow(f)
}

// Samples takes a batch. Every row costs a look-up and its place in the history; only the last row
// of each flow is taken over as a whole.
func (t *Table) Samples(b *tcp.Batch) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.batchCount++
	t.touched = t.touched[:0]
	cwnd := b.Cols[tcp.CwndPackets]
	rtt := b.Cols[tcp.RttUs]
	srtt := b.Cols[tcp.SrttUs]
	acked := b.Cols[tcp.AckedBytes]
	received := b.Cols[tcp.ReceivedBytes]
	var c *connection
	for i, id := range b.Flow {
		if c == nil || c.flow.ID != id {
			c = t.flows[id]
			if c == nil {
				continue
			}
		}
		if c.batch != t.batchCount {
			c.batch = t.batchCount
			t.touched = append(t.touched, c)
		}
		c.lastRow = i
		r := rtt[i]
		if r == tcp.Absent {
			r = srtt[i]
		}
		delivered := acked[i]
		if n := received[i]; n != tcp.Absent {
			delivered = max(delivered, 0) + n
		}
		c.history.add(b.TimeNs[i], cwnd[i], r, delivered)
	}
	for _, c := range t.touched {
		b.Row(c.lastRow, &t.row)
		c.take(&t.row, t.windowNs)
		t.latestNs = max(t.latestNs, t.row.TimeNs)
	}
	t.samples += int64(b.Len())
	if t.latestNs != 0 {
		t.samplesIn.Add(t.latestNs, t.samples, t.windowNs)
	}
	return t.engine.Samples(b)
}

// Event counts the event and adds it to the flow's last events.
func (t *Table) Event(e *tcp.Event) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.flows[e.Flow]; c != nil {
		before := c.closed
		c.happened(e)
		if c.closed && !before {
			t.ended = append(t.ended, ended{e.Flow, e.TimeNs})
		}
		return t.engine.Event(e)
	}
	return nil
}

// Lost adopts the counts of lost records.
func (t *Table) Lost(l *tcp.Loss) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	per := append(t.loss.PerCPU[:0], l.PerCPU...)
	t.loss = *l
	t.loss.PerCPU = per
	return t.engine.Lost(l)
}

// Rows is the state of every flow at a time (CLOCK_MONOTONIC nanoseconds), filtered and sorted.
// Flows that have been closed for five seconds leave the table here.
func (t *Table) Rows(nowNs int64, s Sort, f Filter) []*Row {
	return Arrange(t.snapshot(nowNs), s, f)
}

func (t *Table) snapshot(nowNs int64) []*Row {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.prune(nowNs)
	all := make([]Row, len(t.flows))
	rows := make([]*Row, 0, len(t.flows))
	for _, c := range t.flows {
		r := &all[len(rows)]
		t.fill(r, c, nowNs)
		rows = append(rows, r)
	}
	return rows
}

func (t *Table) fill(r *Row, c *connection, nowNs int64) {
	c.fill(r)
	for _, code := range t.source.Unseen {
		if n := r.Errors.count(code); n != nil && *n == 0 {
			*n = tcp.Absent
		}
	}
	r.SendRate = t.rate(&c.acked, nowNs).times(8)
	r.ReceiveRate = t.rate(&c.received, nowNs).times(8)
	t.judge(r, c, nowNs)
	r.Losses = t.engine.Losses(c.flow.ID)
	r.Idle = !r.Closed && r.SendRate <= 0 && r.ReceiveRate <= 0 && !c.youngerThan(nowNs-t.windowNs-t.delayNs)
}

// judgeEvery is the time between two judgements of a flow.
const judgeEvery = int64(time.Second)

// judge writes the limit of the rate. A flow without new data keeps its limit.
func (t *Table) judge(r *Row, c *connection, nowNs int64) {
	if nowNs-c.judgedNs >= judgeEvery || nowNs < c.judgedNs {
		c.judgedNs = nowNs
		c.limit, c.certainty = t.engine.Now(c.flow.ID, nowNs)
	}
	r.Limit = Text(c.limit.String())
	r.Certainty = Text(c.certainty.String())
}

// rate returns a meter's growth per second. It is absent if there are too few readings.
func (t *Table) rate(m *stats.Meter, nowNs int64) Value {
	if v, ok := m.PerSecond(nowNs, t.windowNs, t.delayNs); ok {
		return Value(v)
	}
	return tcp.Absent
}

// ended is a flow that closed.
type ended struct {
	flow tcp.FlowID
	ns   int64
}

// prune forgets flows that closed some time ago.
func (t *Table) prune(nowNs int64) {
	for len(t.ended) > 0 && nowNs-t.ended[0].ns > linger.Nanoseconds() {
		e := t.ended[0]
		t.ended = t.ended[1:]
		if c := t.flows[e.flow]; c != nil && c.closed && c.closedNs == e.ns {
			delete(t.flows, e.flow)
			t.engine.Forget(e.flow)
		}
	}
}

// Detail is one flow with its past.
type Detail struct {
	Row     *Row
	History []Point       // oldest first
	Events  []RecentEvent // oldest first
	// Finding is the diagnosis of the history.
	Finding diagnose.Connection
}

// Detail looks one flow up; ok is false when the table does not hold it any more.
func (t *Table) Detail(nowNs int64, id tcp.FlowID) (d Detail, ok bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	c := t.flows[id]
	if c == nil {
		return Detail{}, false
	}
	d = Detail{Row: new(Row), History: c.history.points(), Events: c.events.all()}
	t.fill(d.Row, c, nowNs)
	d.Finding, _ = t.engine.Connection(id)
	return d, true
}

// Status is the content of the header.
type Status struct {
	Source           string `json:"source"`
	Flows            int    `json:"flows"`
	Samples          int64  `json:"samples"`
	SamplesPerSecond Value  `json:"samples_per_second"`
	// Lost counts records that the ring buffers had no room for, or that came without their flow's
	// first record.
	Lost       uint64   `json:"lost_records"`
	LostPerCPU []uint64 `json:"lost_per_cpu"`
	// Untracked counts flows that were not followed because a table was full.
	Untracked uint64 `json:"untracked_flows"`
	// Radios sums up the host's Wi-Fi interfaces in the last seconds, if they are observed.
	Radios []diagnose.Radio `json:"radios,omitempty"`
}

// Status sums the observation up at a time.
func (t *Table) Status(nowNs int64) Status {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.prune(nowNs)
	return Status{
		Source: t.source.Name, Flows: len(t.flows), Samples: t.samples,
		SamplesPerSecond: t.rate(&t.samplesIn, nowNs),
		Lost:             t.loss.Total(), LostPerCPU: append([]uint64{}, t.loss.PerCPU...),
		Untracked: t.loss.Untracked + t.untracked, Radios: t.engine.Radios(nowNs - radioWindow.Nanoseconds()),
	}
}

// count returns the number of flows.
func (t *Table) count() int {
	t.mu.Lock()
	defer t.mu.Unlock()
	return len(t.flows)
}

// endpoints names a flow for an event's line.
func (t *Table) endpoints(id tcp.FlowID) (local, remote Text) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if c := t.flows[id]; c != nil {
		return endpoint(c.flow.Local), endpoint(c.flow.Remote)
	}
	return "", ""
}

func endpoint(ap netip.AddrPort) Text {
	if !ap.IsValid() {
		return ""
	}
	return Text(tcp.Endpoint(ap))
}

func (s *Status) lossText() string {
	text := "lost " + units.Count(s.Lost, "record")
	if s.Untracked > 0 {
		text += fmt.Sprintf(", %s untracked", units.Count(s.Untracked, "flow"))
	}
	return text
}

// Radio takes a record about a radio.
func (t *Table) Radio(r *tcp.Radio) error {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.engine.Radio(r)
}

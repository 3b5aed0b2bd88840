package diagnose

import (
	"cmp"
	"slices"
	"time"

	"airtide/internal/tcp"
)

// Source is the kind of source that the samples come from.
type Source uint8

// The sources.
const (
	PerAck   Source = iota // a sample for each arriving segment
	Polled                 // a sample at each poll
	Captured               // a sample for each captured segment, without the state of a kernel
)

// SourceOf is the source by the name of a recording's source: Polled for "diag", otherwise PerAck.
func SourceOf(name string) Source {
	if name == "diag" {
		return Polled
	}
	return PerAck
}

// Options configure an engine.
type Options struct {
	Source Source
	// Drops reports whether the drops of this host were recorded.
	Drops bool
	// MaxBins is the greatest number of bins that all flows keep together; 0 means maxBins.
	MaxBins int
	// Window bounds the time that each flow remembers; 0 is its whole life. Older bins are dropped,
	// and in the shorter life neighbours need not be merged.
	Window time.Duration
	// MaxFlows is the greatest number of flows that are kept; 0 means MaxFlows.
	MaxFlows int
}

const (
	// maxBins needs about 80 MB.
	maxBins = 1 << 17
	// mostBins and leastBins are the limits of the bins of one flow. A flow that has more merges
	// neighbours.
	mostBins  = 512
	leastBins = 16
	// leastWindowBins cover the time that Now judges.
	leastWindowBins = 6
	// MaxFlows is the number of flows that an engine judges. With their fewest bins they need about
	// 100 MB. If there are more, a quarter goes: closed ones first, then those with the fewest
	// bytes. Such a flow comes back when it has more bytes than the least of the others had.
	MaxFlows = 10_240
)

// Engine is a tcp.Sink.
type Engine struct {
	options Options
	flows   tcp.ByFlow[*flow]
	order   []*flow // in the order of their first sight
	// free are flows that were left out. Others take their memory.
	free    []*flow
	leftOut tcp.FlowSet
	least   int64  // bytes of the least flow that was kept when others were left out
	ranks   []rank // makeRoom's
	lost    uint64
	sampled bool
	has     [len(essential)]bool // fields that a sample has
	radios  radios
}

// New returns an empty engine.
func New(o Options) *Engine {
	if o.MaxBins == 0 {
		o.MaxBins = maxBins
	}
	if o.MaxFlows == 0 {
		o.MaxFlows = MaxFlows
	}
	return &Engine{options: o}
}

// Fields returns the fields that the engine reads, so that a reader decodes only these.
func Fields() []tcp.Field {
	return []tcp.Field{
		tcp.AckBytes, tcp.SeqBytes, tcp.SegmentBytes, tcp.CwndPackets, tcp.SsthreshPackets, tcp.InFlightPackets,
		tcp.CAStateField, tcp.MSSBytes, tcp.CwndLimited, tcp.SrttUs, tcp.RttUs, tcp.MinRttUs, tcp.ReceiverRttUs,
		tcp.SendWindowBytes, tcp.ReceiveWindowBytes, tcp.AckedBytes, tcp.SentBytes, tcp.WrittenBytes,
		tcp.ReceivedBytes, tcp.ReadBytes, tcp.SendBufferBytes, tcp.ReceiveBufferBytes, tcp.SendMemoryBytes,
		tcp.DeviceQueueBytes, tcp.OutOfOrderPackets, tcp.SendBufferFixed, tcp.ReceiveBufferFixed,
		tcp.DeliveredPackets, tcp.RetransmitsPackets, tcp.PacingRateBps, tcp.BusyUs,
		tcp.RwndLimitedUs, tcp.SndbufLimitedUs, tcp.StateField, tcp.PeerTimestamp, tcp.EchoedTimestamp,
		tcp.WriterBlocked, tcp.DeviceThrottled, tcp.DeviceWaitUs,
	}
}

// flow returns a flow and creates it if needed. It returns nil for a flow that was left out, unless
// the connection has more bytes than the least of the kept ones.
func (e *Engine) flow(id tcp.FlowID, bytes int64) *flow {
	f := e.flows.At(id)
	if f == nil {
		if bytes <= e.least && e.leftOut.Has(id) {
			return nil
		}
		if len(e.order) >= e.options.MaxFlows {
			e.makeRoom()
		}
		f = e.unused()
		*f = flow{
			source: e.options.Source, windowNs: e.options.Window.Nanoseconds(), radios: &e.radios, bins: f.bins[:0],
		}
		if e.options.Drops {
			f.places = &Places{}
		}
		f.ID = id
		e.leftOut.Remove(id)
		e.flows.Set(id, f)
		e.order = append(e.order, f)
	}
	return f
}

// unused returns a flow that was left out, else a new one.
func (e *Engine) unused() *flow {
	last := len(e.free) - 1
	if last < 0 {
		return &flow{}
	}
	f := e.free[last]
	e.free = e.free[:last]
	return f
}

// rank is a flow's rank in the order in which flows are left out.
type rank struct {
	closed bool
	bytes  int64
	at     int // its index in the order of their first sight
}

func (r rank) compare(o rank) int {
	switch {
	case r.closed && !o.closed:
		return -1
	case !r.closed && o.closed:
		return 1
	}
	return cmp.Or(cmp.Compare(r.bytes, o.bytes), cmp.Compare(r.at, o.at))
}

// makeRoom leaves out a quarter of the flows. It sorts copies of what it compares, because the
// flows lie far apart in memory.
func (e *Engine) makeRoom() {
	e.ranks = e.ranks[:0]
	for i, f := range e.order {
		e.ranks = append(e.ranks, rank{f.closedNs > 0, f.ackedAll + f.receivedAll, i})
	}
	slices.SortFunc(e.ranks, rank.compare)
	leave := max(1, len(e.order)/4)
	e.least = 0
	if leave < len(e.ranks) && !e.ranks[leave].closed {
		e.least = e.ranks[leave].bytes
	}
	for _, r := range e.ranks[:leave] {
		f := e.order[r.at]
		e.order[r.at] = nil
		e.flows.Set(f.ID, nil)
		e.leftOut.Add(f.ID)
		e.free = append(e.free, f)
	}
	e.order = slices.DeleteFunc(e.order, func(f *flow) bool { return f == nil })
}

// Forget drops a flow.
func (e *Engine) Forget(id tcp.FlowID) {
	e.leftOut.Remove(id)
	f := e.flows.At(id)
	if f == nil {
		return
	}
	e.flows.Set(id, nil)
	at := slices.Index(e.order, f)
	e.order = slices.Delete(e.order, at, at+1)
}

// Losses tells where the packets of a flow were lost so far; nil if drops are not observed.
func (e *Engine) Losses(id tcp.FlowID) *Losses {
	f := e.flows.At(id)
	if f == nil || f.places == nil {
		return nil
	}
	return f.places.Losses()
}

// Connection returns the finding of one flow so far.
func (e *Engine) Connection(id tcp.FlowID) (c Connection, known bool) {
	f := e.flows.At(id)
	if f == nil {
		return Connection{}, false
	}
	c = f.report()
	if c.contends() {
		rivals := e.rivals(f)
		all := []Connection{c}
		for _, r := range rivals[1:] {
			all = append(all, r.report())
		}
		compare(rivals, all)
		c = all[0]
	}
	if doubts := e.doubts(); len(doubts) > 0 {
		c.doubt()
	}
	return c, true
}

// recentNs is the time that Now judges.
const recentNs = int64(3e9)

// Now returns the limit of a flow in the last three seconds before its last sample. It is Idle
// for a flow whose last sample is older than that, and Unknown without samples.
func (e *Engine) Now(id tcp.FlowID, nowNs int64) (Limit, Certainty) {
	f := e.flows.At(id)
	if f == nil || len(f.bins) == 0 {
		return Unknown, Guess
	}
	if f.unopened() {
		return Handshake, Certain
	}
	last := &f.bins[len(f.bins)-1]
	if nowNs-last.toNs > recentNs && f.last.unacked <= 0 && f.last.unsent <= 0 {
		return Idle, Likely
	}
	from := len(f.bins) - 1
	for from > 0 && f.bins[from-1].toNs > last.toNs-recentNs {
		from--
	}
	p := f.judge(f.bins[from:])
	if len(e.doubts()) > 0 {
		p.Certainty = min(p.Certainty, Likely)
	}
	return p.Limit, p.Certainty
}

// Flow takes the description of a new flow, or a better one of a known flow.
func (e *Engine) Flow(f *tcp.Flow) error {
	if known := e.flow(f.ID, 0); known != nil {
		known.describe(f)
	}
	return nil
}

// Samples takes a batch of samples.
func (e *Engine) Samples(b *tcp.Batch) error {
	e.note(b)
	var s sample
	var f *flow
	least := leastBins
	if e.options.Window > 0 {
		least = leastWindowBins
	}
	limit := max(least, min(mostBins, e.options.MaxBins/(len(e.order)+1)))
	for i, id := range b.Flow {
		if f == nil || f.ID != id {
			f = e.flow(id, max(b.Cols[tcp.AckedBytes][i], 0)+max(b.Cols[tcp.ReceivedBytes][i], 0))
			if f == nil {
				continue
			}
		}
		s.read(b, i)
		f.sample(&s, limit)
	}
	return nil
}

// note notes the essential fields that a batch has. One row of a batch is enough, unless no data
// was acknowledged: before, a kernel has no pacing rate.
func (e *Engine) note(b *tcp.Batch) {
	if len(b.Flow) == 0 {
		return
	}
	if acked := b.Cols[tcp.AckedBytes][0]; acked == 0 || acked == 1 {
		return
	}
	e.sampled = true
	for i, f := range essential {
		e.has[i] = e.has[i] || b.Cols[f][0] != tcp.Absent
	}
}

// Event takes an event.
func (e *Engine) Event(ev *tcp.Event) error {
	if f := e.flow(ev.Flow, 0); f != nil {
		f.event(ev)
	}
	return nil
}

// Lost takes the total counts of lost data.
func (e *Engine) Lost(l *tcp.Loss) error {
	e.lost = l.Total()
	return nil
}

// Radio takes a record about a radio.
func (e *Engine) Radio(r *tcp.Radio) error {
	e.radios.take(r)
	return nil
}

// sample holds the values of one row that the engine reads.
type sample struct {
	timeNs                                              int64
	ack, seq, segment                                   int64
	cwnd, ssthresh, inFlight, caState, mss, cwndLimited int64
	srtt, rtt, minRtt, receiverRtt                      int64
	sendWindow, receiveWindow                           int64
	acked, sent, written, received, consumed            int64
	sendBuffer, receiveBuffer, sendMemory, deviceQueue  int64
	sendFixed, receiveFixed                             int64
	outOfOrder, delivered, retransmits, pacing          int64
	busy, rwndLimited, sndbufLimited, unacked, unsent   int64
	state, peerTime, echoedTime                         int64
	writerBlocked, throttled, deviceWait                int64
}

// read reads row i.
func (s *sample) read(b *tcp.Batch, i int) {
	c := &b.Cols
	s.timeNs = b.TimeNs[i]
	s.ack = c[tcp.AckBytes][i]
	s.seq = c[tcp.SeqBytes][i]
	s.segment = c[tcp.SegmentBytes][i]
	s.cwnd = c[tcp.CwndPackets][i]
	s.ssthresh = c[tcp.SsthreshPackets][i]
	s.inFlight = c[tcp.InFlightPackets][i]
	s.caState = c[tcp.CAStateField][i]
	s.mss = c[tcp.MSSBytes][i]
	s.cwndLimited = c[tcp.CwndLimited][i]
	s.srtt = c[tcp.SrttUs][i]
	s.rtt = c[tcp.RttUs][i]
	s.minRtt = c[tcp.MinRttUs][i]
	s.receiverRtt = c[tcp.ReceiverRttUs][i]
	s.sendWindow = c[tcp.SendWindowBytes][i]
	s.receiveWindow = c[tcp.ReceiveWindowBytes][i]
	s.acked = c[tcp.AckedBytes][i]
	s.sent = c[tcp.SentBytes][i]
	s.written = c[tcp.WrittenBytes][i]
	s.received = c[tcp.ReceivedBytes][i]
	s.consumed = c[tcp.ReadBytes][i]
	s.sendBuffer = c[tcp.SendBufferBytes][i]
	s.sendFixed = c[tcp.SendBufferFixed][i]
	s.receiveFixed = c[tcp.ReceiveBufferFixed][i]
	s.receiveBuffer = c[tcp.ReceiveBufferBytes][i]
	s.sendMemory = c[tcp.SendMemoryBytes][i]
	s.deviceQueue = c[tcp.DeviceQueueBytes][i]
	s.outOfOrder = c[tcp.OutOfOrderPackets][i]
	s.delivered = c[tcp.DeliveredPackets][i]
	s.retransmits = c[tcp.RetransmitsPackets][i]
	s.pacing = c[tcp.PacingRateBps][i]
	s.busy = c[tcp.BusyUs][i]
	s.rwndLimited = c[tcp.RwndLimitedUs][i]
	s.sndbufLimited = c[tcp.SndbufLimitedUs][i]
	s.state = c[tcp.StateField][i]
	s.peerTime = c[tcp.PeerTimestamp][i]
	s.echoedTime = c[tcp.EchoedTimestamp][i]
	s.writerBlocked = c[tcp.WriterBlocked][i]
	s.throttled = c[tcp.DeviceThrottled][i]
	s.deviceWait = c[tcp.DeviceWaitUs][i]
	s.unacked = difference(s.sent, s.acked)
	s.unsent = difference(s.written, s.sent)
}

func difference(a, b int64) int64 {
	if a == tcp.Absent || b == tcp.Absent {
		return tcp.Absent
	}
	return a - b
}

package diagnose

import (
	"airtide/internal/tcp"
)

// Source is the kind of source that the samples come from.
type Source uint8

// The sources.
const (
	PerAck Source = iota // a sample for each arriving segment
	Polled               // a sample at each poll
)

// Options configure an engine.
type Options struct {
	Source Source
	// MaxBins is the greatest number of bins that all flows keep together; 0 means maxBins.
	MaxBins int
}

const (
	// maxBins needs about 80 MB.
	maxBins = 1 << 17
	// mostBins and leastBins are the limits of the bins of one flow. A flow that has more merges
	// neighbours.
	mostBins  = 512
	leastBins = 16
	// MaxFlows is the number of flows that an engine judges, the first ones. With their fewest bins
	// they need about 100 MB.
	MaxFlows = 10_240
)

// Engine is a tcp.Sink.
type Engine struct {
	options Options
	flows   map[tcp.FlowID]*flow
	order   []*flow // in the order of their first sight
	lost    uint64
}

// New returns an empty engine.
func New(o Options) *Engine {
	if o.MaxBins == 0 {
		o.MaxBins = maxBins
	}
	return &Engine{options: o, flows: map[tcp.FlowID]*flow{}}
}

// Fields returns the fields that the engine reads, so that a reader decodes only these.
func Fields() []tcp.Field {
	return []tcp.Field{
		tcp.AckBytes, tcp.SeqBytes, tcp.SegmentBytes, tcp.CwndPackets, tcp.SsthreshPackets, tcp.InFlightPackets,
		tcp.CAStateField, tcp.MSSBytes, tcp.CwndLimited, tcp.SrttUs, tcp.RttUs, tcp.MinRttUs, tcp.ReceiverRttUs,
		tcp.SendWindowBytes, tcp.ReceiveWindowBytes, tcp.AckedBytes, tcp.SentBytes, tcp.WrittenBytes,
		tcp.ReceivedBytes, tcp.ReadBytes, tcp.SendBufferBytes, tcp.ReceiveBufferBytes, tcp.SendMemoryBytes,
		tcp.DeviceQueueBytes, tcp.OutOfOrderPackets, tcp.DeliveredPackets, tcp.LostPackets, tcp.RetransmitsPackets,
		tcp.PacingRateBps, tcp.BusyUs, tcp.RwndLimitedUs, tcp.SndbufLimitedUs, tcp.StateField,
	}
}

// flow returns a flow and creates it if needed; nil behind MaxFlows.
func (e *Engine) flow(id tcp.FlowID) *flow {
	f := e.flows[id]
	if f == nil && len(e.order) < MaxFlows {
		f = &flow{polled: e.options.Source == Polled}
		f.ID = id
		e.flows[id] = f
		e.order = append(e.order, f)
	}
	return f
}

// Flow takes the description of a new flow, or a better one of a known flow.
func (e *Engine) Flow(f *tcp.Flow) error {
	if known := e.flow(f.ID); known != nil {
		known.describe(f)
	}
	return nil
}

// Samples takes a batch of samples.
func (e *Engine) Samples(b *tcp.Batch) error {
	var s sample
	var f *flow
	limit := max(leastBins, min(mostBins, e.options.MaxBins/(len(e.order)+1)))
	for i, id := range b.Flow {
		if f == nil || f.ID != id {
			f = e.flow(id)
		}
		if f == nil {
			continue
		}
		s.read(b, i)
		f.sample(&s, limit)
	}
	return nil
}

// Event takes an event.
func (e *Engine) Event(ev *tcp.Event) error {
	if f := e.flow(ev.Flow); f != nil {
		f.event(ev)
	}
	return nil
}

// Lost takes the total counts of lost data.
func (e *Engine) Lost(l *tcp.Loss) error {
	e.lost = l.Total()
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
	outOfOrder, delivered, lost, retransmits, pacing    int64
	busy, rwndLimited, sndbufLimited, unacked, unsent   int64
	state                                               int64
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
	s.receiveBuffer = c[tcp.ReceiveBufferBytes][i]
	s.sendMemory = c[tcp.SendMemoryBytes][i]
	s.deviceQueue = c[tcp.DeviceQueueBytes][i]
	s.outOfOrder = c[tcp.OutOfOrderPackets][i]
	s.delivered = c[tcp.DeliveredPackets][i]
	s.lost = c[tcp.LostPackets][i]
	s.retransmits = c[tcp.RetransmitsPackets][i]
	s.pacing = c[tcp.PacingRateBps][i]
	s.busy = c[tcp.BusyUs][i]
	s.rwndLimited = c[tcp.RwndLimitedUs][i]
	s.sndbufLimited = c[tcp.SndbufLimitedUs][i]
	s.state = c[tcp.StateField][i]
	s.unacked = difference(s.sent, s.acked)
	s.unsent = difference(s.written, s.sent)
}

func difference(a, b int64) int64 {
	if a == tcp.Absent || b == tcp.Absent {
		return tcp.Absent
	}
	return a - b
}

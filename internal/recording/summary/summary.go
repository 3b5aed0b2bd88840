package summary

import (
	"slices"

	"airtide/internal/stats"
	"airtide/internal/tcp"
)

// Options configure a summary.
type Options struct {
	// Unseen lists the kinds of events that the source cannot see. Counts that need them are
	// absent.
	Unseen []tcp.EventKind
	// Drops reports whether the drops of this host were recorded.
	Drops bool
	// BytesOnly keeps nothing of the samples but their bytes: for Rates.
	BytesOnly bool
}

// Summary is a tcp.Sink.
type Summary struct {
	unseen [256]bool // index: event kind
	drops  bool
	bytes  bool // only bytes are kept
	flows  tcp.ByFlow[*flow]
	order  []*flow // in order of the first record
	up     *stats.PeakRate
	down   *stats.PeakRate
	loss   *tcp.Loss
}

// New returns an empty summary.
func New(o Options) *Summary {
	s := &Summary{}
	s.up = stats.NewPeakRate(totalRateBins)
	s.down = stats.NewPeakRate(totalRateBins)
	s.drops = o.Drops
	s.bytes = o.BytesOnly
	for _, k := range o.Unseen {
		s.unseen[k] = true
	}
	return s
}

// Fields returns the fields that a summary reads, so that a reader decodes only these.
func Fields() []tcp.Field {
	return []tcp.Field{
		tcp.AckBytes, tcp.SeqBytes, tcp.SegmentBytes, tcp.SentBytes, tcp.AckedBytes, tcp.ReceivedBytes,
		tcp.CwndPackets, tcp.InFlightPackets, tcp.CAStateField, tcp.SrttUs, tcp.RttUs, tcp.MinRttUs,
		tcp.DeliveredPackets, tcp.LostPackets, tcp.RetransmitsPackets, tcp.RetransmittedBytes, tcp.MergedPackets,
	}
}

// flow returns a flow and creates it if needed.
func (s *Summary) flow(id tcp.FlowID) *flow {
	f := s.flows.At(id)
	if f == nil {
		f = newFlow(id)
		s.order = append(s.order, f)
		s.flows.Set(id, f)
	}
	return f
}

// Flow takes the description of a new flow, or a better one of a known flow.
func (s *Summary) Flow(f *tcp.Flow) error {
	s.flow(f.ID).describe(f)
	return nil
}

// Samples takes a batch of samples.
func (s *Summary) Samples(b *tcp.Batch) error {
	var row row
	var f *flow
	last := tcp.FlowID(0)
	c := columnsOf(b)
	for i, id := range b.Flow {
		if f == nil || id != last {
			f = s.flow(id)
			last = id
		}
		c.read(i, &row)
		up, down, since := f.sample(&row, s.bytes)
		s.up.Spread(since, row.timeNs, up)
		s.down.Spread(since, row.timeNs, down)
	}
	return nil
}

// Event takes an event.
func (s *Summary) Event(e *tcp.Event) error {
	s.flow(e.Flow).event(e, s.drops)
	return nil
}

// Lost takes the total counts of lost data.
func (s *Summary) Lost(l *tcp.Loss) error {
	kept := *l
	kept.PerCPU = slices.Clone(l.PerCPU)
	s.loss = &kept
	return nil
}

// columns are the columns of a batch that a summary reads.
type columns struct {
	time                                             []int64
	ack, seq, segment, sent, acked, received         []int64
	cwnd, inFlight, caState, srtt, rtt, minRtt       []int64
	delivered, lost, retransmits, retransmittedBytes []int64
	merged                                           []int64
}

func columnsOf(b *tcp.Batch) columns {
	n := b.Len()
	at := func(f tcp.Field) []int64 { return b.Cols[f][:n] }
	return columns{
		time: b.TimeNs[:n],
		ack:  at(tcp.AckBytes), seq: at(tcp.SeqBytes), segment: at(tcp.SegmentBytes), sent: at(tcp.SentBytes),
		acked: at(tcp.AckedBytes), received: at(tcp.ReceivedBytes),
		cwnd: at(tcp.CwndPackets), inFlight: at(tcp.InFlightPackets), caState: at(tcp.CAStateField),
		srtt: at(tcp.SrttUs), rtt: at(tcp.RttUs), minRtt: at(tcp.MinRttUs),
		delivered: at(tcp.DeliveredPackets), lost: at(tcp.LostPackets), retransmits: at(tcp.RetransmitsPackets),
		retransmittedBytes: at(tcp.RetransmittedBytes), merged: at(tcp.MergedPackets),
	}
}

// row contains the values that a summary reads from one sample.
type row struct {
	timeNs                                           int64
	acked, received                                  int64
	cwnd, inFlight, caState, srtt, rtt, minRtt       int64
	delivered, lost, retransmits, retransmittedBytes int64
	merged                                           int64
}

// read reads row i. A sample comes before its segment is processed, so read adds the data that the
// segment acknowledges or delivers in order. The last segment of a transfer has no later sample.
func (c *columns) read(i int, r *row) {
	r.timeNs = c.time[i]
	r.acked = c.acked[i]
	if ack := c.ack[i]; ack > r.acked && (c.sent[i] == tcp.Absent || ack <= c.sent[i]) {
		r.acked = ack
	}
	r.received = c.received[i]
	if c.segment[i] > 0 && r.received != tcp.Absent && c.seq[i] == r.received {
		r.received += c.segment[i]
	}
	r.cwnd = c.cwnd[i]
	r.inFlight = c.inFlight[i]
	r.caState = c.caState[i]
	r.srtt = c.srtt[i]
	r.rtt = c.rtt[i]
	r.minRtt = c.minRtt[i]
	r.delivered = c.delivered[i]
	r.lost = c.lost[i]
	r.retransmits = c.retransmits[i]
	r.retransmittedBytes = c.retransmittedBytes[i]
	r.merged = c.merged[i]
}

// Radio does nothing: a diagnosis sums up the radios.
func (s *Summary) Radio(*tcp.Radio) error { return nil }

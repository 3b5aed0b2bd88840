// Package join lays a capture and a recording of the same transfer on one time axis: that of the
// capture.
package join

import (
	"net/netip"
	"slices"
	"sort"

	"airtide/internal/packets/conn"
	"airtide/internal/packets/decode"
	"airtide/internal/stats"
	"airtide/internal/tcp"
)

const (
	// maxPoints bounds each series; every second point goes if there are more.
	maxPoints = 1 << 16
	// maxAllPoints bounds all series of a recording, or of the open connections of a capture.
	maxAllPoints = 1 << 20
)

// Point is a value at a time in ns since 1970.
type Point struct{ TimeNs, Value int64 }

// series is a series of bounded size.
type series struct{ stats.Thinned[Point] }

// room is the memory that many series share. If it is full, the longest are halved until half of it
// is free.
type room struct {
	all    map[*series]struct{}
	points int
}

func (r *room) add(s *series, timeNs, value int64) {
	before := len(s.Values)
	s.Add(Point{timeNs, value}, maxPoints)
	r.points += len(s.Values) - before
	if before == 0 {
		if r.all == nil {
			r.all = map[*series]struct{}{}
		}
		r.all[s] = struct{}{}
	}
	const least = 2 // points of a series
	if r.points <= max(maxAllPoints, 2*least*len(r.all)) {
		return
	}
	for most := maxPoints / 2; r.points > maxAllPoints/2 && most >= least; most /= 2 {
		for s := range r.all {
			if n := len(s.Values); n > most {
				s.Halve()
				s.Values = slices.Clone(s.Values) // frees the other half
				r.points += len(s.Values) - n
			}
		}
	}
}

// grow adds a value that is greater than the last kept one.
func (r *room) grow(s *series, timeNs, value int64) {
	if n := len(s.Values); n == 0 || s.Values[n-1].Value < value {
		r.add(s, timeNs, value)
	}
}

// forget gives the room of a series back.
func (r *room) forget(s *series) {
	if _, known := r.all[s]; known {
		delete(r.all, s)
		r.points -= len(s.Values)
	}
}

// Recording is a sink that collects the flows of a recording.
type Recording struct {
	tcp.Discard
	// WallNs turns times of the recording into ns since 1970.
	WallNs func(monotonicNs int64) int64

	flows map[tcp.FlowID]*flow
	ends  conn.Flows[*flow]
	room  room
}

type flow struct {
	id          tcp.FlowID
	pair        conn.Ends
	firstNs     int64
	lastNs      int64
	acked       series // bytes, growing
	cwnd        series // bytes
	srtt        series // µs
	retransmits uint64 // segments, by the events
	inherited   bool   // open before the recording
	sampled     bool
	// floor is the number of bytes that were acknowledged before the recording. It has no time.
	floor int64
	// firstCount and lastCount are the kernel's counter of retransmissions, or tcp.Absent.
	firstCount, lastCount int64

	summed                 bool // the medians are known
	medianSrtt, medianCwnd int64
}

// Fields are the fields of samples that it uses.
func Fields() []tcp.Field {
	return []tcp.Field{tcp.AckedBytes, tcp.CwndPackets, tcp.MSSBytes, tcp.SrttUs, tcp.RetransmitsPackets}
}

// Flow takes a flow.
func (r *Recording) Flow(f *tcp.Flow) error {
	if r.flows == nil {
		r.flows = map[tcp.FlowID]*flow{}
	}
	if r.flows[f.ID] == nil {
		first := r.WallNs(f.FirstNs)
		known := &flow{
			id: f.ID, pair: conn.EndsOf(f.Local, f.Remote), firstNs: first, lastNs: first, inherited: f.Inherited,
			firstCount: tcp.Absent, lastCount: tcp.Absent,
		}
		r.flows[f.ID] = known
		r.ends.Add(known.pair, first, known)
	}
	return nil
}

// Samples takes the samples of all flows.
func (r *Recording) Samples(b *tcp.Batch) error {
	for i := range b.Len() {
		f := r.flows[b.Flow[i]]
		if f == nil {
			continue
		}
		at := r.WallNs(b.TimeNs[i])
		f.lastNs = max(f.lastNs, at)
		acked := b.At(tcp.AckedBytes, i)
		if acked != tcp.Absent && f.inherited && !f.sampled {
			f.floor = acked
			f.sampled = true
		}
		if acked != tcp.Absent && acked > f.floor {
			r.room.grow(&f.acked, at, acked)
		}
		cwnd := b.At(tcp.CwndPackets, i)
		mss := b.At(tcp.MSSBytes, i)
		if cwnd != tcp.Absent && mss != tcp.Absent {
			r.room.add(&f.cwnd, at, cwnd*mss)
		}
		f.count(b.At(tcp.RetransmitsPackets, i))
		if srtt := b.At(tcp.SrttUs, i); srtt != tcp.Absent {
			r.room.add(&f.srtt, at, srtt)
		}
	}
	return nil
}

// count follows the kernel's counter of retransmissions.
func (f *flow) count(counter int64) {
	if counter == tcp.Absent {
		return
	}
	if f.firstCount == tcp.Absent {
		f.firstCount = counter
	}
	f.lastCount = max(f.lastCount, counter)
}

// retransmissions is the kernel's count, or that of the events if they saw more: a retransmission
// behind the last sample, or a source without the counter.
func (f *flow) retransmissions() uint64 {
	if f.lastCount == tcp.Absent {
		return f.retransmits
	}
	n := f.lastCount
	if f.inherited {
		n -= f.firstCount
	}
	return max(f.retransmits, uint64(max(0, n)))
}

// Event counts retransmissions.
func (r *Recording) Event(e *tcp.Event) error {
	if f := r.flows[e.Flow]; f != nil && e.Kind == tcp.EventRetransmit {
		f.retransmits += uint64(max(1, e.Value))
	}
	return nil
}

// Connection is one end of a connection in both files.
type Connection struct {
	Connection uint64         `json:"connection"` // ID in the capture
	Flow       tcp.FlowID     `json:"flow"`       // ID in the recording
	Local      netip.AddrPort `json:"local"`      // the recorded end
	Remote     netip.AddrPort `json:"remote"`
	// AlignedBy is the source of the offset: acks compares times of the same acknowledged bytes;
	// clock takes both clocks as equal.
	AlignedBy string `json:"aligned_by"`
	// OffsetNs is a time of the recording minus the same time of the capture. The 5th percentile of
	// all matches is taken, because delays only make the kernel's sample later. If the capture is
	// near the receiver, it holds the way of the ACKs, too.
	OffsetNs int64 `json:"offset_ns"`
	// OffsetP50Ns and OffsetP95Ns are higher percentiles of the matches.
	OffsetP50Ns int64 `json:"offset_p50_ns"`
	OffsetP95Ns int64 `json:"offset_p95_ns"`
	Matches     int   `json:"matches"`

	// Near is the end at which the capture was taken, as in conn.Connection.
	Near string `json:"near,omitempty"`
	// CapturedRetransmissions counts the segments that were sent again. Unless the capture was
	// taken at this end, reordered segments count, too, and lost ones are missing.
	CapturedRetransmissions uint64 `json:"captured_retransmissions"`
	// AtSender is true if the capture was taken at this end.
	AtSender bool `json:"captured_at_sender"`
	// RecordedRetransmissions is the kernel's count of segments.
	RecordedRetransmissions uint64  `json:"recorded_retransmissions"`
	CapturedRTTUs           float64 `json:"captured_rtt_us,omitempty"` // median; 0 if there is none
	RecordedSrttUs          int64   `json:"recorded_srtt_us,omitempty"`
	CapturedInFlight        float64 `json:"captured_in_flight_bytes"` // mean
	RecordedCwnd            int64   `json:"recorded_cwnd_bytes,omitempty"`

	// FirstNs and LastNs are the first and last packet. InFlight is captured, in bytes.
	FirstNs  int64   `json:"first_ns"`
	LastNs   int64   `json:"last_ns"`
	InFlight []Point `json:"-"`

	recorded []Point // cwnd in bytes, on the clock of the recording
	ackWayNs int64   // estimated time of ACKs from the place of the capture to the recorded end
}

// Cwnd is the recorded window in bytes, on the clock of the capture.
func (x *Connection) Cwnd() []Point {
	moved := make([]Point, len(x.recorded))
	for i, p := range x.recorded {
		moved[i] = Point{p.TimeNs - x.OffsetNs, p.Value}
	}
	return moved
}

// SenderOffsetNs is the offset without the way of the ACKs. That way counts as half the RTT of the
// handshake if the capture was taken at the other end, and as zero otherwise.
func (x *Connection) SenderOffsetNs() int64 { return x.OffsetNs - x.ackWayNs }

// Joiner is an observer of a capture that finds the connections of a recording.
type Joiner struct {
	Recording *Recording
	// Only, if not zero, is the only connection of the capture to join.
	Only uint64
	// Joined is called with each connection in both files, in the order of their ends.
	Joined func(*Connection) error

	open map[uint64]*[2]side // client, server
	room room
}

type side struct {
	flow     *flow
	acked    series
	inFlight series
}

// Step takes a segment.
func (j *Joiner) Step(c *conn.Connection, s *conn.Step) error {
	if j.Only != 0 && c.ID != j.Only {
		return nil
	}
	sides, known := j.open[c.ID]
	if !known {
		if j.open == nil {
			j.open = map[uint64]*[2]side{}
		}
		pair := conn.EndsOf(c.Client, c.Server)
		client := j.Recording.find(pair, c.FirstNs)
		server := j.Recording.find(pair.Reversed(), c.FirstNs)
		if client != nil || server != nil {
			sides = &[2]side{{flow: client}, {flow: server}}
		}
		j.open[c.ID] = sides // nil if the recording lacks it
	}
	if sides == nil {
		return nil
	}
	sender := &sides[0]
	receiver := &sides[1]
	if !s.Client {
		sender, receiver = receiver, sender
	}
	if s.Segment.Payload > 0 {
		j.room.add(&sender.inFlight, s.Segment.TimeNs, s.InFlight)
	}
	if s.Segment.Flags&decode.ACK != 0 {
		j.room.grow(&receiver.acked, s.Segment.TimeNs, s.AckOffset)
	}
	return nil
}

// graceNs is the greatest difference of both clocks for flows with the same addresses and ports.
const graceNs = 60e9

// find returns the flow of an address pair that began nearest to a connection.
func (r *Recording) find(pair conn.Ends, firstNs int64) *flow {
	found, later := r.ends.Around(pair, firstNs)
	if found == nil || later != nil && later.firstNs-firstNs < firstNs-found.lastNs {
		found = later
	}
	if found == nil || max(found.firstNs-firstNs, firstNs-found.lastNs) > graceNs {
		return nil
	}
	return found
}

// Done joins a connection that has ended.
func (j *Joiner) Done(c *conn.Connection) error {
	sides := j.open[c.ID]
	delete(j.open, c.ID)
	if sides == nil {
		return nil
	}
	for i, d := range []*conn.Direction{&c.FromClient, &c.FromServer} {
		s := &sides[i]
		j.room.forget(&s.acked)
		j.room.forget(&s.inFlight)
		f := s.flow
		if f == nil {
			continue
		}
		// The medians of the flow are the same for each of its connections.
		if !f.summed {
			f.summed = true
			f.medianSrtt = median(f.srtt.Values)
			f.medianCwnd = median(f.cwnd.Values)
		}
		x := &Connection{
			Connection: c.ID, Flow: f.id, Local: f.pair.Local, Remote: f.pair.Remote, AlignedBy: "clock",
			Near: c.Near, CapturedRetransmissions: d.LateSegments, AtSender: d.ResentSegments != nil,
			RecordedRetransmissions: f.retransmissions(), RecordedSrttUs: f.medianSrtt,
			CapturedInFlight: d.MeanInFlight, RecordedCwnd: f.medianCwnd,
			FirstNs: c.FirstNs, LastNs: c.LastNs, InFlight: s.inFlight.Values,
		}
		x.CapturedRTTUs, _ = c.RTTUs(d)
		// Without the SYN of this end, its first byte is unknown.
		if d.Offer != nil {
			x.align(f.acked.Values, s.acked.Values, i == 0)
		}
		if other := [...]string{"server", "client"}[i]; x.Matches > 0 && c.Near == other {
			x.ackWayNs = int64(c.HandshakeUs * 500)
		}
		x.recorded = f.cwnd.Values
		if err := j.Joined(x); err != nil {
			return err
		}
	}
	return nil
}

// align compares when the same bytes were acknowledged. The kernel counts the SYN of the end that
// connects as a byte, but not that of the end that accepts. Other recordings may differ, so the
// other count is taken if it explains far more of the times.
func (x *Connection) align(recorded, captured []Point, connects bool) {
	syn := int64(0)
	if connects {
		syn = 1
	}
	offsets := matches(recorded, captured, syn)
	if others := matches(recorded, captured, 1-syn); len(others) > 2*len(offsets)+2 {
		offsets = others
	}
	if len(offsets) == 0 {
		return
	}
	slices.Sort(offsets)
	n := len(offsets)
	x.AlignedBy = "acks"
	x.Matches = n
	x.OffsetNs = offsets[n/20]
	x.OffsetP50Ns = offsets[n/2]
	x.OffsetP95Ns = offsets[min(n-1, n*19/20)]
}

// matches returns the differences between the times at which both series reach the same value, if
// the recording counts some bytes more. Both grow.
func matches(recorded, captured []Point, more int64) (offsets []int64) {
	next := 0
	for _, c := range captured {
		next += sort.Search(len(recorded)-next, func(i int) bool { return recorded[next+i].Value >= c.Value+more })
		if next < len(recorded) && recorded[next].Value == c.Value+more {
			offsets = append(offsets, recorded[next].TimeNs-c.TimeNs)
		}
	}
	return offsets
}

func median(points []Point) int64 {
	if len(points) == 0 {
		return 0
	}
	values := make([]int64, len(points))
	for i, p := range points {
		values[i] = p.Value
	}
	slices.Sort(values)
	return values[len(values)/2]
}

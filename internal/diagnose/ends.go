package diagnose

import (
	"cmp"
	"fmt"
	"math"
	"net/netip"
	"slices"

	"airtide/internal/stats"
	"airtide/internal/tcp"
)

const (
	// trackPoints bounds the points of a flow, and maxTracks the flows that have some.
	trackPoints = 4096
	maxTracks   = 1024
)

// trackPoint is the state of an end's streams at a time of its clock. Points in between may be left
// out.
type trackPoint struct {
	timeNs, sent, acked, received int64
	ackedNs, receivedNs           int64 // times at which acked and received grew last
	// jumped is the received stream when it last grew beyond a segment: a gap was filled, and the
	// bytes below had come before, at unknown times.
	jumped int64
}

// track follows the streams of a flow.
type track struct {
	stats.Thinned[trackPoint]
	last trackPoint
}

// add takes a point, and the bytes of the segment that brought it; 0 or less without one.
func (t *track) add(p trackPoint, segment int64) {
	p.ackedNs = p.timeNs
	if p.acked == t.last.acked {
		p.ackedNs = t.last.ackedNs
	}
	p.receivedNs = p.timeNs
	if p.received == t.last.received {
		p.receivedNs = t.last.receivedNs
	}
	p.jumped = t.last.jumped
	if before := p.received - segment; segment > 0 && before > t.last.received {
		p.jumped = before
	}
	t.last = p
	t.Add(p, trackPoints)
}

// Tracks is a sink that follows the streams of flows, so that both ends of a connection can be
// joined.
type Tracks struct {
	tcp.Discard
	flows map[tcp.FlowID]*track
}

// Samples follows sent, acknowledged and received bytes.
func (t *Tracks) Samples(b *tcp.Batch) error {
	if t.flows == nil {
		t.flows = map[tcp.FlowID]*track{}
	}
	var s sample
	for i, id := range b.Flow {
		of := t.flows[id]
		if of == nil {
			if len(t.flows) >= maxTracks {
				continue
			}
			of = &track{}
			t.flows[id] = of
		}
		s.read(b, i)
		p := trackPoint{timeNs: s.timeNs, sent: s.sent, acked: ackedWith(&s), received: receivedWith(&s)}
		of.add(p, s.segment)
	}
	return nil
}

// Delays are the delays of both ways between two ends, and the difference of their clocks.
type Delays struct {
	// OffsetNs is the receiver's clock minus the sender's, by the least delays of both ways. It is
	// right if both ways have the same least delay; ErrorNs is its greatest error.
	OffsetNs int64 `json:"clock_offset_ns"`
	ErrorNs  int64 `json:"clock_error_ns"`
	// StepNs is the greatest step of the offset; 0 if the clocks ran together.
	StepNs int64 `json:"clock_step_ns"`
	// Medians above the least delay: of data to the receiver, and of acknowledgements back.
	DataQueueUs int64 `json:"data_queue_us"`
	AckQueueUs  int64 `json:"ack_queue_us"`
	Matches     int   `json:"matches"`
}

// way is the delays of one way: the difference between times of two clocks.
type way struct{ timesNs, delaysNs []int64 }

func (w *way) add(timeNs, delayNs int64) {
	w.timesNs = append(w.timesNs, timeNs)
	w.delaysNs = append(w.delaysNs, delayNs)
}

// queueUs is the median above the least delay.
func (w *way) queueUs() int64 {
	sorted := slices.Sorted(slices.Values(w.delaysNs))
	return (sorted[len(sorted)/2] - sorted[len(sorted)/20]) / 1000
}

// usualGapNs is the median time between points.
func usualGapNs(points []trackPoint) int64 {
	gaps := make([]int64, 0, len(points))
	for i := range points[1:] {
		gaps = append(gaps, points[i+1].timeNs-points[i].timeNs)
	}
	slices.Sort(gaps)
	return gaps[len(gaps)/2]
}

// leastMatches is the number of bytes' places that both ways need.
const leastMatches = 8

// delaysBetween compares the times at which both ends saw the same bytes. ok is false with too few
// matches.
func delaysBetween(sender, receiver []trackPoint) (d Delays, ok bool) {
	var data, acks way
	at := 0
	back := 0
	last := int64(math.MinInt64)
	for _, r := range receiver {
		if r.received == tcp.Absent || r.received <= last {
			continue
		}
		last = r.received
		// The bytes left right behind the last sample without them.
		for at < len(sender) && sender[at].sent < r.received {
			at++
		}
		if at == len(sender) {
			break
		}
		for back < len(sender) && sender[back].acked < r.received {
			back++
		}
		if back == len(sender) {
			break
		}
		// A program that seldom writes leaves no sample near the time of its data.
		if at > 0 && 4*(sender[at].timeNs-sender[at-1].timeNs) <= sender[back].ackedNs-sender[at-1].timeNs {
			data.add(sender[at-1].timeNs, r.receivedNs-sender[at-1].timeNs)
		}
	}
	at = 0
	last = math.MinInt64
	near := int64(math.MaxInt64)
	if len(receiver) > leastMatches {
		near = 2 * usualGapNs(receiver)
	}
	for _, s := range sender {
		if s.acked == tcp.Absent || s.acked <= last {
			continue
		}
		last = s.acked
		// The end that began the connection counts its SYN as a byte.
		for at < len(receiver) && receiver[at].received < s.acked-1 {
			at++
		}
		if at == len(receiver) {
			break
		}
		// Behind points that are left out, the time of a later byte says little.
		p := &receiver[at]
		exact := p.received <= s.acked || at > 0 && p.receivedNs-receiver[at-1].timeNs <= near
		if s.acked > p.jumped && exact {
			acks.add(s.ackedNs, s.ackedNs-p.receivedNs)
		}
	}
	d.Matches = min(len(data.timesNs), len(acks.timesNs))
	if d.Matches < leastMatches {
		return d, false
	}
	d.OffsetNs, d.ErrorNs = offsetOf(data.delaysNs, acks.delaysNs)
	d.StepNs = stepOf(&data, &acks)
	if d.StepNs == 0 {
		d.DataQueueUs = data.queueUs()
		d.AckQueueUs = acks.queueUs()
	}
	return d, true
}

// leastOf is the 5th percentile of delays: retransmissions and joined segments leave wrong matches
// below it.
func leastOf(delays []int64) int64 {
	sorted := slices.Sorted(slices.Values(delays))
	return sorted[len(sorted)/20]
}

func offsetOf(data, acks []int64) (offset, most int64) {
	least := leastOf(data)
	back := leastOf(acks)
	return (least - back) / 2, max(0, least+back) / 2
}

// stepWindowNs is the time over which an offset is taken when steps are looked for.
const stepWindowNs = int64(1e9)

// leastStepNs is the least step that counts.
const leastStepNs = int64(50e6)

// stepOf is the greatest step of a clock: from one window to the next the delays of one way grow,
// and those of the other one shrink as much. A queue changes one way alone.
func stepOf(data, acks *way) int64 {
	windows := map[int64]*[2][]int64{}
	for i, w := range []*way{data, acks} {
		for j, t := range w.timesNs {
			k := t / stepWindowNs
			if windows[k] == nil {
				windows[k] = &[2][]int64{}
			}
			windows[k][i] = append(windows[k][i], w.delaysNs[j])
		}
	}
	keys := make([]int64, 0, len(windows))
	for k, w := range windows {
		if min(len(w[0]), len(w[1])) >= leastMatches {
			keys = append(keys, k)
		}
	}
	slices.Sort(keys)
	var step int64
	for i := range keys {
		// A step within a window shows both ways only from the window before to the one behind.
		for j := max(0, i-2); j < i; j++ {
			before := windows[keys[j]]
			now := windows[keys[i]]
			there := leastOf(now[0]) - leastOf(before[0])
			back := leastOf(now[1]) - leastOf(before[1])
			change := (there - back) / 2
			together := (there + back) / 2
			if size := max(change, -change); size > leastStepNs && size > 2*max(together, -together) {
				step = max(step, size)
			}
		}
	}
	return step
}

// End has the connections of one file.
type End struct {
	Report *Report
	Tracks *Tracks
	Source Source
	// WallNs is the wall clock at time 0 of the samples' clock, in ns since 1970; 0 for captures,
	// whose clock it is.
	WallNs int64
	// Other has the flows of ends that a capture shows worse than the other end.
	Other map[tcp.FlowID]bool
}

// rank is greater for an end that shows more of a flow.
func (e *End) rank(id tcp.FlowID) int {
	switch {
	case e.Source != Captured:
		return 2
	case !e.Other[id]:
		return 1
	}
	return 0
}

// Joined is a connection that two ends show.
type Joined struct {
	Connection
	// Peer is the flow of the receiving end, in its own file.
	Peer tcp.FlowID `json:"peer_flow"`
	// OneEnd is set if both files were taken at the same end, or nearer to it. Then there are no
	// Delays.
	OneEnd bool    `json:"one_end"`
	Delays *Delays `json:"delays"` // nil with OneEnd, or if the ends share too few bytes
}

// Join pairs the ends of connections: each flow that sends with the flow of the other end that
// receives. Both may be in the same file.
func Join(a, b End) []Joined {
	type ends struct{ local, remote netip.AddrPort }
	key := func(c *Connection) ends { return ends{tcp.Unmap(c.Local), tcp.Unmap(c.Remote)} }
	var all []Joined
	best := map[ends]int{} // rank of both ends together
	place := map[ends]int{}
	pair := func(from, to End) {
		receivers := map[ends]*Connection{}
		for i := range to.Report.Connections {
			c := &to.Report.Connections[i]
			k := key(c)
			if old := receivers[k]; old == nil || c.ReceivedBytes > old.ReceivedBytes {
				receivers[k] = c
			}
		}
		for i := range from.Report.Connections {
			s := &from.Report.Connections[i]
			k := key(s)
			r := receivers[ends{k.remote, k.local}]
			if r == nil || r == s || s.AckedBytes < s.ReceivedBytes || s.Direction != "sends" {
				continue
			}
			rank := 2*from.rank(s.ID) + to.rank(r.ID)
			at, known := place[k]
			if known && best[k] >= rank {
				continue
			}
			best[k] = rank
			j := join(s, r, from, to)
			if known {
				all[at] = j
				continue
			}
			place[k] = len(all)
			all = append(all, j)
		}
	}
	pair(a, b)
	if a.Report != b.Report {
		pair(b, a)
	}
	slices.SortStableFunc(all, func(x, y Joined) int { return cmp.Compare(y.AckedBytes, x.AckedBytes) })
	return all
}

// join takes the sender's finding and what the receiver knows better.
func join(s, r *Connection, from, to End) Joined {
	j := Joined{Connection: *s, Peer: r.ID}
	j.Phases = slices.Clone(s.Phases)
	j.OneEnd = from.Other[s.ID] || to.Other[r.ID]
	// Polls miss times, and a capture without the SYN counts bytes from its first segment.
	unknown := func(e End, c *Connection) bool { return e.Source == Polled || e.Source == Captured && c.Inherited }
	a := from.Tracks.flows[s.ID]
	b := to.Tracks.flows[r.ID]
	if a != nil && b != nil && !j.OneEnd && !unknown(from, s) && !unknown(to, r) {
		if d, ok := delaysBetween(a.Values, b.Values); ok {
			j.Delays = &d
		}
	}
	offset := int64(0)
	if j.Delays != nil {
		offset = j.Delays.OffsetNs
		j.Delays.OffsetNs += to.WallNs - from.WallNs
	}
	for i := range j.Phases {
		j.Phases[i] = joinPhase(j.Phases[i], r, offset)
	}
	j.Phases = joinPhases(j.Phases)
	j.conclude()
	j.blame(from.Source)
	return j
}

// JoinEnds joins the connections of which the same file shows both ends.
func (r *Report) JoinEnds(e End) {
	for _, j := range Join(e, e) {
		for i := range r.Connections {
			if c := &r.Connections[i]; c.ID == j.ID {
				*c = j.Connection
			}
		}
	}
}

// peerLimits are the limits of the receiver that explain one of the sender: the reason for which
// the window is full, and the requests that Nagle's algorithm holds back.
func peerLimits(l Limit) []Limit {
	switch l {
	case ReceiveWindow, ReceivingApplication:
		return []Limit{ReceiveWindow, ReceivingApplication}
	case Unknown:
		return []Limit{ReceiveWindow, ReceivingApplication, Nagle}
	case Application, RoundTrips, Idle:
		return []Limit{Nagle}
	}
	return nil
}

// joinPhase settles what the sender cannot see.
func joinPhase(p Phase, r *Connection, offset int64) Phase {
	limits := peerLimits(p.Limit)
	var most int64
	var found *Phase
	for i := range r.Phases {
		q := &r.Phases[i]
		overlap := min(p.EndNs, q.EndNs-offset) - max(p.StartNs, q.StartNs-offset)
		if overlap > most && slices.Contains(limits, q.Limit) {
			most = overlap
			found = q
		}
	}
	if found == nil || 2*most < p.length() {
		return p
	}
	var s shares
	for _, old := range p.Shares {
		limit := old.Limit
		if limit == p.Limit {
			limit = found.Limit
		}
		s[limit] += old.Share
	}
	evidence := append(slices.Clone(p.Evidence), found.Evidence...)
	certainty := max(p.Certainty, found.Certainty)
	if p.Limit != Unknown && p.Limit != found.Limit {
		certainty = Likely
	}
	p.Finding = found.Finding
	p.Evidence = evidence
	p.Certainty = certainty
	p.Shares = s.list()
	return p
}

const (
	// leastAckQueueUs is the least queueing of acknowledgements that is a limit, and ackQueueShare
	// its least share of the queueing of both ways.
	leastAckQueueUs = 30_000
	ackQueueShare   = 0.6
)

// blame names the way back where the acknowledgements wait, and the doubts of the clocks.
func (j *Joined) blame(source Source) {
	d := j.Delays
	if d == nil {
		return
	}
	if d.StepNs > 0 {
		j.doubt()
		return
	}
	queues := j.Limit == Capacity || j.Limit == SharedCapacity || j.Limit == NetworkQueue || j.Limit == Unknown ||
		j.Limit == SenderHost
	if !queues {
		return
	}
	m := ackBacklog("ack_bytes", float64(d.DataQueueUs), float64(d.AckQueueUs), source == PerAck)
	if m == nil {
		return
	}
	was := j.Limit
	found := m.finding()
	found.Next = AckBacklog.next()
	rename(j.Shares, was)
	for i := range j.Phases {
		p := &j.Phases[i]
		rename(p.Shares, was)
		if p.Limit == was {
			p.Finding = found
		}
	}
	j.Finding = found
}

// ackBacklog judges the waits of data and of acknowledgements in µs.
func ackBacklog(field string, dataUs, ackUs float64, exact bool) *match {
	if ackUs < leastAckQueueUs || ackUs < ackQueueShare*(ackUs+dataUs) {
		return nil
	}
	return verdict(AckBacklog, exact && ackUs > 3*max(leastAckQueueUs, dataUs)).
		because(field, "acknowledgements waited %s on their way back, data %s on its way", milliseconds(ackUs),
			milliseconds(dataUs))
}

// rename gives the shares of a limit to AckBacklog.
func rename(list []Share, was Limit) {
	for i := range list {
		if list[i].Limit == was {
			list[i].Limit = AckBacklog
		}
	}
}

// Text describes the clocks and the delays.
func (d *Delays) Text() string {
	text := fmt.Sprintf("the receiver's clock is %s ahead, at most %s wrong", ofNs(d.OffsetNs), ofNs(d.ErrorNs))
	if d.StepNs > 0 {
		return text + fmt.Sprintf("; one stepped by %s: delays of one way are not told", ofNs(d.StepNs))
	}
	return text + fmt.Sprintf("; data waited %s on its way, acknowledgements %s", milliseconds(float64(d.DataQueueUs)),
		milliseconds(float64(d.AckQueueUs)))
}

func ofNs(ns int64) string { return milliseconds(float64(ns) / 1000) }

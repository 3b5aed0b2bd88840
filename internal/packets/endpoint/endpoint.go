// Package endpoint estimates the state of both ends of captured connections, as far as segments
// show it, in the form of a recording. The diagnosis reads it.
package endpoint

import (
	"errors"

	"airtide/internal/packets/conn"
	"airtide/internal/packets/decode"
	"airtide/internal/packets/series"
	"airtide/internal/tcp"
)

const (
	batchRows = 1024 // samples that are passed on together
	// clockedNs is the greatest time between an ACK and the data that it released, where the sender
	// was captured.
	clockedNs = int64(2e6)
	// Data that comes after leastPauseNs without data had waited for an ACK, and not for the
	// program, if the ACK came in the last 1/promptPart of that time.
	leastPauseNs = int64(2e6)
	promptPart   = 8
	// releaseUs is the greatest time of the sender's answer in a handshake, in µs, at a place
	// where releases show.
	releaseUs = 100
	// leastClosedNs is the least time for which a window is closed: acknowledgements may be
	// delayed.
	leastClosedNs = int64(10e6)
	// leastTimeoutNs is the least retransmission timer (tcp_rto_min).
	leastTimeoutNs = int64(180e6)
	// defaultMSS is the data of a segment if the capture lacks the handshake.
	defaultMSS = 1448
	// leastMSS bounds offers of hostile captures.
	leastMSS = 88
)

// Series is an observer of a capture. Each segment gives a sample of the end that receives it, with
// times in ns since 1970. Flow numbers are those of package series.
type Series struct {
	Sink tcp.Sink
	// Most, if not zero, is the greatest number of connections that are passed on; LeftOut counts
	// the others.
	Most, LeftOut uint64
	// Other has the flows of the ends that a capture shows worse than the other one of their
	// connection: that of the receiver, unless it was captured there.
	Other map[tcp.FlowID]bool

	open  map[uint64]*connection // nil if left out
	begun uint64
	batch *tcp.Batch
}

// connection is the state of both ends: client, server.
type connection struct {
	ends        [2]end
	synNs       int64
	handshakeUs int64 // from the last SYN to the ACK of its answer; 0 without it
}

// end is the estimated state of one end.
type end struct {
	id  tcp.FlowID
	mss int64
	// sent and acked are bytes of its stream: captured, and acknowledged by the other end.
	sent, acked int64
	// next is the first byte of the other stream that has not come.
	next       int64
	outOfOrder int64
	// sendWindow is the window that the other end advertised, ownWindow its own.
	sendWindow, ownWindow int64
	// edge is the end of its window in the other stream, and filledNs the time at which data
	// reached it; 0 while the window has room.
	edge, filledNs       int64
	rttUs, srttUs, minUs int64
	// busyUs is the time with data outstanding before busyNs; busyNs is 0 while none is.
	busyUs, busyNs int64
	resent         int64
	// sackedTo is the end of the greatest SACK block that is not acknowledged, and repaired tells
	// whether a segment below it was sent again.
	sackedTo  int64
	repaired  bool
	recoverTo int64 // bytes sent when it began to send again; 0 outside of recovery
	timedOut  bool  // the recovery began with a timeout
	sentNs    int64 // time of the last segment with data
	short     bool  // the segment filled neither itself nor the window: no more data waited
	// echoUs is the RTT from the capture to this end, and echoMeanUs its smoothed mean; 0 if
	// unknown. silent counts RTTs to the other end without it.
	echoUs, echoMeanUs int64
	silent             int
	// state is known once an end has sent its FIN.
	state tcp.State
	// waiting is the last sample. It waits for the next segment of its end, which shows whether
	// data waited for this ACK.
	waiting tcp.Sample
	waits   bool
}

// Step takes a segment.
func (s *Series) Step(c *conn.Connection, step *conn.Step) error {
	state, known := s.open[c.ID]
	if !known {
		var err error
		state, err = s.begin(c)
		if err != nil {
			return err
		}
	}
	if state == nil {
		return nil
	}
	sender := &state.ends[0]
	receiver := &state.ends[1]
	if !step.Client {
		sender, receiver = receiver, sender
	}
	if state.handshake(c, step) {
		if err := s.opened(state, step.Segment.TimeNs); err != nil {
			return err
		}
	}
	if err := s.sends(c, step, sender); err != nil {
		return err
	}
	if step.Segment.Flags&decode.FIN != 0 {
		if err := s.finish(step.Segment.TimeNs, sender, receiver); err != nil {
			return err
		}
	}
	return s.arrives(c, step, state, sender, receiver)
}

// begin announces both flows of a connection; nil if it is left out.
func (s *Series) begin(c *conn.Connection) (*connection, error) {
	if s.open == nil {
		s.batch = tcp.NewBatch(batchRows)
		s.open = map[uint64]*connection{}
	}
	if s.Most > 0 && s.begun >= s.Most {
		s.LeftOut++
		s.open[c.ID] = nil
		return nil, nil
	}
	s.begun++
	state := &connection{}
	s.open[c.ID] = state
	for i := range state.ends {
		e := &state.ends[i]
		*e = end{
			id: series.FlowID(c.ID, i == 0), mss: defaultMSS, sendWindow: tcp.Absent, ownWindow: tcp.Absent,
			rttUs: tcp.Absent,
		}
	}
	return state, series.Announce(s.Sink, c)
}

// handshake follows the handshake: its time, and the size of segments. It reports whether the
// segment ends it.
func (x *connection) handshake(c *conn.Connection, step *conn.Step) (ends bool) {
	flags := step.Segment.Flags
	switch {
	case flags&decode.SYN != 0:
		if step.Client {
			x.synNs = step.Segment.TimeNs
		}
		if a, b := c.FromClient.Offer, c.FromServer.Offer; a != nil && b != nil && a.MSS > 0 && b.MSS > 0 {
			mss := max(leastMSS, int64(min(a.MSS, b.MSS)))
			if a.Timestamps != nil && *a.Timestamps && b.Timestamps != nil && *b.Timestamps {
				mss -= 12
			}
			x.ends[0].mss = mss
			x.ends[1].mss = mss
		}
	case step.Client && x.synNs > 0 && flags&decode.ACK != 0:
		x.handshakeUs = max(1, (step.Segment.TimeNs-x.synNs)/1000)
		x.synNs = 0
		return true
	}
	return false
}

// opened passes on that both ends are open.
func (s *Series) opened(x *connection, now int64) error {
	for i := range x.ends {
		open := tcp.Event{TimeNs: now, Flow: x.ends[i].id, Kind: tcp.EventOpen}
		open.From = uint8(tcp.StateSynSent)
		open.To = uint8(tcp.StateEstablished)
		if err := s.flushed(&open); err != nil {
			return err
		}
	}
	return nil
}

// sends takes a segment at its sender.
func (s *Series) sends(c *conn.Connection, step *conn.Step, e *end) error {
	segment := step.Segment
	payload := int64(segment.Payload)
	now := segment.TimeNs
	if step.Window >= 0 {
		e.ownWindow = step.Window
	}
	if segment.Flags&decode.ACK != 0 && segment.Flags&decode.SYN == 0 {
		e.next = max(e.next, step.AckOffset)
		if err := s.advertises(step, e); err != nil {
			return err
		}
	}
	if payload == 0 {
		return nil
	}
	if e.waits && seesReleases(c, step.Client) {
		e.judgeRelease(payload, now)
	}
	if err := s.release(e); err != nil {
		return err
	}
	again := step.Late || step.Signs&conn.Repeated != 0
	if again && step.Signs&conn.KeepAlive == 0 {
		if err := s.resend(step, e); err != nil {
			return err
		}
	}
	if e.busyNs == 0 {
		e.busyNs = now
	}
	if step.EchoNs > 0 && !c.AtSender(step.Client) {
		e.echoUs = max(1, step.EchoNs/1000)
		if e.echoMeanUs == 0 {
			e.echoMeanUs = e.echoUs
		}
		e.echoMeanUs += (e.echoUs - e.echoMeanUs) / 8
	}
	e.sent = max(e.sent, step.Offset+payload)
	e.sentNs = now
	e.short = payload%e.mss != 0 && step.Signs&conn.WindowFull == 0
	return nil
}

// judgeRelease notes at the waiting sample whether its ACK released the data that is sent now.
func (e *end) judgeRelease(payload, now int64) {
	v := &e.waiting.Values
	since := now - e.waiting.TimeNs
	// A full segment that comes with the ACK is no request.
	asked := v[tcp.SegmentBytes]%e.mss != 0
	if pause := now - e.sentNs; pause >= leastPauseNs && e.sentNs > 0 {
		v[tcp.WriterBlocked] = 0
		if !asked && since <= min(clockedNs, pause/promptPart) {
			v[tcp.WriterBlocked] = 1
		}
	}
	if !asked && since <= clockedNs && !e.passesNagle(payload) {
		v[tcp.WrittenBytes] = v[tcp.SentBytes] + payload
		v[tcp.CwndLimited] = 1
	}
}

// finish follows the states of both ends when one sends its FIN.
func (s *Series) finish(now int64, sender, receiver *end) error {
	err := errors.Join(s.release(sender), s.release(receiver))
	if receiver.state == tcp.StateFinWait1 {
		return errors.Join(err, s.enter(now, sender, tcp.StateLastAck))
	}
	return errors.Join(err, s.enter(now, sender, tcp.StateFinWait1), s.enter(now, receiver, tcp.StateCloseWait))
}

// passesNagle reports whether a part of a segment leaves while another one is outstanding: nothing
// held it back, and the program gives data as it comes (tcp_nagle_check() in
// net/ipv4/tcp_output.c).
func (e *end) passesNagle(payload int64) bool {
	return payload < e.mss && e.short && e.acked < e.sent
}

// enter passes on that the state of an end changes.
func (s *Series) enter(now int64, e *end, state tcp.State) error {
	event := tcp.Event{TimeNs: now, Flow: e.id, Kind: tcp.EventState, From: uint8(e.state), To: uint8(state)}
	e.state = state
	return s.flushed(&event)
}

// advertises takes the window of an end. If it was filled for long, its program did not read: an
// event has the time in µs. While it stays closed, each answer to a probe has the time since the
// last one.
func (s *Series) advertises(step *conn.Step, e *end) error {
	if step.Window >= 0 {
		e.edge = max(e.edge, step.AckOffset+step.Window)
	}
	open := e.next+e.mss <= e.edge
	if e.filledNs == 0 || !open && step.Window != 0 {
		return nil
	}
	now := step.Segment.TimeNs
	closedNs := now - e.filledNs
	switch {
	case open:
		e.filledNs = 0
	case closedNs >= leastClosedNs:
		e.filledNs = now
	}
	if closedNs < leastClosedNs {
		return nil
	}
	return s.flushed(&tcp.Event{TimeNs: now, Flow: e.id, Kind: tcp.EventLocalZeroWindow, Value: closedNs / 1000})
}

// seesReleases reports whether a segment that an ACK released passes the capture right behind it:
// at its sender, between ends on one host, and in a network so fast that the place does not matter.
func seesReleases(c *conn.Connection, client bool) bool {
	answerUs := c.ServerSideUs
	if client {
		answerUs = c.ClientSideUs
	}
	return c.AtSender(client) || c.OnOneHost() || c.HandshakeUs > 0 && answerUs < releaseUs
}

// resend takes a segment that was sent again.
func (s *Series) resend(step *conn.Step, e *end) error {
	now := step.Segment.TimeNs
	count := max(1, int64(step.Segments))
	e.resent += count
	event := tcp.Event{
		TimeNs: now, Flow: e.id, Kind: tcp.EventRetransmit, Value: count, Seq: step.Offset,
		EndSeq: step.Offset + int64(step.Segment.Payload),
	}
	silence := now - e.sentNs
	e.repaired = e.repaired || step.Offset < e.sackedTo
	fast := step.Signs&conn.FastRetransmission != 0
	if fast {
		event.Cause = tcp.CauseFast
	}
	if e.recoverTo == 0 {
		e.recoverTo = e.sent
		e.timedOut = false
	}
	if err := s.flushed(&event); err != nil {
		return err
	}
	if fast || silence < max(leastTimeoutNs, 1500*e.srttUs) {
		return nil
	}
	e.timedOut = true
	return s.flushed(&tcp.Event{TimeNs: now, Flow: e.id, Kind: tcp.EventTimeout, Value: silence / 1000})
}

// flushed passes an event on, behind the samples before it.
func (s *Series) flushed(e *tcp.Event) error {
	e.Code = e.Kind.Code()
	return errors.Join(s.pass(), s.Sink.Event(e))
}

// arrives takes a segment at its receiver and makes the sample.
func (s *Series) arrives(c *conn.Connection, step *conn.Step, x *connection, sender, e *end) error {
	if err := s.release(e); err != nil {
		return err
	}
	segment := step.Segment
	now := segment.TimeNs
	payload := int64(segment.Payload)
	row := &e.waiting
	for f := range row.Values {
		row.Values[f] = tcp.Absent
	}
	row.Flow = e.id
	row.TimeNs = now
	v := &row.Values
	v[tcp.ReceivedBytes] = e.next
	v[tcp.SeqBytes] = step.Offset
	v[tcp.SegmentBytes] = payload
	if segment.Timestamps {
		v[tcp.PeerTimestamp] = int64(segment.Timestamp)
		v[tcp.EchoedTimestamp] = int64(segment.Echo)
	}
	if payload > 0 {
		if step.Offset > e.next {
			e.outOfOrder++
		} else {
			e.next = max(e.next, step.Offset+payload)
		}
		if e.filledNs == 0 && e.edge > 0 && e.next+e.mss > e.edge {
			e.filledNs = now
		}
	}
	e.rttUs = tcp.Absent
	if n := len(step.Delays); n > 0 && (c.AtSender(!step.Client) || c.Between() && e.bothWays(segment)) {
		e.rttUs = max(1, step.Delays[n-1].Ns/1000) + e.echoUs
		e.measure(e.rttUs)
	} else if e.srttUs == 0 && x.handshakeUs > 0 {
		e.measure(x.handshakeUs)
	}
	// Like the kernel's, the sample has the state before its segment.
	e.fill(v, now)
	switch {
	case sender.echoMeanUs > 0 && c.AtSender(!step.Client):
		v[tcp.ReceiverRttUs] = sender.echoMeanUs
	case x.handshakeUs > 0:
		v[tcp.ReceiverRttUs] = x.handshakeUs
	}
	if step.Window >= 0 {
		e.sendWindow = step.Window
	}
	if segment.Flags&decode.ACK != 0 && segment.Flags&decode.SYN == 0 {
		v[tcp.AckBytes] = step.AckOffset
		if err := s.overtaken(step, e); err != nil {
			return err
		}
		e.acknowledge(step.AckOffset, now)
	}
	e.waits = true
	if step.Signs&conn.Dsack != 0 {
		if err := s.flushed(&tcp.Event{TimeNs: now, Flow: e.id, Kind: tcp.EventDsack}); err != nil {
			return err
		}
	}
	if step.Signs&conn.ZeroWindow != 0 {
		return s.flushed(&tcp.Event{TimeNs: now, Flow: e.id, Kind: tcp.EventZeroWindow})
	}
	return nil
}

// mostSilent is the number of RTTs after which no echo is expected any more.
const mostSilent = 64

// bothWays reports whether both parts of the RTT are known at a capture between the ends. Without
// echoes of timestamps only that from the capture to the receiver shows, and stands for both.
func (e *end) bothWays(s *decode.Segment) bool {
	if e.echoUs > 0 || !s.Timestamps {
		return true
	}
	e.silent++
	return e.silent > mostSilent
}

// overtaken follows SACK blocks. If the bytes below a block are acknowledged and none was sent
// again, packets had overtaken each other. A block below the acknowledgement reports bytes that
// came twice (RFC 2883).
func (s *Series) overtaken(step *conn.Step, e *end) error {
	segment := step.Segment
	for _, b := range segment.Blocks[:segment.NumBlocks] {
		if above := int64(int32(b.End - segment.Ack)); above > 0 {
			e.sackedTo = max(e.sackedTo, step.AckOffset+above)
		}
	}
	if e.sackedTo == 0 || step.AckOffset < e.sackedTo {
		return nil
	}
	repaired := e.repaired || e.recoverTo > 0
	e.sackedTo = 0
	e.repaired = false
	if repaired {
		return nil
	}
	return s.flushed(&tcp.Event{TimeNs: segment.TimeNs, Flow: e.id, Kind: tcp.EventReordering})
}

// acknowledge takes an acknowledgement.
func (e *end) acknowledge(offset, now int64) {
	e.acked = max(e.acked, min(offset, e.sent))
	if e.acked >= e.recoverTo {
		e.recoverTo = 0
	}
	if e.acked >= e.sent {
		e.busyUs = e.busyAt(now)
		e.busyNs = 0
	}
}

// busyAt is the time with data outstanding, in µs.
func (e *end) busyAt(now int64) int64 {
	if e.busyNs == 0 {
		return e.busyUs
	}
	return e.busyUs + max(0, now-e.busyNs)/1000
}

// measure takes an RTT in µs.
func (e *end) measure(rtt int64) {
	if e.srttUs == 0 {
		e.srttUs = rtt
		e.minUs = rtt
	}
	e.srttUs += (rtt - e.srttUs) / 8
	e.minUs = min(e.minUs, rtt)
}

// fill writes the state into a sample. Data waits behind a full segment unless the next segment
// shows the opposite. The window is at least the data in flight.
func (e *end) fill(v *[tcp.NumFields]int64, now int64) {
	flight := (e.sent - e.acked + e.mss - 1) / e.mss
	v[tcp.AckedBytes] = e.acked
	v[tcp.SentBytes] = e.sent
	v[tcp.WrittenBytes] = e.sent
	if !e.short && e.sent > 0 && (e.state == 0 || e.state == tcp.StateCloseWait) {
		v[tcp.WrittenBytes] += 2 * e.mss
	}
	v[tcp.MSSBytes] = e.mss
	v[tcp.CwndPackets] = flight
	v[tcp.InFlightPackets] = flight
	v[tcp.CwndLimited] = 0
	v[tcp.DeliveredPackets] = e.acked / e.mss
	v[tcp.RetransmitsPackets] = e.resent
	v[tcp.OutOfOrderPackets] = e.outOfOrder
	v[tcp.SendWindowBytes] = e.sendWindow
	v[tcp.ReceiveWindowBytes] = e.ownWindow
	v[tcp.RttUs] = e.rttUs
	v[tcp.BusyUs] = e.busyAt(now)
	if e.srttUs > 0 {
		v[tcp.SrttUs] = e.srttUs
		v[tcp.MinRttUs] = e.minUs
	}
	state := tcp.CAOpen
	if e.recoverTo > 0 {
		state = tcp.CARecovery
		if e.timedOut {
			state = tcp.CALoss
		}
	}
	v[tcp.CAStateField] = int64(state)
	if e.state != 0 {
		v[tcp.StateField] = int64(e.state)
	}
}

// release passes the waiting sample of an end on.
func (s *Series) release(e *end) error {
	if !e.waits {
		return nil
	}
	e.waits = false
	s.batch.Append(&e.waiting)
	if s.batch.Len() == batchRows {
		return s.pass()
	}
	return nil
}

func (s *Series) pass() error { return series.PassOn(s.Sink, s.batch) }

// Done passes on the last samples of a connection that has ended, and its end.
func (s *Series) Done(c *conn.Connection) error {
	x := s.open[c.ID]
	delete(s.open, c.ID)
	if x == nil {
		return nil
	}
	if s.Other == nil {
		s.Other = map[tcp.FlowID]bool{}
	}
	clientSends := c.FromClient.DataBytes >= c.FromServer.DataBytes
	shown := clientSends
	if c.AtSender(!clientSends) {
		shown = !clientSends
	}
	s.Other[series.FlowID(c.ID, !shown)] = true
	for i := range x.ends {
		if err := s.release(&x.ends[i]); err != nil {
			return err
		}
	}
	if err := s.pass(); err != nil {
		return err
	}
	if c.End == "open" || c.End == "half_closed" {
		return nil
	}
	for i := range x.ends {
		closed := &tcp.Event{TimeNs: c.LastNs, Flow: x.ends[i].id, Kind: tcp.EventClose}
		closed.Reason = tcp.ReasonUnknownLeaving
		switch c.End {
		case "refused":
			closed.From = uint8(tcp.StateSynSent)
			closed.Reason = tcp.ReasonRefused
		case "no_answer":
			closed.From = uint8(tcp.StateSynSent)
		}
		if err := s.Sink.Event(closed); err != nil {
			return err
		}
	}
	return nil
}

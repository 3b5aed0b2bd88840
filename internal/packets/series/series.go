// Package series turns a capture into the samples and events of a recording, so that it can be
// exported in the same formats. Each connection becomes two flows, one for each end.
package series

import (
	"errors"

	"airtide/internal/packets/conn"
	"airtide/internal/packets/decode"
	"airtide/internal/tcp"
)

// batchRows is the number of samples that are passed on together.
const batchRows = 1024

// Series is an observer of a capture that passes samples and events on to a sink. Times are in ns
// since 1970. Each segment gives one sample, of the end that receives it.
type Series struct {
	Sink tcp.Sink
	// Only, if not zero, is the only connection to pass on.
	Only uint64
	// Most, if not zero, is how many connections are passed on. LeftOut counts the others.
	Most, LeftOut uint64
	// Samples counts the samples passed on.
	Samples uint64

	open  map[uint64]*[2]end // client, server; nil if left out
	begun uint64
	batch *tcp.Batch
	row   tcp.Sample
}

// end is the state of one end of an open connection.
type end struct {
	acked, window, rttUs int64
}

// Fields are the fields of the samples.
func Fields() []tcp.Field {
	return []tcp.Field{
		tcp.AckBytes, tcp.SeqBytes, tcp.SegmentBytes, tcp.PeerWindowBytes, tcp.TCPFlags, tcp.SackBlocks, tcp.RttUs,
		tcp.ReceiveWindowBytes, tcp.AckedBytes, tcp.SentBytes, tcp.RetransmitsPackets, tcp.RetransmittedBytes,
		tcp.UnackedBytes, tcp.Direction,
	}
}

// FlowID is the flow of one end: of connection 1, the client is flow 1 and the server flow 2.
func FlowID(connection uint64, client bool) tcp.FlowID {
	if client {
		return tcp.FlowID(2*connection - 1)
	}
	return tcp.FlowID(2 * connection)
}

// Step passes a segment on.
func (s *Series) Step(c *conn.Connection, step *conn.Step) error {
	if s.Only != 0 && c.ID != s.Only {
		return nil
	}
	ends, known := s.open[c.ID]
	if !known {
		var err error
		ends, err = s.begin(c)
		if err != nil {
			return err
		}
	}
	if ends == nil {
		return nil
	}
	sender := &ends[0]
	receiver := &ends[1]
	repeated := &c.FromServer
	if !step.Client {
		sender, receiver = receiver, sender
		repeated = &c.FromClient
	}
	segment := step.Segment
	if step.Window >= 0 {
		sender.window = step.Window
	}
	if n := len(step.Delays); n > 0 {
		receiver.rttUs = step.Delays[n-1].Ns / 1000
	}
	row := &s.row
	for f := range row.Values {
		row.Values[f] = tcp.Absent
	}
	row.Flow = FlowID(c.ID, !step.Client)
	row.TimeNs = segment.TimeNs
	v := &row.Values
	v[tcp.SeqBytes] = step.Offset
	v[tcp.SegmentBytes] = int64(segment.Payload)
	v[tcp.TCPFlags] = int64(segment.Flags)
	v[tcp.SackBlocks] = int64(segment.NumBlocks)
	if step.Window >= 0 {
		v[tcp.PeerWindowBytes] = step.Window
	}
	if segment.Flags&decode.ACK != 0 {
		v[tcp.AckBytes] = step.AckOffset
		receiver.acked = max(receiver.acked, step.AckOffset)
	}
	v[tcp.AckedBytes] = receiver.acked
	v[tcp.SentBytes] = max(receiver.acked, step.OtherSent)
	v[tcp.RttUs] = receiver.rttUs
	v[tcp.ReceiveWindowBytes] = receiver.window
	v[tcp.RetransmitsPackets] = int64(repeated.AllRetransmissions())
	v[tcp.RetransmittedBytes] = int64(repeated.RepeatedBytes)
	if c.AtSender(!step.Client) {
		v[tcp.RetransmitsPackets] = int64(repeated.LateSegments)
		v[tcp.RetransmittedBytes] = int64(repeated.LateBytes)
	}
	s.batch.Append(row)
	s.Samples++
	if s.batch.Len() == batchRows {
		if err := s.Flush(); err != nil {
			return err
		}
	}
	return s.events(c, step)
}

// begin announces both flows of a connection; nil if it is left out.
func (s *Series) begin(c *conn.Connection) (*[2]end, error) {
	if s.open == nil {
		s.batch = tcp.NewBatch(batchRows)
		s.open = map[uint64]*[2]end{}
	}
	if s.Most > 0 && s.begun >= s.Most {
		s.LeftOut++
		s.open[c.ID] = nil
		return nil, nil
	}
	s.begun++
	unknown := end{window: tcp.Absent, rttUs: tcp.Absent}
	ends := &[2]end{unknown, unknown}
	s.open[c.ID] = ends
	return ends, Announce(s.Sink, c)
}

// Announce passes both flows of a connection to a sink.
func Announce(sink tcp.Sink, c *conn.Connection) error {
	client := &tcp.Flow{ID: FlowID(c.ID, true), Local: c.Client, Remote: c.Server, FirstNs: c.FirstNs}
	client.Inherited = c.FromClient.Offer == nil && c.FromServer.Offer == nil // it has no SYN
	server := *client
	server.ID = FlowID(c.ID, false)
	server.Local = c.Server
	server.Remote = c.Client
	return errors.Join(sink.Flow(client), sink.Flow(&server))
}

// Done forgets a connection that has ended.
func (s *Series) Done(c *conn.Connection) error {
	delete(s.open, c.ID)
	return nil
}

// Flush passes the last samples on.
func (s *Series) Flush() error {
	return PassOn(s.Sink, s.batch)
}

// PassOn passes the samples of a batch to a sink and empties the batch, which may be nil.
func PassOn(sink tcp.Sink, b *tcp.Batch) error {
	if b == nil || b.Len() == 0 {
		return nil
	}
	err := sink.Samples(b)
	b.Reset()
	return err
}

// events passes on the events that a segment shows, at its sender or at its receiver.
func (s *Series) events(c *conn.Connection, step *conn.Step) error {
	segment := step.Segment
	e := tcp.Event{TimeNs: segment.TimeNs, Flow: FlowID(c.ID, !step.Client)}
	switch {
	case step.Signs&conn.Repeated != 0, step.Late && c.AtSender(step.Client):
		e.Flow = FlowID(c.ID, step.Client)
		e.Kind = tcp.EventRetransmit
		e.Seq = step.Offset
		e.EndSeq = step.Offset + int64(segment.Payload)
		e.Value = 1
		if c.AtSender(step.Client) {
			e.Value = int64(step.Segments)
		}
		if step.Signs&conn.FastRetransmission != 0 {
			e.Cause = tcp.CauseFast
		}
	case step.Signs&conn.Dsack != 0:
		e.Kind = tcp.EventDsack
	case step.Signs&conn.Sack != 0:
		e.Kind = tcp.EventSack
	case step.Signs&conn.DupAck != 0:
		e.Kind = tcp.EventDupAck
		e.Seq = step.AckOffset
	case step.Signs&conn.ZeroWindow != 0:
		e.Kind = tcp.EventZeroWindow
	default:
		return nil
	}
	if e.Kind == tcp.EventSack || e.Kind == tcp.EventDsack {
		e.Seq = step.AckOffset
		for i, b := range segment.Blocks[:segment.NumBlocks] {
			e.Blocks[i] = tcp.Block{
				Start: step.AckOffset + int64(int32(b.Start-segment.Ack)),
				End:   step.AckOffset + int64(int32(b.End-segment.Ack)),
			}
		}
		e.NumBlocks = segment.NumBlocks
	}
	e.Code = e.Kind.Code()
	return s.Sink.Event(&e)
}

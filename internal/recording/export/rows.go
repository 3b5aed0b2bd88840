package export

import (
	"net/netip"
	"strings"

	"airtide/internal/tcp"
)

// eventRow is an event as a row. A pointer is nil, and a text empty, if the column has no meaning
// for the kind of event. The parquet tags also name the columns of CSV.
type eventRow struct {
	Type            string      `json:"type" parquet:"-"`
	Flow            *uint32     `json:"flow,omitempty" parquet:"flow"`
	TimeNs          int64       `json:"time_ns" parquet:"time_ns,delta"`
	Time            *int64      `json:"-" parquet:"time,timestamp(nanosecond)"`
	TimeText        string      `json:"time,omitempty" parquet:"-"`
	Kind            string      `json:"kind" parquet:"kind,dict"`
	Code            int32       `json:"code" parquet:"code"`
	CodeName        *string     `json:"code_name,omitempty" parquet:"code_name,dict"`
	CAState         *string     `json:"ca_state,omitempty" parquet:"ca_state,dict"`
	CwndPackets     *int64      `json:"cwnd_packets,omitempty" parquet:"cwnd_packets"`
	SsthreshPackets *int64      `json:"ssthresh_packets,omitempty" parquet:"ssthresh_packets"`
	InFlightPackets *int64      `json:"in_flight_packets,omitempty" parquet:"in_flight_packets"`
	Cause           *string     `json:"cause,omitempty" parquet:"cause,dict"`
	Reason          *string     `json:"reason,omitempty" parquet:"reason,dict"`
	FromState       *string     `json:"from_state,omitempty" parquet:"from_state,dict"`
	ToState         *string     `json:"to_state,omitempty" parquet:"to_state,dict"`
	SeqBytes        *int64      `json:"seq_bytes,omitempty" parquet:"seq_bytes"`
	EndSeqBytes     *int64      `json:"end_seq_bytes,omitempty" parquet:"end_seq_bytes"`
	Value           *int64      `json:"value,omitempty" parquet:"value"`
	Blocks          []tcp.Block `json:"blocks,omitempty" parquet:"-"`
	BlocksText      *string     `json:"-" parquet:"blocks"`
	Text            *string     `json:"text,omitempty" parquet:"text"`
	CPU             *int32      `json:"cpu,omitempty" parquet:"cpu"`
	FromSample      *bool       `json:"from_sample,omitempty" parquet:"from_sample"`
}

// infiniteSsthresh is the kernel's value for "not set yet" (TCP_INFINITE_SSTHRESH in
// include/net/tcp.h).
const infiniteSsthresh = 0x7fffffff

func newEventRow(e *tcp.Event, meta *Meta) *eventRow {
	flow := uint32(e.Flow)
	cpu := int32(e.CPU)
	r := &eventRow{
		Type: "event", Flow: &flow, TimeNs: e.TimeNs, Time: wallTime(meta, e.TimeNs), Kind: e.Kind.String(),
		Code: int32(e.Code), Text: text(e.Text), CPU: &cpu, FromSample: &e.FromSample,
	}
	r.socket(e)
	if e.Code != tcp.CodeNone {
		r.CodeName = text(e.Code.String())
	}
	if e.Cause != tcp.CauseNone {
		r.Cause = text(e.Cause.String())
	}
	if e.Reason != tcp.ReasonNone {
		r.Reason = text(e.Reason.String())
	}
	r.fromTo(e)
	// A value that the kind does not call for is kept when there is one: nothing of a recording
	// gets lost here.
	if e.Kind == tcp.EventDupAck || e.Kind == tcp.EventRetransmit || e.Seq != 0 {
		r.SeqBytes = number(e.Seq)
	}
	if e.Kind == tcp.EventRetransmit || e.EndSeq != 0 {
		r.EndSeqBytes = number(e.EndSeq)
	}
	switch e.Kind {
	case tcp.EventReordering, tcp.EventTimeout, tcp.EventECNEcho, tcp.EventWindowOpen:
		r.Value = number(e.Value)
	default:
		if e.Value != 0 {
			r.Value = number(e.Value)
		}
	}
	if n := min(int(e.NumBlocks), tcp.MaxBlocks); n > 0 {
		r.Blocks = e.Blocks[:n]
		r.BlocksText = text(blocksText(r.Blocks))
	}
	return r
}

// socket fills the state of the socket. The events of a capture have none: a socket's window is at
// least 1.
func (r *eventRow) socket(e *tcp.Event) {
	if e.CwndPackets == 0 {
		return
	}
	r.CAState = text(e.CAState.String())
	r.CwndPackets = number(e.CwndPackets)
	r.InFlightPackets = number(e.InFlightPackets)
	if e.SsthreshPackets < infiniteSsthresh {
		r.SsthreshPackets = number(e.SsthreshPackets)
	}
}

// fromTo names the states in the vocabulary of the kind of event.
func (r *eventRow) fromTo(e *tcp.Event) {
	switch e.Kind {
	case tcp.EventOpen, tcp.EventClose, tcp.EventState:
		r.FromState = text(tcp.State(e.From).String())
		r.ToState = text(tcp.State(e.To).String())
	case tcp.EventCAState:
		r.FromState = text(tcp.CAState(e.From).String())
		r.ToState = text(tcp.CAState(e.To).String())
	case tcp.EventUndo:
		r.FromState = text(tcp.CAState(e.From).String())
	case tcp.EventHandshake:
		r.FromState = text(tcp.State(e.From).String())
	case tcp.EventDrop:
		r.FromState = text(directionText(e.From))
	}
}

// directionText is the direction of a dropped packet.
func directionText(direction uint8) string {
	if direction == tcp.DirectionReceived {
		return "received"
	}
	return "sent"
}

// kindLost is the kind of a row for records that the observation lost.
const kindLost = "lost"

func newLostRow(l *tcp.Loss, meta *Meta) *eventRow {
	return &eventRow{
		TimeNs: l.TimeNs, Time: wallTime(meta, l.TimeNs), Kind: kindLost, Value: number(l.Total() + l.Untracked),
	}
}

// lossWatch reports increased counts. A recording repeats the counts every second, and most are
// zero.
type lossWatch struct{ last uint64 }

func (w *lossWatch) grown(l *tcp.Loss) bool {
	total := l.Total() + l.Untracked
	grown := total > w.last
	w.last = max(w.last, total)
	return grown
}

// flowRow is a flow as a row.
type flowRow struct {
	Flow              uint32  `parquet:"flow"`
	Local             string  `parquet:"local"`
	LocalAddress      *string `parquet:"local_address"`
	LocalPort         *int32  `parquet:"local_port"`
	Remote            string  `parquet:"remote"`
	RemoteAddress     *string `parquet:"remote_address"`
	RemotePort        *int32  `parquet:"remote_port"`
	NetNS             *int64  `parquet:"netns"`
	CgroupID          *int64  `parquet:"cgroup_id"`
	Cgroup            *string `parquet:"cgroup"`
	PID               *int64  `parquet:"pid"`
	Comm              *string `parquet:"comm"`
	Inode             *int64  `parquet:"inode"`
	CongestionControl *string `parquet:"congestion_control"`
	FirstNs           int64   `parquet:"first_ns"`
	FirstTime         *int64  `parquet:"first_time,timestamp(nanosecond)"`
	Inherited         bool    `parquet:"inherited"`
}

func newFlowRow(f *tcp.Flow, meta *Meta) *flowRow {
	r := &flowRow{
		Flow: uint32(f.ID), Local: tcp.Endpoint(f.Local), Remote: tcp.Endpoint(f.Remote), NetNS: known(f.NetNS),
		CgroupID: known(f.Cgroup), Cgroup: text(f.CgroupPath), PID: known(f.PID), Comm: text(f.Comm),
		Inode:             known(f.Inode),
		CongestionControl: text(f.CongestionControl), FirstNs: f.FirstNs, FirstTime: wallTime(meta, f.FirstNs),
		Inherited: f.Inherited,
	}
	r.LocalAddress, r.LocalPort = addressAndPort(f.Local)
	r.RemoteAddress, r.RemotePort = addressAndPort(f.Remote)
	return r
}

func addressAndPort(ap netip.AddrPort) (*string, *int32) {
	if !ap.IsValid() {
		return nil, nil
	}
	port := int32(ap.Port())
	return text(ap.Addr().Unmap().String()), &port
}

// number makes a value that is there, known one that is there unless it is zero, text one that is
// there unless empty.
func number[T uint32 | uint64 | int64](v T) *int64 { n := int64(v); return &n }

func known[T uint32 | uint64](v T) *int64 {
	if v == 0 {
		return nil
	}
	return number(v)
}

func text(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

func wallTime(meta *Meta, monotonicNs int64) *int64 {
	if !meta.hasWall() {
		return nil
	}
	return number(meta.wallNs(monotonicNs))
}

// blocksText prints blocks for the formats without lists: "1448-2896 4344-5792".
func blocksText(blocks []tcp.Block) string {
	var b strings.Builder
	for i, block := range blocks {
		if i > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(formatInt(block.Start))
		b.WriteByte('-')
		b.WriteString(formatInt(block.End))
	}
	return b.String()
}

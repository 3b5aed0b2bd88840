package screen

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"sync"
	"time"

	"airtide/internal/tcp"
	"airtide/internal/units"
)

// lineTime is the time of a JSON line: the wall clock for people, the monotonic clock to match
// recordings.
type lineTime struct {
	Type   string `json:"type"` // "status", "flow" or "event"
	Time   string `json:"time"` // RFC 3339, UTC
	TimeNs int64  `json:"time_ns"`
}

func newLineTime(kind string, ns int64, wall time.Time) lineTime {
	return lineTime{kind, wall.UTC().Format("2006-01-02T15:04:05.000000000Z07:00"), ns}
}

type statusLine struct {
	lineTime
	Status
}

type flowLine struct {
	lineTime
	*Row
}

// eventLine has the fields that belong to the kind of event; the others are left out.
type eventLine struct {
	lineTime
	Flow      tcp.FlowID     `json:"flow"`
	Local     Text           `json:"local"`
	Remote    Text           `json:"remote"`
	Event     string         `json:"event"`                // tcp.EventKind, or "seen"
	ErrorCode *tcp.ErrorCode `json:"error_code,omitempty"` // Matsuno et al. 2021, 1 to 4
	CAState   tcp.CAState    `json:"ca_state"`
	Cwnd      uint32         `json:"cwnd_packets"`
	Ssthresh  *uint32        `json:"ssthresh_packets"`
	InFlight  uint32         `json:"in_flight_packets"`

	From       *string      `json:"from,omitempty"`
	To         *string      `json:"to,omitempty"`
	Reason     *tcp.Reason  `json:"reason,omitempty"`
	Cause      *tcp.Cause   `json:"cause,omitempty"`
	Seq        *int64       `json:"seq_bytes,omitempty"`
	EndSeq     *int64       `json:"end_seq_bytes,omitempty"`
	Blocks     *[]tcp.Block `json:"blocks,omitempty"`
	Reordering *int64       `json:"reordering_packets,omitempty"`
	RTO        *int64       `json:"rto_us,omitempty"`
	Marked     *int64       `json:"delivered_ce_packets,omitempty"`
	Window     *int64       `json:"send_window_bytes,omitempty"`
	CC         *string      `json:"congestion_control,omitempty"`
	Place      *string      `json:"place,omitempty"`
	Handshake  *int64       `json:"handshake_us,omitempty"`
	SentAgain  *uint8       `json:"sent_again,omitempty"`
	FromSample bool         `json:"from_sample"`
}

// infiniteSsthresh is the kernel's value for a threshold that is not set (TCP_INFINITE_SSTHRESH,
// include/net/tcp.h).
const infiniteSsthresh = 0x7fffffff

func newEventLine(e *tcp.Event, local, remote Text, wall time.Time) *eventLine {
	l := &eventLine{
		lineTime: newLineTime("event", e.TimeNs, wall), Flow: e.Flow, Local: local, Remote: remote, Event: eventName(e),
		CAState: e.CAState, Cwnd: e.CwndPackets, InFlight: e.InFlightPackets, FromSample: e.FromSample,
	}
	if e.SsthreshPackets < infiniteSsthresh {
		l.Ssthresh = &e.SsthreshPackets
	}
	if e.Code != tcp.CodeNone {
		l.ErrorCode = &e.Code
	}
	text := func(s fmt.Stringer) *string { t := s.String(); return &t }
	switch e.Kind {
	case tcp.EventOpen, tcp.EventState:
		l.From = text(tcp.State(e.From))
		l.To = text(tcp.State(e.To))
	case tcp.EventCAState:
		l.From = text(tcp.CAState(e.From))
		l.To = text(tcp.CAState(e.To))
	case tcp.EventClose:
		l.Reason = &e.Reason
	case tcp.EventReordering:
		l.Reordering = &e.Value
	case tcp.EventDupAck:
		l.Seq = &e.Seq
	case tcp.EventSack, tcp.EventDsack:
		blocks := e.Blocks[:min(int(e.NumBlocks), tcp.MaxBlocks)]
		l.Blocks = &blocks
	case tcp.EventTimeout:
		l.RTO = &e.Value
	case tcp.EventRetransmit:
		l.Seq = &e.Seq
		l.EndSeq = &e.EndSeq
		l.Cause = &e.Cause
	case tcp.EventUndo:
		l.From = text(tcp.CAState(e.From))
		l.Reason = &e.Reason
	case tcp.EventECNEcho:
		l.Marked = &e.Value
	case tcp.EventWindowOpen:
		l.Window = &e.Value
	case tcp.EventCCChange:
		l.CC = &e.Text
	case tcp.EventDrop:
		l.Seq = &e.Seq
		l.EndSeq = &e.EndSeq
		l.Place = &e.Text
	case tcp.EventHandshake:
		l.Handshake = &e.Value
		l.SentAgain = &e.To
	}
	return l
}

// eventName is the kind of an event. A connection that was established before the observation began
// is "seen", not "open".
func eventName(e *tcp.Event) string {
	if e.Kind == tcp.EventOpen && e.From == e.To {
		return "seen"
	}
	return e.Kind.String()
}

// lineWriter writes JSON lines from the source's goroutine (events) and the ticker's (status and
// flows).
type lineWriter struct {
	mu      sync.Mutex
	out     *bufio.Writer
	encoder *json.Encoder // writes to out
	table   *Table
	clock   Clock
	// fromNs is the time before which events are not written.
	fromNs int64
	tcp.Discard
}

func newLineWriter(w io.Writer, t *Table, clock Clock) *lineWriter {
	out := bufio.NewWriterSize(w, 1<<16)
	return &lineWriter{out: out, encoder: units.NewJSONEncoder(out), table: t, clock: clock}
}

// Event writes a line at once into the buffer.
func (l *lineWriter) Event(e *tcp.Event) error {
	local, remote := l.table.endpoints(e.Flow)
	if e.TimeNs < l.fromNs {
		return nil
	}
	nowNs, wall := l.clock()
	line := newEventLine(e, local, remote, wall.Add(time.Duration(e.TimeNs-nowNs)))
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.line(line)
}

// round writes the status and one line for each flow.
func (l *lineWriter) round(s Sort, f Filter) error {
	nowNs, wall := l.clock()
	status := l.table.Status(nowNs)
	rows := l.table.Rows(nowNs, s, f)
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.line(statusLine{newLineTime("status", nowNs, wall), status}); err != nil {
		return err
	}
	at := newLineTime("flow", nowNs, wall)
	for _, r := range rows {
		if err := l.line(flowLine{at, r}); err != nil {
			return err
		}
	}
	if err := l.out.Flush(); err != nil {
		return fmt.Errorf("writing JSON lines: %w", err)
	}
	return nil
}

func (l *lineWriter) line(v any) error {
	if err := l.encoder.Encode(v); err != nil {
		return fmt.Errorf("writing JSON lines: %w", err)
	}
	return nil
}

package tcp

// ErrorCode is an error code of Matsuno et al. 2021, table 2.
type ErrorCode uint8

// The error codes of Matsuno et al. 2021.
const (
	CodeNone            ErrorCode = iota
	CodeReordering                // 1: reordering detected
	CodeLocalCongestion           // 2: local device congestion (the sender's own queue overflowed)
	CodeDupAck                    // 3: duplicate ACK, SACK or DSACK received
	CodeTimeout                   // 4: retransmission timeout
)

// NumErrorCodes counts the codes with CodeNone, so that an array can be indexed by code.
const NumErrorCodes = 5

var errorCodeNames = []string{"none", "reordering", "local_congestion", "dup_ack", "timeout"}

func (c ErrorCode) String() string { return nameOf(errorCodeNames, int(c), "code") }

// EventKind is the kind of an event. Recordings contain the numbers: append new kinds and never
// renumber a kind.
type EventKind uint8

// The kinds of events. docs/reference/fields.md explains how each is recognised, with the kernel
// file.
const (
	EventNone            EventKind = iota
	EventOpen                      // the connection reached ESTABLISHED, or was first seen; From, To: State
	EventClose                     // the socket is gone; Reason says why
	EventState                     // connection state changed; From, To: State
	EventCAState                   // congestion state changed; From, To: CAState
	EventReordering                // code 1; Value: new reordering degree in packets
	EventLocalCongestion           // code 2: a transmission was refused by the local queue, cwnd is being reduced
	EventDupAck                    // code 3: duplicate ACK without SACK; Seq: the ACK number
	EventSack                      // code 3: ACK with SACK blocks; Blocks
	EventDsack                     // code 3: ACK with a DSACK block; Blocks[0] is the duplicate
	EventTimeout                   // code 4: retransmission timeout; Value: RTO in µs before back-off
	// sent again; Seq, EndSeq, Cause; Value: segments; ReasonDeviceRefused when it did not leave
	EventRetransmit
	EventUndo            // a reduction was undone: the retransmission was spurious; From: CAState, Reason
	EventECNEcho         // the peer began to echo congestion marks; Value: marked deliveries so far
	EventZeroWindow      // the peer closed its window
	EventWindowOpen      // the peer opened its window again; Value: bytes
	EventLocalZeroWindow // this end advertised a zero window
	EventCCChange        // congestion control changed; Text: the new name
	EventTLPLoss         // a tail loss probe repaired a loss; cwnd is reduced once
	// this host dropped a packet; Seq, EndSeq, Text: reason and device; From: DirectionSent or
	// DirectionReceived; only recorded on demand
	EventDrop
	// the handshake is over; Value: its time in µs; From: State before; To: SYNs or SYN-ACKs that
	// were sent again, at most 255; only recorded on demand
	EventHandshake
	numEventKinds
)

var eventTable = [numEventKinds]Word{
	EventNone:            {"none", "no event"},
	EventOpen:            {"open", "the connection reached ESTABLISHED, or was first seen"},
	EventClose:           {"close", "the socket is gone; the reason is given"},
	EventState:           {"state", "the connection state changed"},
	EventCAState:         {"ca_state", "the congestion state changed"},
	EventReordering:      {"reordering", "segments arrived out of order; value: the new reordering degree in packets"},
	EventLocalCongestion: {"local_congestion", "the own device or its queue refused a transmission; cwnd is reduced"},
	EventDupAck:          {"dup_ack", "duplicate ACK without SACK"},
	EventSack:            {"sack", "ACK with SACK blocks"},
	EventDsack:           {"dsack", "ACK that reports a duplicate segment (DSACK)"},
	EventTimeout:         {"timeout", "the retransmission timer fired; value: the timeout in µs before back-off"},
	EventRetransmit:      {"retransmit", "a segment was sent again; the cause is given; value: segments in it"},
	EventUndo:            {"undo", "a reduction of cwnd was undone: the retransmission was not needed"},
	EventECNEcho:         {"ecn_echo", "the peer began to echo congestion marks; value: marked deliveries so far"},
	EventZeroWindow:      {"zero_window", "the peer closed its window"},
	EventWindowOpen:      {"window_open", "the peer opened its window again; value: bytes"},
	EventLocalZeroWindow: {"local_zero_window", "this end closed its window"},
	EventCCChange:        {"cc_change", "the congestion control changed; text: the new name"},
	EventTLPLoss:         {"tlp_loss", "a tail loss probe repaired a loss; cwnd is reduced once"},
	EventDrop:            {"drop", "this host dropped a packet (--with drops); text: reason and device"},
	EventHandshake:       {"handshake", "the handshake is over (--with handshake); value: its time in µs"},
}

// From of EventDrop.
const (
	DirectionSent     uint8 = 1 // this end sent the packet
	DirectionReceived uint8 = 2 // the packet was for this end
)

var eventNames = names(eventTable[:])

// EventKinds describes the kinds of events in their order.
func EventKinds() []Word { return eventTable[EventOpen:] }

// Code is the error code of Matsuno et al. 2021 that events of the kind have, or CodeNone.
func (k EventKind) Code() ErrorCode {
	switch k {
	case EventReordering:
		return CodeReordering
	case EventLocalCongestion:
		return CodeLocalCongestion
	case EventDupAck, EventSack, EventDsack:
		return CodeDupAck
	case EventTimeout:
		return CodeTimeout
	}
	return CodeNone
}

func (k EventKind) String() string { return nameOf(eventNames, int(k), "event") }

// MarshalText lets an EventKind stand in JSON by name.
func (k EventKind) MarshalText() ([]byte, error) { return []byte(k.String()), nil }

// ParseEventKind is the inverse of String.
func ParseEventKind(name string) (EventKind, error) {
	i, err := numberOf(eventNames, "event kind", name)
	return EventKind(i), err
}

// Cause is the reason for a retransmission.
type Cause uint8

// The causes of a retransmission.
const (
	CauseNone        Cause = iota
	CauseFast              // fast retransmit: duplicate ACKs, SACK or RACK during Recovery
	CauseRTO               // the retransmission timer fired
	CauseRTORecovery       // the rest of the window after a timeout, sent as ACKs come in (state Loss)
	CauseTLP               // tail loss probe (RFC 8985 section 7)
	CauseRACKTimer         // RACK's reordering timer found the segment lost
	CauseSYN               // a SYN or SYN-ACK again
	CauseOther             // sent again in another state, for instance after a path MTU decrease
)

var causeTable = []Word{
	CauseNone:        {"none", "no cause"},
	CauseFast:        {"fast", "duplicate ACKs, SACK or RACK told of a loss (fast retransmit)"},
	CauseRTO:         {"rto", "the retransmission timer fired"},
	CauseRTORecovery: {"rto_recovery", "the rest of the window after a timeout, sent as ACKs come in"},
	CauseTLP:         {"tlp", "tail loss probe (RFC 8985)"},
	CauseRACKTimer:   {"rack_timer", "RACK's reordering timer found the segment lost"},
	CauseSYN:         {"syn", "a SYN or SYN-ACK again"},
	CauseOther:       {"other", "another cause, such as a smaller path MTU"},
}

var causeNames = names(causeTable)

// causeTitles are the names of causes in texts and figures.
var causeTitles = [...]string{
	CauseNone:        "unknown",
	CauseFast:        "fast",
	CauseRTO:         "timeout",
	CauseRTORecovery: "after timeout",
	CauseTLP:         "tail loss probe",
	CauseRACKTimer:   "RACK timer",
	CauseSYN:         "SYN",
	CauseOther:       "other",
}

// Title is the name of a cause in texts and figures.
func (c Cause) Title() string {
	if int(c) >= len(causeTitles) {
		return c.String()
	}
	return causeTitles[c]
}

// Causes describes the causes of a retransmission in their order.
func Causes() []Word { return causeTable[CauseFast:] }

func (c Cause) String() string { return nameOf(causeNames, int(c), "cause") }

// MarshalText lets a Cause stand in JSON by name.
func (c Cause) MarshalText() ([]byte, error) { return []byte(c.String()), nil }

// Reason is the reason for which a connection closed or a reduction was undone.
type Reason uint8

// The reasons.
const (
	ReasonNone           Reason = iota
	ReasonLocalFIN              // this end closed first
	ReasonRemoteFIN             // the peer closed first
	ReasonResetReceived         // RST from the peer
	ReasonResetSent             // RST sent by this end
	ReasonTimedOut              // retransmissions or keep-alives went unanswered (ETIMEDOUT)
	ReasonRefused               // connection refused
	ReasonUnreachable           // ICMP unreachable ended it
	ReasonAborted               // closed by the local system or without a handshake
	ReasonUndoTimestamp         // undone: an ACK's timestamp echo or F-RTO showed that the original had arrived
	ReasonUndoDsack             // undone: every retransmission was reported as a duplicate by DSACK
	ReasonStillOpen             // the observation ended first
	ReasonUnknownLeaving        // the socket was destroyed and no sign of the reason was seen
	ReasonDeviceRefused         // the own device or its queue did not take a retransmission
)

var reasonTable = []Word{
	ReasonNone:           {"none", "no reason"},
	ReasonLocalFIN:       {"local_fin", "this end closed first"},
	ReasonRemoteFIN:      {"remote_fin", "the peer closed first"},
	ReasonResetReceived:  {"reset_received", "reset by the peer"},
	ReasonResetSent:      {"reset_sent", "reset by this end"},
	ReasonTimedOut:       {"timed_out", "retransmissions or keep-alives went unanswered"},
	ReasonRefused:        {"refused", "the peer refused the connection"},
	ReasonUnreachable:    {"unreachable", "ICMP said that the host or network cannot be reached"},
	ReasonAborted:        {"aborted", "closed by the local system or without a handshake"},
	ReasonUndoTimestamp:  {"undo_timestamp", "undo: a timestamp or F-RTO showed that the original had arrived"},
	ReasonUndoDsack:      {"undo_dsack", "undo: DSACK reported every retransmission as a duplicate"},
	ReasonStillOpen:      {"still_open", "the observation ended first"},
	ReasonUnknownLeaving: {"unknown", "the socket went without a sign of the reason"},
	ReasonDeviceRefused:  {"device_refused", "retransmission: the own device or its queue refused it"},
}

var reasonNames = names(reasonTable)

// Reasons describes the reasons of closes, undone reductions and refused retransmissions in their
// order.
func Reasons() []Word { return reasonTable[ReasonLocalFIN:] }

func (r Reason) String() string { return nameOf(reasonNames, int(r), "reason") }

// MarshalText lets a Reason stand in JSON by name.
func (r Reason) MarshalText() ([]byte, error) { return []byte(r.String()), nil }

// Block is a range of sequence space as stream offsets in bytes, End exclusive.
type Block struct {
	Start int64 `json:"start_bytes"`
	End   int64 `json:"end_bytes"`
}

// MaxBlocks is the most SACK blocks that a TCP header can carry (RFC 2018).
const MaxBlocks = 4

// Event is one thing that happened to a flow. Which of the kind-dependent fields are meaningful is
// said at the kind.
type Event struct {
	TimeNs int64
	Flow   FlowID
	Kind   EventKind
	Code   ErrorCode
	// The sender's situation when it happened.
	CAState         CAState
	CwndPackets     uint32
	SsthreshPackets uint32
	InFlightPackets uint32
	// Kind-dependent.
	Cause      Cause
	Reason     Reason
	From, To   uint8
	Seq        int64 // stream offset in bytes (see Field AckBytes for the origin)
	EndSeq     int64
	Value      int64
	NumBlocks  uint8
	Blocks     [MaxBlocks]Block
	Text       string
	CPU        uint16 // processor on which it happened
	FromSample bool   // found by comparing samples, so its time is that of the next ACK; else by a hook of its own
}

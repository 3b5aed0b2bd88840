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
	EventTLPLoss         // a tail-loss probe repaired a loss; cwnd is reduced once
	numEventKinds
)

var eventNames = []string{
	"none", "open", "close", "state", "ca_state", "reordering", "local_congestion", "dup_ack", "sack", "dsack",
	"timeout", "retransmit", "undo", "ecn_echo", "zero_window", "window_open", "local_zero_window", "cc_change",
	"tlp_loss",
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
	CauseTLP               // tail-loss probe (RFC 8985 section 7)
	CauseReordering        // RACK's reordering timer found the segment lost
	CauseSYN               // a SYN or SYN-ACK again
	CauseOther             // sent again in another state, for instance after a path MTU decrease
)

var causeNames = []string{"none", "fast", "rto", "rto_recovery", "tlp", "reordering", "syn", "other"}

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
	ReasonDeviceRefused         // of a retransmission: the own device or its queue did not take it
)

var reasonNames = []string{
	"none", "local_fin", "remote_fin", "reset_received", "reset_sent", "timed_out", "refused", "unreachable",
	"aborted", "undo_timestamp", "undo_dsack", "still_open", "unknown",
	"device_refused",
}

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

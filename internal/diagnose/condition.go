package diagnose

import "airtide/internal/tcp"

// condition is the state of the sender between two samples.
type condition uint8

const (
	condNone    condition = iota // the source shows too little
	condIdle                     // nothing outstanding
	condWindow                   // the congestion window is full, or recovery governs it
	condReceive                  // the peer's window is full
	condBuffer                   // the send buffer is full
	condEmpty                    // all data is sent, and the window has room
	condPartial                  // less than a segment waits, with data outstanding
	condDevice                   // data waits behind this connection's packets in the device's queue
	condPaced                    // data waits though the window has room
	numConditions
)

// unseenPackets is the growth between two samples from which on the kernel is thought to have made
// no samples in between, as for a connection of which one end has sent its FIN.
const unseenPackets = 200

// unseen reports whether much was delivered since the last sample without a sample. A joined
// acknowledgement covers up to 45 segments.
func (f *flow) unseen(s *sample) bool {
	return f.source == PerAck && (growth(s.delivered, f.last.delivered) > unseenPackets ||
		f.finished() && !f.waitsForWindow(s))
}

// waitsForWindow reports whether data waited behind a FIN, and the congestion window was full when
// it had gone out.
func (f *flow) waitsForWindow(s *sample) bool {
	return f.last.mss > 0 && f.last.unsent >= f.last.mss && s.cwndLimited == 1
}

// condition names the state of the sender before a sample.
func (f *flow) condition(s *sample) condition {
	if f.unseen(s) || s.unacked == tcp.Absent || s.unsent == tcp.Absent || s.mss <= 0 || s.cwnd == tcp.Absent {
		return condNone
	}
	switch {
	case f.source == PerAck && f.finished():
		return condWindow // else it is unseen
	case s.unacked <= 0 && s.unsent <= 0:
		return condIdle
	case s.caState == int64(tcp.CALoss) || s.caState == int64(tcp.CARecovery):
		return condWindow
	case s.fillsPeer():
		return condReceive
	case f.source == Captured:
		return capturedCondition(s)
	case s.inFlight >= s.cwnd || s.cwndLimited == 1 && s.unsent > 0:
		return condWindow
	case s.unsent < s.mss && s.boundsWrites() && s.sendBuffer < s.cwnd*s.mss && s.holdsBuffer():
		return condBuffer
	case s.unsent <= 0:
		return condEmpty
	case s.unsent < s.mss:
		return condPartial
	case s.deviceQueue > 4*s.mss:
		return condDevice
	}
	return condPaced
}

// fillsPeer reports whether the peer's window has no room for the data that waits.
func (s *sample) fillsPeer() bool {
	return s.unsent > 0 && s.sendWindow != tcp.Absent && s.sendWindow-s.unacked < min(s.unsent, s.mss)
}

// holdsBuffer reports whether the send buffer is full to two thirds: a program that asks for room
// gets it below. The acknowledged part has left.
func (s *sample) holdsBuffer() bool { return s.sendBuffer > 0 && 10*s.sendMemory >= 6*s.sendBuffer }

// boundsWrites reports whether the send buffer can hold back a program for long. One that the
// program has not set grows to twice the congestion window as soon as a write waits for it, up to
// tcp_wmem (tcp_should_expand_sndbuf() in net/ipv4/tcp_input.c). Older recordings do not tell it.
func (s *sample) boundsWrites() bool { return s.sendBuffer > 0 && s.sendFixed != 0 }

// capturedCondition names the state of a captured sender whose peer's window has room. The sample
// shows whether an acknowledgement released data, but no window.
func capturedCondition(s *sample) condition {
	switch {
	case s.unsent <= 0:
		return condEmpty
	case s.unsent < s.mss:
		return condPartial
	case s.cwndLimited == 1:
		return condWindow
	}
	return condPaced
}

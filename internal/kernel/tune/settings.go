package tune

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"time"

	"airtide/internal/kernel/congestion"
)

// Settings are the values to set. Zero means no change.
type Settings struct {
	// CongestionControl is the name of an available congestion control, including those loaded by
	// package congestion.
	CongestionControl string `json:"congestion_control,omitempty"`
	// CwndMinPackets and CwndMaxPackets bound the congestion window. On sockets with cubic_bound
	// they change at any time and leave ssthresh alone. On other sockets the upper bound is the
	// socket option TCP_BPF_SNDCWND_CLAMP, which overwrites ssthresh, and there is no lower bound.
	CwndMinPackets uint32 `json:"cwnd_min_packets,omitempty"`
	CwndMaxPackets uint32 `json:"cwnd_max_packets,omitempty"`
	// InitialWindowPackets is the initial congestion window of new sockets.
	InitialWindowPackets uint32 `json:"initial_window_packets,omitempty"`
	// PacingRateBps is the highest rate at which a socket sends, in bit/s.
	PacingRateBps uint64 `json:"pacing_rate_bps,omitempty"`
	// SendBufferBytes and ReceiveBufferBytes fix the buffers, as SO_SNDBUF and SO_RCVBUF do: the
	// kernel keeps twice as much for its own structures.
	SendBufferBytes    uint32 `json:"send_buffer_bytes,omitempty"`
	ReceiveBufferBytes uint32 `json:"receive_buffer_bytes,omitempty"`
	// NotSentLowatBytes is how much may wait unsent before a socket is writable no more
	// (TCP_NOTSENT_LOWAT).
	NotSentLowatBytes uint32 `json:"notsent_lowat_bytes,omitempty"`
	// WindowClampBytes bounds the window that a receiver advertises (TCP_WINDOW_CLAMP). It fixes
	// the receive buffer.
	WindowClampBytes uint32 `json:"window_clamp_bytes,omitempty"`
	// InitialRTOUs is the timeout of SYN and SYN-ACK of new connections, in microseconds.
	InitialRTOUs uint32 `json:"initial_rto_us,omitempty"`
	// MinRTOUs is the least retransmission timeout, in microseconds. Above MaxOptionRTOUs it is set
	// by routes and by the sysctl tcp_rto_min_us.
	MinRTOUs uint32 `json:"min_rto_us,omitempty"`
	// MaxRTOUs is the largest, 1 s to 120 s (Linux 6.15).
	MaxRTOUs uint32 `json:"max_rto_us,omitempty"`
	// MaxDelayedAckUs is the longest delay of an ACK, at most 200 ms.
	MaxDelayedAckUs uint32 `json:"max_delayed_ack_us,omitempty"`
}

// Limits of the settings. They are the kernel's limits unless a comment says otherwise.
const (
	// MaxWindow is the largest initial window in packets: more than a receiver's window can hold.
	MaxWindow = 1 << 20
	// MaxOptionRTOUs is the largest minimum RTO that a socket option takes: TCP_RTO_MIN.
	MaxOptionRTOUs = 200_000
	minSendBuffer  = 4096 // the kernel keeps at least 4608 (SOCK_MIN_SNDBUF)
	minReceive     = 2048 // the kernel keeps at least 2304 (SOCK_MIN_RCVBUF)
	maxPacingBps   = 8 * (math.MaxUint32 - 1)
	minPacingBps   = 8000
	minRTOMaxUs    = 1_000_000
	maxRTOMaxUs    = 120_000_000
	largestClamp   = 0xffff << 14
	// largestMinRTOUs is the largest RTO, the upper limit for tcp_rto_min_us and for routes.
	largestMinRTOUs = maxRTOMaxUs
)

// Check returns an error for settings that no kernel accepts.
func (s Settings) Check() error {
	if s == (Settings{}) {
		return errors.New("nothing to set: give a setting, such as --cwnd-max 100")
	}
	if s.CwndMinPackets != 0 || s.CwndMaxPackets != 0 {
		if err := (congestion.Bounds{Lower: s.CwndMinPackets, Upper: s.CwndMaxPackets}).Check(); err != nil {
			return fmt.Errorf("congestion window: %w", err)
		}
	}
	if len(s.CongestionControl) > 15 || strings.ContainsAny(s.CongestionControl, " \n\x00/") {
		return fmt.Errorf("congestion control %q: want a name of at most 15 letters", s.CongestionControl)
	}
	for _, l := range []struct {
		what      string
		value     uint64
		low, high uint64
		unit      string
	}{
		{"initial window", uint64(s.InitialWindowPackets), 1, MaxWindow, "packets"},
		{"pacing rate", s.PacingRateBps, minPacingBps, maxPacingBps, "bit/s"},
		{"send buffer", uint64(s.SendBufferBytes), minSendBuffer, math.MaxInt32 / 2, "bytes"},
		{"receive buffer", uint64(s.ReceiveBufferBytes), minReceive, math.MaxInt32 / 2, "bytes"},
		{"unsent data", uint64(s.NotSentLowatBytes), 1, math.MaxInt32, "bytes"},
		{"window clamp", uint64(s.WindowClampBytes), minReceive, largestClamp, "bytes"},
	} {
		if l.value != 0 && (l.value < l.low || l.value > l.high) {
			return fmt.Errorf("%s of %d %s: want %d to %d", l.what, l.value, l.unit, l.low, l.high)
		}
	}
	for _, l := range []struct {
		what      string
		us        uint32
		low, high uint32
	}{
		{"initial RTO", s.InitialRTOUs, 1000, maxRTOMaxUs},
		{"minimum RTO", s.MinRTOUs, 1000, largestMinRTOUs},
		{"maximum RTO", s.MaxRTOUs, minRTOMaxUs, maxRTOMaxUs},
		{"delayed ACK", s.MaxDelayedAckUs, 1000, MaxOptionRTOUs},
	} {
		if l.us != 0 && (l.us < l.low || l.us > l.high) {
			return fmt.Errorf("%s of %s: want %s to %s", l.what, microseconds(l.us), microseconds(l.low),
				microseconds(l.high))
		}
	}
	if s.MaxRTOUs != 0 && s.MinRTOUs > s.MaxRTOUs {
		return fmt.Errorf("minimum RTO of %s above the maximum of %s", microseconds(s.MinRTOUs),
			microseconds(s.MaxRTOUs))
	}
	return nil
}

func microseconds(us uint32) time.Duration { return time.Duration(us) * time.Microsecond }

// rtoMinBySocket reports whether a socket option can set the minimum RTO.
func (s Settings) rtoMinBySocket() bool { return s.MinRTOUs != 0 && s.MinRTOUs <= MaxOptionRTOUs }

// rtoMinByRoute reports whether the minimum RTO needs routes and the sysctl.
func (s Settings) rtoMinByRoute() bool { return s.MinRTOUs > MaxOptionRTOUs }

// onlyNew reports whether the settings concern new sockets only.
func (s Settings) onlyNew() bool {
	s.InitialRTOUs = 0
	s.InitialWindowPackets = 0
	return s == Settings{}
}

// String returns the settings as command line flags.
func (s Settings) String() string {
	var parts []string
	add := func(set bool, format string, v any) {
		if set {
			parts = append(parts, fmt.Sprintf(format, v))
		}
	}
	add(s.CongestionControl != "", "cc=%s", s.CongestionControl)
	add(s.CwndMinPackets != 0, "cwnd-min=%d", s.CwndMinPackets)
	add(s.CwndMaxPackets != 0, "cwnd-max=%d", s.CwndMaxPackets)
	add(s.InitialWindowPackets != 0, "initial-window=%d", s.InitialWindowPackets)
	add(s.PacingRateBps != 0, "pacing-rate=%d", s.PacingRateBps)
	add(s.SendBufferBytes != 0, "send-buffer=%d", s.SendBufferBytes)
	add(s.ReceiveBufferBytes != 0, "receive-buffer=%d", s.ReceiveBufferBytes)
	add(s.NotSentLowatBytes != 0, "notsent-lowat=%d", s.NotSentLowatBytes)
	add(s.WindowClampBytes != 0, "window-clamp=%d", s.WindowClampBytes)
	add(s.InitialRTOUs != 0, "rto-initial=%s", microseconds(s.InitialRTOUs))
	add(s.MinRTOUs != 0, "rto-min=%s", microseconds(s.MinRTOUs))
	add(s.MaxRTOUs != 0, "rto-max=%s", microseconds(s.MaxRTOUs))
	add(s.MaxDelayedAckUs != 0, "delayed-ack=%s", microseconds(s.MaxDelayedAckUs))
	return strings.Join(parts, " ")
}

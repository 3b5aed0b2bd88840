package tune

import (
	"fmt"
	"time"
)

// A setting of a socket, as the BPF programs number them.
type setting = socketsTuneSetting

const settingCC = socketsTuneSettingTUNE_CC

// property describes a setting of the kernel: its name in reports and its value in the kernel.
type property struct {
	name string
	// shown converts the kernel's value into the unit of the name.
	shown func(k *kernel, kept int64) int64
	// own means that reports show the setting. The other settings follow from those.
	own bool
}

func same(_ *kernel, v int64) int64 { return v }

func half(_ *kernel, v int64) int64 { return v / 2 }

func ticks(k *kernel, v int64) int64 {
	if v < 0 {
		return v
	}
	return v * int64(time.Second/time.Microsecond) / int64(k.hz)
}

func bits(_ *kernel, v int64) int64 {
	if v == -1 {
		return 0 // unlimited
	}
	return 8 * v
}

// packets shows an unlimited clamp as 0.
func packets(_ *kernel, v int64) int64 {
	if v >= 1<<31-1 {
		return 0
	}
	return v
}

var properties = map[setting]property{
	socketsTuneSettingTUNE_UPPER:          {"cwnd_max_packets", same, true},
	socketsTuneSettingTUNE_LOWER:          {"cwnd_min_packets", same, true},
	socketsTuneSettingTUNE_CLAMP:          {"cwnd_max_packets", packets, true},
	socketsTuneSettingTUNE_INITIAL_WINDOW: {"initial_window_packets", same, true},
	socketsTuneSettingTUNE_PACING:         {"pacing_rate_bps", bits, true},
	socketsTuneSettingTUNE_SNDBUF:         {"send_buffer_bytes", half, true},
	socketsTuneSettingTUNE_RCVBUF:         {"receive_buffer_bytes", half, true},
	socketsTuneSettingTUNE_LOCKS:          {"", same, false},
	socketsTuneSettingTUNE_NOTSENT_LOWAT:  {"notsent_lowat_bytes", same, true},
	socketsTuneSettingTUNE_WINDOW_CLAMP:   {"window_clamp_bytes", same, true},
	socketsTuneSettingTUNE_RTO_MIN:        {"min_rto_us", ticks, true},
	socketsTuneSettingTUNE_RTO_MAX:        {"max_rto_us", ticks, true},
	socketsTuneSettingTUNE_DELACK_MAX:     {"max_delayed_ack_us", ticks, true},
}

// How a setting was made, in reports.
const (
	byBounds = "cubic_bound"
	byOption = "socket option"
)

// wire encodes settings for the programs. It returns an error for a setting that the kernel lacks.
func (k *kernel) wire(session uint64, s Settings) (*socketsTuneConfig, error) {
	c := &socketsTuneConfig{Session: session, TickUs: uint32(1_000_000 / k.hz)}
	set := func(x setting, want int64, option int32) {
		c.Mask |= 1 << x
		c.Want[x] = want
		c.Option[x] = option
	}
	number := func(x setting, n uint32) {
		if n != 0 {
			set(x, int64(n), int32(n))
		}
	}
	if s.rtoMinByRoute() {
		c.Flags |= uint32(socketsTuneConfigFlagsTUNE_FOLLOW)
	}
	if s.CongestionControl != "" {
		c.Mask |= 1 << settingCC
		for i, b := range []byte(s.CongestionControl) {
			c.Cc[i] = int8(b)
		}
	}
	number(socketsTuneSettingTUNE_UPPER, s.CwndMaxPackets)
	number(socketsTuneSettingTUNE_CLAMP, s.CwndMaxPackets)
	number(socketsTuneSettingTUNE_LOWER, s.CwndMinPackets)
	number(socketsTuneSettingTUNE_INITIAL_WINDOW, s.InitialWindowPackets)
	number(socketsTuneSettingTUNE_NOTSENT_LOWAT, s.NotSentLowatBytes)
	number(socketsTuneSettingTUNE_WINDOW_CLAMP, s.WindowClampBytes)
	if s.PacingRateBps != 0 {
		bytes := uint32(s.PacingRateBps / 8)
		set(socketsTuneSettingTUNE_PACING, int64(bytes), int32(bytes))
	}
	receive := s.ReceiveBufferBytes
	if receive == 0 {
		receive = s.WindowClampBytes // growing with the traffic it would take the clamp along
		c.Flags |= uint32(socketsTuneConfigFlagsTUNE_RCVBUF_AT_LEAST)
	}
	for _, b := range []struct {
		what  string
		x     setting
		bytes uint32
		limit string
	}{
		{"send buffer", socketsTuneSettingTUNE_SNDBUF, s.SendBufferBytes, "wmem_max"},
		{"receive buffer", socketsTuneSettingTUNE_RCVBUF, receive, "rmem_max"},
	} {
		if b.bytes == 0 {
			continue
		}
		if most, err := coreLimit(b.limit); err != nil {
			return nil, err
		} else if int64(b.bytes) > most {
			return nil, fmt.Errorf("%s of %d bytes: this machine allows %d; raise it: sysctl -w net.core.%s=%d", b.what,
				b.bytes, most, b.limit, b.bytes)
		}
		set(b.x, 2*int64(b.bytes), int32(b.bytes))
		c.Mask |= 1 << socketsTuneSettingTUNE_LOCKS
	}
	return c, k.wireTimes(c, s)
}

// leastTicks is TCP_TIMEOUT_MIN, below which the kernel takes no timeout.
const leastTicks = 2

func (k *kernel) wireTimes(c *socketsTuneConfig, s Settings) error {
	inTicks := func(what string, us uint32) (int64, error) {
		n := (int64(us)*int64(k.hz) + 999_999) / 1_000_000
		if n < leastTicks {
			return 0, fmt.Errorf("%s of %s: this kernel counts in ticks of %s, and takes no less than %d", what,
				microseconds(us), time.Second/time.Duration(k.hz), leastTicks)
		}
		return n, nil
	}
	minimum := uint32(0)
	if s.rtoMinBySocket() {
		minimum = s.MinRTOUs
	}
	for _, t := range []struct {
		what string
		x    setting
		us   uint32
	}{
		{"minimum RTO", socketsTuneSettingTUNE_RTO_MIN, minimum},
		{"maximum RTO", socketsTuneSettingTUNE_RTO_MAX, s.MaxRTOUs},
		{"delayed ACK", socketsTuneSettingTUNE_DELACK_MAX, s.MaxDelayedAckUs},
	} {
		if t.us == 0 {
			continue
		}
		us := t.us
		if t.x == socketsTuneSettingTUNE_RTO_MAX {
			if !k.hasRTOMax {
				return errNoRTOMax
			}
			us = wholeMilliseconds(us) * 1000 // the option counts milliseconds
		}
		n, err := inTicks(t.what, us)
		if err != nil {
			return err
		}
		c.Mask |= 1 << t.x
		c.Want[t.x] = n
		c.Option[t.x] = int32(n) * int32(c.TickUs)
		if t.x == socketsTuneSettingTUNE_RTO_MAX {
			c.Option[t.x] = int32(us / 1000)
		}
	}
	if s.InitialRTOUs != 0 {
		n, err := inTicks("initial RTO", s.InitialRTOUs)
		if err != nil {
			return err
		}
		c.InitialRto = uint32(n)
	}
	return nil
}

// wholeMilliseconds rounds up.
func wholeMilliseconds(us uint32) uint32 { return (us + 999) / 1000 }

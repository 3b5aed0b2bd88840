package export

import (
	"strconv"
	"time"
)

// Meta describes the origin of the data.
type Meta struct {
	Host   string // name of the observed host
	Kernel string // its kernel release, as uname -r prints it
	Source string // "bpf" or "diag"
	Tool   string // version of the program that recorded
	// ClockMonotonicNs, ClockWallNs and ClockBootNs are readings of CLOCK_MONOTONIC, CLOCK_REALTIME
	// and CLOCK_BOOTTIME taken at the same moment. Wall 0: unknown, there is no column with the
	// wall time. Boot 0: unknown, a Perfetto trace then keeps to the monotonic clock and cannot be
	// laid beside a trace from Android's own tracing.
	ClockMonotonicNs int64
	ClockWallNs      int64
	ClockBootNs      int64
}

// wallNs converts a monotonic time to nanoseconds since 1970 UTC. It is valid only if hasWall is
// true.
func (m *Meta) wallNs(monotonicNs int64) int64 {
	return m.ClockWallNs + monotonicNs - m.ClockMonotonicNs
}

func (m *Meta) hasWall() bool { return m.ClockWallNs != 0 }

// metaPairs lists the known properties of the recording by name, for formats with such pairs.
func metaPairs(m *Meta) [][2]string {
	var pairs [][2]string
	for _, kv := range [][2]string{
		{"host", m.Host},
		{"kernel", m.Kernel},
		{"source", m.Source},
		{"tool", m.Tool},
		{"clock_monotonic_ns", formatKnown(m.ClockMonotonicNs)},
		{"clock_wall_ns", formatKnown(m.ClockWallNs)},
		{"clock_boot_ns", formatKnown(m.ClockBootNs)},
	} {
		if kv[1] != "" {
			pairs = append(pairs, kv)
		}
	}
	return pairs
}

func formatInt(v int64) string { return strconv.FormatInt(v, 10) }

func formatKnown(v int64) string {
	if v == 0 {
		return ""
	}
	return formatInt(v)
}

// wallLayout is RFC 3339 with all nine digits, so that a column of times has one width.
const wallLayout = "2006-01-02T15:04:05.000000000Z"

func formatWall(unixNs int64) string { return time.Unix(0, unixNs).UTC().Format(wallLayout) }

// wallClock prints times in wallLayout. Neighbouring samples share their second, so that part is
// kept: formatting it anew for each of millions of samples would cost as much as the rest of the
// row.
type wallClock struct {
	meta   *Meta
	second int64
	prefix []byte
}

func (w *wallClock) append(dst []byte, monotonicNs int64) []byte {
	t := time.Unix(0, w.meta.wallNs(monotonicNs)).UTC()
	if second := t.Unix(); second != w.second || w.prefix == nil {
		w.prefix = t.AppendFormat(w.prefix[:0], "2006-01-02T15:04:05.")
		w.second = second
	}
	dst = append(dst, w.prefix...)
	for ns, divisor := t.Nanosecond(), 100_000_000; divisor > 0; divisor /= 10 {
		dst = append(dst, byte('0'+ns/divisor%10))
	}
	return append(dst, 'Z')
}

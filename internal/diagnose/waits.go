package diagnose

import (
	"fmt"
	"strings"

	"airtide/internal/tcp"
	"airtide/internal/units"
)

// Waits are the waits of the sender in its own host, with --with waits.
type Waits struct {
	// Writer is the share of time in which a writer waited for room in the send buffer, as the
	// samples show it, 0 to 1.
	Writer float64 `json:"writer"`
	// Throttled is the share of time in which TCP waited until the own device had sent (TCP small
	// queues), 0 to 1.
	Throttled float64 `json:"throttled"`
	// DeviceUs and LongestUs are the mean and the longest wait of packets between TCP and the
	// device in µs: of each sample the longest. They are 0 if no packet was seen.
	DeviceUs  float64 `json:"device_us"`
	LongestUs float64 `json:"device_longest_us"`
}

// String describes the waits in one line.
func (w *Waits) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "a write waited for room in the send buffer %s of the time", units.Percent(w.Writer))
	if w.Throttled >= 0.005 {
		fmt.Fprintf(&b, ", TCP for its own packets at the device %s", units.Percent(w.Throttled))
	}
	if w.LongestUs > 0 {
		fmt.Fprintf(&b, "; packets waited %s for the device, at most %s", milliseconds(w.DeviceUs),
			milliseconds(w.LongestUs))
	}
	return b.String()
}

// hostWaits sums up waits in the own host. A flag holds from its sample to the next one.
type hostWaits struct {
	blockedNs, throttledNs, allNs int64
	device                        extremes
}

// take takes the sample behind last.
func (w *hostWaits) take(last, s *sample) {
	w.device.add(s.deviceWait)
	if last.writerBlocked == tcp.Absent {
		return
	}
	elapsed := s.timeNs - last.timeNs
	w.allNs += elapsed
	if last.writerBlocked == 1 {
		w.blockedNs += elapsed
	}
	if last.throttled == 1 {
		w.throttledNs += elapsed
	}
}

// sum is nil if waits were not recorded.
func (w *hostWaits) sum() *Waits {
	if w.allNs == 0 {
		return nil
	}
	all := float64(w.allNs)
	return &Waits{
		Writer: float64(w.blockedNs) / all, Throttled: float64(w.throttledNs) / all, DeviceUs: w.device.mean(),
		LongestUs: float64(w.device.greatest),
	}
}

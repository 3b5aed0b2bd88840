package control

import "time"

// EqualCap returns a flow's window in bytes by our reconstruction of the middleware of Matsuno et
// al. 2021. part is the flow's part of the capacity in bit/s. The window is what the smallest RTT
// needs, less in proportion as the RTT grows. The published formula is not known
// (docs/design/sharing.md).
func EqualCap(part float64, minRTT, rtt time.Duration) float64 {
	window := part * minRTT.Seconds() / 8
	if rtt > minRTT {
		window *= minRTT.Seconds() / rtt.Seconds()
	}
	return window
}

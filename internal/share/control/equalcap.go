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

// EqualRange allows windows from rangeFloor to rangeCap of what an equal part of the capacity needs.
const rangeFloor, rangeCap = 1, 1.25

// EqualRange returns the least and the greatest window of a flow, in bytes, by a second
// reconstruction of the middleware of Matsuno et al. 2021. part is the flow's part of the capacity
// in bit/s, rtt the measured RTT, with the time that packets wait. The published formula was not to
// be had (docs/design/sharing.md).
func EqualRange(part float64, rtt time.Duration) (least, greatest float64) {
	window := part * rtt.Seconds() / 8
	return rangeFloor * window, rangeCap * window
}

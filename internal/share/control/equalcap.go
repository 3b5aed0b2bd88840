package control

import "time"

// EqualCap returns a flow's window in bytes by our reconstruction of the middleware of Matsuno et
// al. 2021. part is the flow's part of the capacity in bit/s. The window is part times the smallest
// RTT, reduced in proportion as the RTT grows; the published formula is unknown
// (docs/design/sharing.md).
func EqualCap(part float64, minRTT, rtt time.Duration) float64 {
	window := part * minRTT.Seconds() / 8
	if rtt > minRTT {
		window *= minRTT.Seconds() / rtt.Seconds()
	}
	return window
}

// EqualRange allows windows from rangeFloor to rangeCap times the window of an equal part of the
// capacity.
const rangeFloor, rangeCap = 1, 1.25

// EqualRange returns the least and the greatest window of a flow in bytes, by a second
// reconstruction of the middleware of Matsuno et al. 2021. part is the flow's part of the capacity
// in bit/s, and rtt the measured RTT with queues. The published formula is unknown
// (docs/design/sharing.md).
func EqualRange(part float64, rtt time.Duration) (least, greatest float64) {
	window := part * rtt.Seconds() / 8
	return rangeFloor * window, rangeCap * window
}

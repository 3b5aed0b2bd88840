package control

import "time"

// EqualCap is the window in bytes that our reconstruction of P4's middleware gives a flow with a
// part of the capacity, in bit/s: what the smallest RTT needs, and less in proportion as the RTT
// grows beyond it (notes on its lineage are in docs/design/sharing.md; the published formula is not
// known).
func EqualCap(part float64, minRTT, rtt time.Duration) float64 {
	window := part * minRTT.Seconds() / 8
	if rtt > minRTT {
		window *= minRTT.Seconds() / rtt.Seconds()
	}
	return window
}

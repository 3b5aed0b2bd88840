// Package rwnd bounds the receive windows that a terminal advertises, by changing the packets that
// leave its interfaces. It also measures round-trip times of received data. It changes no socket:
// its programs end with the process, and bounds are leased. It needs Linux 6.6 (TCX) and root.
package rwnd

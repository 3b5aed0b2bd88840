// Package rwnd bounds the receive windows that a terminal advertises to those who send to it, in
// the packets that leave its interfaces, and measures round-trip times of what it receives. No
// socket is changed: the programs that do it go with the process, however it ends, and bounds hold
// by a lease besides. Needs Linux 6.6 (TCX) and root.
package rwnd

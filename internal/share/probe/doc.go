// Package probe schedules probes: short times in which all terminals of a cell change how they
// send, so that one of them can measure. It is pure: time is passed in. It does not measure.
//
// There are two kinds. In an RTT probe, all terminals keep a few packets in flight. In a release
// probe, no terminal is bounded.
package probe

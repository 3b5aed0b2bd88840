// Package summary sums up what a monitor observes or a recording holds, per flow and in all.
//
// A [Summary] is a sink that takes flows, samples, events and losses in memory that grows with the
// number of flows only, and gives a [Report] at any time: rates, round-trip times, windows,
// retransmissions by cause, errors by code and the shares of time in each congestion state and
// limit. What the source could not see is absent from the report (null, or "-" in text) and never a
// zero.
package summary

// Package summary summarises the observations of a monitor or a recording, for each flow and in
// total.
//
// A [Summary] is a sink for flows, samples, events and losses. Its memory grows only with the
// number of flows. It returns a [Report] at any time: rates, round-trip times, windows,
// retransmissions by cause, errors by code, and the shares of time in each congestion state and
// limit.
//
// A value that the source cannot see is absent from the report (null, or "-" in text) and never
// zero.
package summary

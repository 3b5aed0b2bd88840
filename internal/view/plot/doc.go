// Package plot makes the figures of a recording: cwnd with congestion states and errors, RTT,
// queues, rates, windows, CUBIC's K, BBR's estimates, time-sequence, and an overview.
//
// A [Series] is a tcp.Sink. It keeps the data of the chosen figures in bounded memory: a curve is a
// list of buckets with the first, least, greatest and last value of a span of time, and the span
// doubles when the list is full. So a spike is never lost, even in a long recording.
// [Draw] makes PNG, SVG or PDF from it.
package plot

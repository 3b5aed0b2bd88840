// Package report draws the figures of a recording: cwnd with congestion states and errors (P4 figures 10-17 and
// 20-27), RTT, queues, rates, windows, CUBIC's K (P5 figures 6-9), BBR, time-sequence, and an overview.
//
// A [Series] is a tcp.Sink. It keeps what the chosen figures need in bounded memory: a curve is a list of buckets that
// hold the first, least, greatest and last value of a span of time, and the span doubles when the list is full. So a
// spike is never lost, whatever the length of the recording. [Draw] makes PNG, SVG or PDF from it.
//
// Canvases, fonts and glyphs are gonum.org/v1/plot's. Axes and legends are drawn here, because that library has
// neither a second y axis, nor a legend outside the data, nor panels that share a time axis.
package report

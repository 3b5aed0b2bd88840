// Package tcp holds the words that every other package shares: Flow, Field, Sample, Batch, Event,
// State and CAState.
//
// It does no input or output. A live monitor and a recording being read both speak to a [Sink], so
// whatever consumes one consumes the other.
//
// Units are in the names: _us microseconds, _ns nanoseconds, _bytes, _packets (segments of one
// MSS), _bps bits per second. Time is CLOCK_MONOTONIC nanoseconds of the host that was observed,
// unless a name says wall.
package tcp

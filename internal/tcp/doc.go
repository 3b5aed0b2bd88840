// Package tcp holds the vocabulary that all other packages share: Flow, Field, Sample, Batch,
// Event, State and CAState.
//
// It does no input or output. A live monitor and a reader of recordings both write to a [Sink], so
// a consumer of one can also consume the other.
//
// Units are in the names: _us microseconds, _ns nanoseconds, _bytes, _packets (segments of one
// MSS), _bps bits per second. Time is CLOCK_MONOTONIC nanoseconds of the observed host, unless a
// name contains wall.
package tcp

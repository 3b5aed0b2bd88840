package trace

import "airtide/internal/tcp"

// Stats counts what a Writer has written.
type Stats struct {
	Samples uint64 `json:"samples"`
	Events  uint64 `json:"events"`
	Flows   uint64 `json:"flows"` // definitions, repeated ones included
	Blocks  uint64 `json:"blocks"`
	Bytes   int64  `json:"bytes"` // of the file
}

// Totals says what a recording that ended cleanly holds.
type Totals struct {
	Samples uint64 `json:"samples"`
	Events  uint64 `json:"events"`
	Flows   uint64 `json:"flows"` // definitions, repeated ones included
	Blocks  uint64 `json:"blocks"`
	// FirstNs and LastNs are the times of the first and last sample or event; both 0 when there are
	// none.
	FirstNs int64    `json:"first_ns"`
	LastNs  int64    `json:"last_ns"`
	Lost    tcp.Loss `json:"lost"`
}

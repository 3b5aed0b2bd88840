package trace

import "airtide/internal/tcp"

// Stats counts the data that a Writer has written.
type Stats struct {
	Samples uint64 `json:"samples"`
	Events  uint64 `json:"events"`
	Flows   uint64 `json:"flows"` // definitions, repeated ones included
	Radio   uint64 `json:"radio"` // records about radios
	Blocks  uint64 `json:"blocks"`
	Bytes   int64  `json:"bytes"` // size of the file
}

// Totals counts the contents of a recording that ended cleanly.
type Totals struct {
	Samples uint64 `json:"samples"`
	Events  uint64 `json:"events"`
	Flows   uint64 `json:"flows"`           // definitions, repeated ones included
	Radio   uint64 `json:"radio,omitempty"` // records about radios
	Blocks  uint64 `json:"blocks"`
	// FirstNs and LastNs are the times of the first and last sample or event. Both are 0 if there
	// are none.
	FirstNs int64    `json:"first_ns"`
	LastNs  int64    `json:"last_ns"`
	Lost    tcp.Loss `json:"lost"`
}

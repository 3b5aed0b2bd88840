// Package message is what the terminals of a cell say to each other: reports, sealed with the
// cell's key. It is pure: no socket and no clock. Times are nanoseconds of a monotonic clock that
// the caller passes in and that never goes back; what it counts from is its own affair, for no two
// terminals compare theirs.
//
// A Receiver takes datagrams and knows the peers; a Sender, made for a Receiver, seals reports and
// says when the next is due. A Relay, at a hub, passes reports on. None is safe for use by several
// goroutines at once.
//
// The format, and what the sealing is worth against whom, stand in
// docs/reference/share-messages.md.
package message

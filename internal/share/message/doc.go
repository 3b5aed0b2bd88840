// Package message implements the reports of the terminals of a cell, sealed with the cell's key. It
// is pure: it uses no socket and no clock. The caller passes in times in nanoseconds of a monotonic
// clock, which terminals do not compare.
//
// A Receiver accepts datagrams and knows the peers. A Sender seals the reports of a Receiver's
// session and decides when the next report is due. A Relay forwards reports at a hub. None of them
// is safe for concurrent use.
//
// docs/reference/share-messages.md describes the format and its security.
package message

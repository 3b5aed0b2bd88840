// Package conn analyses the TCP connections of a capture as a stream. An [Analysis] takes packets
// and delivers a [Connection] when it ends. Its memory is bounded by the open connections.
//
// The counts of retransmissions, duplicate ACKs and the like follow the rules of Wireshark's
// "tcp.analysis" fields, so that both tools print the same numbers.
package conn

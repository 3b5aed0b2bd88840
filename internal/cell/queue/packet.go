// Package queue holds the waiting packets of an emulated cell: the packet type and the queue
// disciplines of stations, access points and wires. It has no I/O, no clock and no goroutine. Times
// are virtual nanoseconds from the caller.
package queue

// Packet is an IP packet in the cell. The engine allocates and frees all packets; each drop is
// reported to it.
type Packet struct {
	// Data are the bytes, in a buffer of the engine; nil in virtual time. Length counts, not Data.
	Data []byte
	// Length of the IP packet in bytes.
	Length int
	// Station is the terminal whose radio link carries the packet. Up means towards the access
	// point. A packet from station to station is carried twice: up on the sender's link, then down
	// on the receiver's link.
	Station int
	Up      bool
	// Flow is a hash of the addresses, the protocol and the ports.
	Flow uint32
	// Ack marks a TCP segment without data, SYN, FIN and RST whose cumulative acknowledgement a
	// later ACK of the same flow may replace.
	Ack bool
	// AckNumber is the acknowledgement number of a packet with Ack set. It distinguishes a
	// duplicate ACK, which the sender counts, from a later ACK.
	AckNumber uint32
	// ChecksumOpen means that the transport checksum covers only the pseudo header. The device that
	// sends the packet completes it.
	ChecksumOpen bool
	// EnteredNs is when the packet entered its present queue.
	EnteredNs int64

	// next and prev link the packet into the list of its station or flow. The other links keep the
	// order of arrival in a shared queue.
	next, prev   *Packet
	newer, older *Packet
}

// Place is the place at which a packet was dropped.
type Place uint8

// The places.
const (
	PlaceStationQueue Place = iota // the terminal's own queue was full
	PlaceAPQueue                   // the access point's queue was full, or its discipline dropped
	PlaceRetryLimit                // the medium gave up after the last retry
	PlaceWireQueue                 // the queue in front of the wire was full
	PlacePath                      // the path's loss
	NumPlaces
)

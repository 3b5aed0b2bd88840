// Package queue holds the packets of an emulated cell while they wait: the packet itself and the
// disciplines of a station's, an access point's and a wire's queue. It is pure: no input or output,
// no clock of its own, no goroutine. Times are virtual nanoseconds that the caller passes.
package queue

// Packet is an IP packet under way. The engine makes and takes back all packets; whoever drops one
// says so to it.
type Packet struct {
	// Data are the bytes, in a buffer of the engine; nil in virtual time. Length counts, not Data.
	Data []byte
	// Length of the IP packet in bytes.
	Length int
	// Station is the terminal whose link in the cell carries the packet, and Up whether it goes
	// towards the access point. A packet from station to station is carried twice: up by the
	// sender's, then down by the receiver's.
	Station int
	Up      bool
	// Flow tells flows apart for disciplines that do: a hash of the addresses, the protocol and the
	// ports.
	Flow uint32
	// Ack says that the packet is a TCP segment without data and without SYN, FIN or RST, whose
	// cumulative acknowledgement may be overtaken by a later one of the same flow.
	Ack bool
	// AckNumber is the acknowledgement number of a packet with Ack set. It tells a duplicate, which
	// the sender counts, from a later acknowledgement.
	AckNumber uint32
	// ChecksumOpen says that the transport's checksum has only the pseudo header in it, and is to
	// be completed by the device by which the packet leaves.
	ChecksumOpen bool
	// EnteredNs is when the packet entered its present queue.
	EnteredNs int64

	// A packet waits in one list of its station or flow, and where there is one queue for all also
	// in the order of arrival.
	next, prev   *Packet
	newer, older *Packet
}

// Place is where a packet was dropped.
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

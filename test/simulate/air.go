package simulate

import "time"

// Air is the medium, with the flows that cross it. Flows and terminals are numbered from 0.
type Air interface {
	// Advance lets time pass, up to a time.
	Advance(now time.Duration)
	// SetWindow sets the window of a flow from now on.
	SetWindow(flow int, w Window)
	// Drain returns the progress of a flow since the last call.
	Drain(flow int) Progress
	// SendReport carries a report of some bytes. It calls heard when the others hear it, within
	// Advance or at once.
	SendReport(terminal, bytes int, heard func(at time.Duration))
}

// Window is the amount of a flow that may be in flight.
type Window struct {
	// Packets is the upper bound; 0 stops the flow.
	Packets int
	// Least is a lower bound that takes effect at once; 0 is none.
	Least int
}

// Progress is the progress of a flow: bits of acknowledged payload, and round-trip times, 0 without
// any.
type Progress struct {
	Bits              float64
	LeastRTT, MeanRTT time.Duration
	// Limited says that the window was full while data waited.
	Limited bool
	// Lost is how many packets were lost.
	Lost int64
}

const (
	packetBytes  = 1500
	payloadBytes = 1448 // payload of a packet with TCP's time stamps
	packetBits   = 8 * packetBytes
	payloadBits  = 8 * payloadBytes
)

// WindowRate is the goodput of a flow without bound in bit/s, if only its window limits it.
func WindowRate(rtt time.Duration) float64 { return freeWindow * payloadBits / rtt.Seconds() }

// PayloadOfWire is the part of a wire's capacity that is payload.
const PayloadOfWire = float64(payloadBytes) / (packetBytes + wireBytes)

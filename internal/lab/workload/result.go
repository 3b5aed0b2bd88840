package workload

import "airtide/internal/lab/plan"

// Result is what the programs of a flow report. What packets did is the cell's to say: a program's report of an upload
// counts only what its server had read by the end.
type Result struct {
	Flow     string        `json:"flow"`
	Protocol plan.Protocol `json:"protocol"`
	From     string        `json:"from"`
	To       string        `json:"to"`
	Port     uint16        `json:"port"` // 0 for ping
	// When the first of the flow's clients was started and the last ended, since time zero.
	StartNs int64 `json:"start_ns"`
	EndNs   int64 `json:"end_ns"`
	// Forward is the data from From to To, Reverse that from To to From; nil where the flow has none.
	Forward *Traffic `json:"forward,omitempty"`
	Reverse *Traffic `json:"reverse,omitempty"`
	// Transfers that were completed; of those of several connections at once, by connection.
	Transfers []Transfer `json:"transfers,omitempty"`
	Ping      *Pings     `json:"ping,omitempty"`
	// Files with what the programs wrote, in the run's folder.
	Files []string `json:"files"`
	// Error is what went wrong, with the program's own words; empty if nothing did.
	Error string `json:"error,omitempty"`
}

// Traffic is data in one direction, of all connections of the flow together.
type Traffic struct {
	SentBytes     int64 `json:"sent_bytes"`     // that the sender's program handed to its kernel
	ReceivedBytes int64 `json:"received_bytes"` // that the receiver's program had
	DurationNs    int64 `json:"duration_ns"`    // from when the connections stood to the stop
	// RateBps is what was received over the duration.
	RateBps float64 `json:"rate_bps"`
	// Of tcp, by iperf3 from the sender's kernel.
	Retransmits int64 `json:"retransmits"`
	// Of udp. Those lost are the gaps that the receiver saw, so that those under way at the end do not count.
	DatagramsSent       int64 `json:"datagrams_sent"`
	DatagramsReceived   int64 `json:"datagrams_received"`
	DatagramsLost       int64 `json:"datagrams_lost"`
	DatagramsOutOfOrder int64 `json:"datagrams_out_of_order"`
	JitterNs            int64 `json:"jitter_ns"` // RFC 3550's, mean of the connections
	// Intervals of iperf3, one second each.
	Intervals []Interval `json:"intervals,omitempty"`
}

// Interval is a part of a flow's time, since its connections stood. Sender and receiver have clocks of their own, which
// start some round-trip time apart.
type Interval struct {
	StartNs       int64 `json:"start_ns"`
	EndNs         int64 `json:"end_ns"`
	SentBytes     int64 `json:"sent_bytes"`
	ReceivedBytes int64 `json:"received_bytes"`
	Retransmits   int64 `json:"retransmits"`
}

// Transfer is one that was completed.
type Transfer struct {
	// Connection counts from 0 to the flow's parallel.
	Connection int `json:"connection"`
	// StartNs is when it began, since time zero.
	StartNs int64 `json:"start_ns"`
	Bytes   int64 `json:"bytes"`
	// ConnectNs is the TCP handshake's time, 0 for a connection that was open already; DurationNs is all of the
	// transfer's, with it.
	ConnectNs  int64 `json:"connect_ns"`
	DurationNs int64 `json:"duration_ns"`
	// LocalPort tells the connections of the flow apart.
	LocalPort uint16 `json:"local_port"`
}

// Pings are the echo requests of a flow.
type Pings struct {
	Sent     int64 `json:"sent"`
	Received int64 `json:"received"`
	// RTTs of those answered, in the order of the answers.
	RTTs []RTT `json:"rtts"`
}

// RTT is a request's round-trip time.
type RTT struct {
	Sequence int64 `json:"sequence"` // of the request, from 1 on
	Ns       int64 `json:"ns"`
}

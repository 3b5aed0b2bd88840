package result

// Flow is the traffic of one flow and the report of its tool. The cell's counters of the flow are
// in the result's window. Times count from time zero of the run.
type Flow struct {
	Name      string  `json:"name" jsonschema:"Name as in the plan, with a number if the flow of the file stands for several."`
	Group     string  `json:"group" jsonschema:"The flow's name in the file."`
	From      string  `json:"from"`
	To        string  `json:"to"`
	Protocol  string  `json:"protocol"`
	Direction string  `json:"direction"`
	Port      uint16  `json:"port,omitempty" jsonschema:"Port of the machine that answers; 0 for ping."`
	StartS    float64 `json:"start_s" jsonschema:"Start, from time zero of the run."`
	StopS     float64 `json:"stop_s" jsonschema:"End, from time zero of the run."`
	// Command is null in results of older versions.
	Command []string `json:"command" jsonschema:"Command of the first client on from; null if none was started."`
	// Error is the reason why the tool failed, in one line. The tool's output is in Output.
	Error  string   `json:"error,omitempty"`
	Output []string `json:"output,omitempty" jsonschema:"Files with the output of the tool."`

	// ReportedMbps is the payload rate that the tool reports at the receiver. In a bidirectional
	// flow it covers data from From to To; ReportedReverseMbps covers the other direction.
	ReportedMbps        *float64 `json:"reported_mbps,omitempty" jsonschema:"Payload at the receiver as the tool reports it, in Mbit/s."`
	ReportedReverseMbps *float64 `json:"reported_reverse_mbps,omitempty" jsonschema:"The same for the other direction, if the flow has both."`

	Transfers []Transfer `json:"transfers,omitempty" jsonschema:"Transfers in the order of their starts."`
	Datagrams *Datagrams `json:"datagrams,omitempty" jsonschema:"Counters of the tool for UDP."`
	Pings     *Pings     `json:"pings,omitempty"`
}

// Transfer is one request, or one connection that carried a given size of data.
type Transfer struct {
	AtS   float64 `json:"at_s" jsonschema:"Start, from time zero of the run."`
	TookS float64 `json:"took_s"`
	Bytes int64   `json:"bytes" jsonschema:"Payload in bytes."`
	// Error is empty when the transfer completed.
	Error string `json:"error,omitempty"`
}

// Datagrams are the counts of a UDP flow by its tool.
type Datagrams struct {
	Sent       int64   `json:"sent"`
	Lost       int64   `json:"lost"`
	OutOfOrder int64   `json:"out_of_order"`
	JitterMs   float64 `json:"jitter_ms" jsonschema:"Jitter at the end (RFC 3550)."`
}

// Pings are echo requests and their answers.
type Pings struct {
	Sent     int64  `json:"sent"`
	Received int64  `json:"received"`
	RTTs     []Echo `json:"rtts,omitempty"`
}

// Echo is one answer.
type Echo struct {
	AtS float64 `json:"at_s" jsonschema:"Time of the request, from time zero of the run."`
	Ms  float64 `json:"ms" jsonschema:"Duration."`
}

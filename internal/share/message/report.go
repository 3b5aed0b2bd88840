package message

import "fmt"

// State is the state of a terminal: whether it keeps to its share.
type State uint8

// The states.
const (
	Observing   State = iota // reports, but has no bounds
	Controlling              // keeps to its share
	Released                 // has lifted its bounds for some time
	Leaving                  // sends its last report
	numStates
)

var stateNames = [numStates]string{"observing", "controlling", "released", "leaving"}

func (s State) String() string {
	if s >= numStates {
		return fmt.Sprintf("state %d", uint8(s))
	}
	return stateNames[s]
}

// MarshalText returns the name of the state.
func (s State) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Source is the source of a terminal's standalone rate.
type Source uint8

// The sources.
const (
	Unknown    Source = iota // the rate is unknown
	PHY                      // computed from the PHY rate
	Configured               // configured by the user
	numSources
)

var sourceNames = [numSources]string{"unknown", "phy", "configured"}

func (s Source) String() string {
	if s >= numSources {
		return fmt.Sprintf("source %d", uint8(s))
	}
	return sourceNames[s]
}

// MarshalText returns the name of the source.
func (s Source) MarshalText() ([]byte, error) { return []byte(s.String()), nil }

// Limits of accepted values. They bound the effect of a lying member.
const (
	// LowestWeight and HighestWeight are in thousandths: 0.1 and 10.
	LowestWeight, HighestWeight = 100, 10_000
	// LongestRTTUs is a minute.
	LongestRTTUs = 60_000_000
	// MostQueuedBytes is 1 GiB.
	MostQueuedBytes = 1 << 30
	// LowestPeriodMs and HighestPeriodMs are between an eager terminal and an hour.
	LowestPeriodMs, HighestPeriodMs = 50, 3_600_000
)

// Report is a terminal's report of itself. A rate of zero is unknown or absent.
type Report struct {
	// Session is random for each start of an agent. Sequence grows by one with each report.
	// PeriodMs is the approximate time to the next report. The Sender sets all three.
	Session  uint64 `json:"session"`
	Sequence uint32 `json:"sequence"`
	PeriodMs uint32 `json:"period_ms"`

	State State `json:"state"`
	// MaxKbps is the standalone rate: the rate of the terminal alone. MaxSource is its source.
	MaxKbps   Rate   `json:"max_kbps"`
	MaxSource Source `json:"max_source"`
	PHYKbps   Rate   `json:"phy_kbps"`
	// DeliveryKbps is the delivered rate of all flows, as measured by the kernel.
	DeliveryKbps Rate `json:"delivery_kbps"`
	// ApplicationLimited means that its applications need DemandKbps at most. Otherwise they need
	// any rate that they get.
	ApplicationLimited bool `json:"application_limited"`
	DemandKbps         Rate `json:"demand_kbps"`
	UploadKbps         Rate `json:"upload_kbps"`
	DownloadKbps       Rate `json:"download_kbps"`
	// BoundKbps is the share that it keeps to at present. Zero: no bound.
	BoundKbps Rate `json:"bound_kbps"`
	// Weight in thousandths.
	Weight uint16 `json:"weight_thousandths"`
	// Probe is the probe that it asks for.
	Probe Probe `json:"probe,omitzero"`
	// ForeignQueues means that it found queues in an RTT probe that are not of participants.
	ForeignQueues bool `json:"foreign_queues"`
	// SingleFrames means that its radio sends each packet by itself: 802.11a, b and g have no
	// aggregates.
	SingleFrames bool `json:"single_frames"`
	// BothFamilies means that it hears multicast over IPv4 and over IPv6, so that either will do to
	// reach it.
	BothFamilies bool `json:"both_families"`
	// BSS is its access point (cellkey.Key.BSS). Zero means that it is unknown.
	BSS uint32 `json:"bss,omitempty"`

	// Round-trip times in microseconds, zero if unknown.
	MinRTTUs      uint32 `json:"min_rtt_us"`
	SmoothedRTTUs uint32 `json:"smoothed_rtt_us"`
	RTT95Us       uint32 `json:"rtt_95_us"` // 95th percentile

	// QueuedBytes wait in its sockets and queues.
	QueuedBytes uint32 `json:"queued_bytes"`
	FlowsUp     uint16 `json:"flows_up"`
	FlowsDown   uint16 `json:"flows_down"`

	Counts
}

// Counts are totals since the start of the session, modulo 2^32, so that lost reports lose no
// count.
type Counts struct {
	// Retransmissions in segments.
	Retransmissions uint32 `json:"retransmissions"`
	// Errors are at index code-1. The codes are 1 reordering, 2 local device congestion, 3
	// duplicate ACK or SACK, 4 timeout.
	Errors [4]uint32 `json:"errors"`
}

// Check returns an error if a value of the report is beyond its limits. Such a report is neither
// sent nor accepted.
func (r *Report) Check() error {
	if r.State >= numStates {
		return fmt.Errorf("there is no state %d", r.State)
	}
	if r.MaxSource >= numSources {
		return fmt.Errorf("there is no source %d of a standalone rate", r.MaxSource)
	}
	if err := r.Probe.check(); err != nil {
		return err
	}
	if (r.MaxKbps == 0) != (r.MaxSource == Unknown) {
		return fmt.Errorf("a standalone rate of %d kbit/s with source %d: want both or neither",
			r.MaxKbps, r.MaxSource)
	}
	for _, f := range [...]struct {
		what             string
		value            uint32
		lowest, greatest uint32
	}{
		{"standalone rate (kbit/s)", uint32(r.MaxKbps), 0, uint32(HighestRate)},
		{"PHY rate (kbit/s)", uint32(r.PHYKbps), 0, uint32(HighestRate)},
		{"delivery rate (kbit/s)", uint32(r.DeliveryKbps), 0, uint32(HighestRate)},
		{"demand (kbit/s)", uint32(r.DemandKbps), 0, uint32(HighestRate)},
		{"upload rate (kbit/s)", uint32(r.UploadKbps), 0, uint32(HighestRate)},
		{"download rate (kbit/s)", uint32(r.DownloadKbps), 0, uint32(HighestRate)},
		{"bound (kbit/s)", uint32(r.BoundKbps), 0, uint32(HighestRate)},
		{"weight (thousandths)", uint32(r.Weight), LowestWeight, HighestWeight},
		{"minimum RTT (us)", r.MinRTTUs, 0, LongestRTTUs},
		{"smoothed RTT (us)", r.SmoothedRTTUs, 0, LongestRTTUs},
		{"95th percentile RTT (us)", r.RTT95Us, 0, LongestRTTUs},
		{"queue (bytes)", r.QueuedBytes, 0, MostQueuedBytes},
		{"period (ms)", r.PeriodMs, LowestPeriodMs, HighestPeriodMs},
	} {
		if f.value < f.lowest || f.value > f.greatest {
			return fmt.Errorf("a %s of %d: want %d to %d", f.what, f.value, f.lowest, f.greatest)
		}
	}
	return nil
}

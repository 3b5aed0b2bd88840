// Package cell is an emulated WLAN cell with the path behind it: terminals at an access point
// (medium, queue), servers behind a wire (path), and an engine that carries real packets between
// their namespaces (engine). It puts these together and counts.
//
// World is the whole in virtual time. Start runs it in real time, in the engine's process, and
// gives each terminal and server a namespace with an address. From Begin on the schedules run and
// everything is counted.
package cell

import (
	"encoding/json"
	"net/netip"
	"time"

	"airtide/internal/cell/medium"
	"airtide/internal/cell/path"
	"airtide/internal/cell/queue"
)

// Config describes a cell. It can be encoded as JSON, for it goes to the engine's process.
type Config struct {
	// Seed of all random numbers: back-offs, frame errors, losses and jitter.
	Seed uint64 `json:"seed"`
	// Band of the medium.
	Band medium.Band `json:"band"`
	// RetryLimit is the number of times a frame is sent at most; 0 means 7.
	RetryLimit int `json:"retry_limit,omitempty"`
	// TXOPNs is the longest time that a contender holds the medium; 0 means one frame exchange.
	TXOPNs int64 `json:"txop_ns,omitempty"`
	// Beacons, BlockAckRequest, BasicRatesKbps, LeaveOutVHTSIGB, EIFSAfterCollision, RTSBytes and
	// AdaptiveWindows are medium.Config's.
	Beacons            medium.Beacons `json:"beacons,omitzero"`
	BlockAckRequest    bool           `json:"block_ack_request,omitempty"`
	BasicRatesKbps     []int          `json:"basic_rates_kbps,omitempty"`
	LeaveOutVHTSIGB    bool           `json:"leave_out_vht_sig_b,omitempty"`
	EIFSAfterCollision bool           `json:"eifs_after_collision,omitempty"`
	RTSBytes           int            `json:"rts_bytes,omitempty"`
	AdaptiveWindows    bool           `json:"adaptive_windows,omitempty"`

	AP        AccessPoint `json:"ap"`
	Terminals []Terminal  `json:"terminals"`
	Servers   []Server    `json:"servers"`
	// WireUp and WireDown are the shared wire towards the servers and towards the terminals. The
	// first step starts at 0. Without steps the wire adds no delay and has no rate limit.
	WireUp   []WireStep `json:"wire_up,omitempty"`
	WireDown []WireStep `json:"wire_down,omitempty"`
	// Flows that are counted.
	Flows  []Flow        `json:"flows,omitempty"`
	Engine EngineOptions `json:"engine"`
}

// Discipline names an access point's queueing.
type Discipline string

// The disciplines.
const (
	FIFO           Discipline = "fifo"             // queue.SharedFIFO
	FIFOPerStation Discipline = "fifo_per_station" // queue.RoundRobin
	FQCoDel        Discipline = "fq_codel"         // queue.FQCoDel with mac80211's parameters
	AirtimeFair    Discipline = "airtime_fair"     // the same, with equal airtime for all stations
)

// AccessPoint is the sender of the downlink.
type AccessPoint struct {
	Discipline Discipline `json:"discipline"` // empty means FIFO
	// Limit of its queue, for all stations together, with FIFOPerStation for each.
	Limit       queue.Limit `json:"limit"`
	Aggregation Aggregation `json:"aggregation"`
	Access      Access      `json:"access,omitzero"`
	// AckThinning lets a TCP acknowledgement take the place of an earlier one of its flow that
	// still waits.
	AckThinning bool `json:"ack_thinning,omitempty"`
	// WindowSharing lowers the windows that TCP receivers advertise to the queue's limit over the
	// number of connections that carry data.
	WindowSharing bool `json:"window_sharing,omitempty"`
}

// Aggregation bounds A-MPDUs. A zero field has the standard's bound. Frames 1 switches aggregation
// off.
type Aggregation struct {
	Bytes     int   `json:"bytes,omitempty"`
	Frames    int   `json:"frames,omitempty"`
	AirtimeNs int64 `json:"airtime_ns,omitempty"`
}

// Access holds the channel access parameters of a contender. A zero field has the default of
// medium.Access.
type Access struct {
	Category medium.Category `json:"category,omitempty"`
	AIFSN    int             `json:"aifsn,omitempty"`
	CWMin    int             `json:"cw_min,omitempty"`
	CWMax    int             `json:"cw_max,omitempty"`
}

// Terminal is a device under test.
type Terminal struct {
	Name string `json:"name"`
	// Radio is nil for a terminal on Ethernet: its packets go onto the wire without crossing the
	// cell.
	Radio *Radio `json:"radio,omitempty"`
	// Refuse makes its device refuse packets while the radio's queue is full, which TCP takes for
	// congestion of the local device (code 2); without it a full queue blocks the sender.
	Refuse bool `json:"refuse,omitempty"`
	// Up and Down are the terminal's path towards the servers and towards the terminal. The first
	// step starts at 0. Without steps the path adds nothing.
	Up   []LineStep `json:"up,omitempty"`
	Down []LineStep `json:"down,omitempty"`
	// MTU in bytes; 0 means 1500.
	MTU int `json:"mtu,omitempty"`
	// Outside, if not nil, is an interface that exists already and takes the place of a namespace.
	Outside *Outside `json:"outside,omitempty"`
}

// Radio is a terminal's WLAN adapter.
type Radio struct {
	// PHY over time, in both directions; the first step is at 0. All are of one standard.
	PHY         []PHYStep   `json:"phy"`
	Aggregation Aggregation `json:"aggregation"`
	// QueuePackets is the limit of its queue, without the frames that are on the air; 0 means no
	// limit.
	QueuePackets int `json:"queue_packets,omitempty"`
	// FrameErrors is the share of data frames lost without collision, in either direction, 0 to
	// below 1.
	FrameErrors float64 `json:"frame_errors,omitempty"`
	Access      Access  `json:"access,omitzero"`
}

// PHYStep is a PHY from a time on, which counts from Begin as all times of steps do.
type PHYStep struct {
	AtNs int64
	PHY  medium.PHY
}

// LineStep is the path of a terminal in one direction from a given time on.
type LineStep struct {
	AtNs int64     `json:"at_ns"`
	Line path.Line `json:"line"`
}

// WireStep is the shared wire in one direction from a time on.
type WireStep struct {
	AtNs int64     `json:"at_ns"`
	Wire path.Wire `json:"wire"`
}

// Server is a machine behind the wire.
type Server struct {
	Name string `json:"name"`
	// MTU in bytes; 0 means 1500.
	MTU int `json:"mtu,omitempty"`
	// Outside, if not nil, is an interface that exists already and takes the place of a namespace.
	Outside *Outside `json:"outside,omitempty"`
}

// Outside is an existing interface, such as the TAP of a virtual machine or a real adapter.
type Outside struct {
	Interface string `json:"interface"`
	// Addresses that lie behind it.
	Addresses []netip.Prefix `json:"addresses"`
	// Gateway lists the router addresses of hosts outside. The engine answers ARP and neighbour
	// discovery for them.
	Gateway []netip.Addr `json:"gateway,omitempty"`
	// Via is the router outside through which the addresses are reached; without it they are on the
	// link.
	Via []netip.Addr `json:"via,omitempty"`
}

// Flow is traffic that is counted separately: packets with a TCP or UDP port at either end, or ICMP
// echo if Port is 0.
type Flow struct {
	Name string `json:"name"`
	Port uint16 `json:"port"`
	// From and To are the sender and the receiver of echo requests if Port is 0. An empty name
	// matches any host. Such flows may overlap; each flow counts.
	From string `json:"from,omitempty"`
	To   string `json:"to,omitempty"`
}

// EngineOptions are the options of engine.Config. A zero field has its default.
type EngineOptions struct {
	Slots    int           `json:"slots,omitempty"`
	Priority int           `json:"priority,omitempty"`
	LagLimit time.Duration `json:"lag_limit_ns,omitempty"`
	Coalesce bool          `json:"coalesce,omitempty"`
	Supers   bool          `json:"supers,omitempty"`
	Quantum  time.Duration `json:"quantum_ns,omitempty"`
	// EndProcesses ends the processes in the namespaces with the cell.
	EndProcesses bool `json:"end_processes,omitempty"`
}

// phyJSON is the JSON form of a medium.PHY.
type phyJSON struct {
	AtNs          int64           `json:"at_ns"`
	Standard      medium.Standard `json:"standard"`
	RateBps       int64           `json:"rate_bps"`
	WidthMHz      int             `json:"width_mhz,omitempty"`
	Streams       int             `json:"streams,omitempty"`
	Index         int             `json:"mcs,omitempty"`
	GuardNs       int             `json:"guard_ns,omitempty"`
	ShortPreamble bool            `json:"short_preamble,omitempty"`
}

// MarshalJSON encodes the parameters from which medium.PHY is computed.
func (s PHYStep) MarshalJSON() ([]byte, error) {
	p := s.PHY
	return json.Marshal(
		phyJSON{s.AtNs, p.Standard, p.RateBps, p.WidthMHz, p.Streams, p.Index, p.GuardNs, p.ShortPreamble},
	)
}

// UnmarshalJSON makes the PHY again.
func (s *PHYStep) UnmarshalJSON(data []byte) error {
	var from phyJSON
	err := json.Unmarshal(data, &from)
	if err != nil {
		return err
	}
	s.AtNs = from.AtNs
	if from.Standard >= medium.Std11n {
		s.PHY, err = medium.MCS(from.Standard, from.WidthMHz, from.Streams, from.Index, from.GuardNs)
		return err
	}
	s.PHY, err = medium.Legacy(from.Standard, float64(from.RateBps)/1e6)
	if err == nil && from.ShortPreamble {
		s.PHY = s.PHY.WithShortPreamble()
	}
	return err
}

package plan

import "reflect"

// Experiment is the content of a file at one point of its sweep. The point's values are set,
// profiles are applied, and missing fields have their defaults.
type Experiment struct {
	General
	Conditions
}

// General is the part of an experiment that is equal at all points of its sweep.
type General struct {
	Name      string             `json:"name" jsonschema:"Short name of the experiment, and of the folder of its results."`
	Title     string             `json:"title,omitzero" jsonschema:"Title in one line."`
	Source    string             `json:"source,omitzero" jsonschema:"Source that the experiment repeats, such as: Miki et al. 2010, figure 7."`
	Notes     string             `json:"notes,omitzero" jsonschema:"Notes for readers, such as choices that the source leaves open."`
	Repeats   int                `json:"repeats,omitzero" jsonschema:"Number of runs of each point. Default 1; claims need at least 2, better 5."`
	Seed      uint64             `json:"seed,omitzero" jsonschema:"Seed of all random numbers. Default 1."`
	Seeds     []uint64           `json:"seeds,omitzero" jsonschema:"One seed for each repeat, in place of repeats and seed."`
	SameSeeds bool               `json:"same_seeds,omitzero" jsonschema:"Whether all points of a repeat use the same random numbers, so that only the swept parameters differ. Default false: each run has its own."`
	AtOnce    int                `json:"at_once,omitzero" jsonschema:"Number of runs at a time, for runs that leave the processors idle. Default 1."`
	LagLimit  Duration           `json:"lag_limit,omitzero" jsonschema:"Limit of the 99th percentile by which packets leave the cell late, in a valid run. The limit of the 99.9th percentile is ten times as long. Default 2 ms."`
	Sweep     []Sweep            `json:"sweep,omitzero" jsonschema:"Parameters to vary. Each value of one entry is combined with each value of the others."`
	Measure   Named[Measurement] `json:"measure,omitzero" jsonschema:"The numbers taken from each run, by name."`
	Claims    Named[Claim]       `json:"claims,omitzero" jsonschema:"Expected relations, by name."`
	Figures   Named[Figure]      `json:"figures,omitzero" jsonschema:"Figures to draw, by name."`
}

// Conditions are the part of an experiment that a sweep can vary.
type Conditions struct {
	Duration           Duration                 `json:"duration,omitzero" jsonschema:"Time for which a run sends. Default 10 s."`
	Warmup             Duration                 `json:"warmup,omitzero" jsonschema:"Time at the start of a run that measurements leave out. Default 0."`
	Terminals          Named[Terminal]          `json:"terminals" jsonschema:"The devices under test, by name. A name may stand for a group of equal devices."`
	Servers            Named[Server]            `json:"servers,omitzero" jsonschema:"The machines behind the path, by name."`
	CongestionControls Named[CongestionControl] `json:"congestion_controls,omitzero" jsonschema:"Congestion controls of airtide with parameters, by the names that congestion may then use. Without parameters, use the name of the kind."`
	Cell               Cell                     `json:"cell,omitzero" jsonschema:"The access point, the medium, and settings of the engine."`
	Path               Path                     `json:"path,omitzero" jsonschema:"The wired path between access point and servers."`
	Flows              Named[Flow]              `json:"flows" jsonschema:"The traffic, by name."`
	Record             Record                   `json:"record,omitzero" jsonschema:"Recordings besides the output of the tools."`
}

// notSwept are the fields that no sweep can set.
var notSwept = fieldNames(reflect.TypeFor[General]())

// Stack contains the TCP settings of a machine.
type Stack struct {
	Profile       string            `json:"profile,omitzero" jsonschema:"Profile of a device (experiments/terminals). Values given here override it."`
	Congestion    string            `json:"congestion,omitzero" jsonschema:"Congestion control: one of the kernel's, one of congestion_controls, or one of airtide cc (such as cubic_rtt). Default: the kernel's."`
	ReceiveBuffer Buffer            `json:"receive_buffer,omitzero" jsonschema:"Bounds of TCP receive buffers (net.ipv4.tcp_rmem)."`
	SendBuffer    Buffer            `json:"send_buffer,omitzero" jsonschema:"Bounds of TCP send buffers (net.ipv4.tcp_wmem)."`
	InitialWindow int               `json:"initial_window,omitzero" jsonschema:"Initial congestion window in segments (ip route initcwnd). Default: the kernel's 10."`
	Sysctls       map[string]string `json:"sysctls,omitzero" jsonschema:"Other sysctls of the network namespace. If the name starts with -, as in sysctl.d, a kernel without the sysctl only causes a warning."`
}

// Buffer has the three values of tcp_rmem and tcp_wmem.
type Buffer struct {
	Min     Size `json:"min" jsonschema:"Size that is kept even if memory is short."`
	Default Size `json:"default" jsonschema:"Initial size for a new connection."`
	Max     Size `json:"max" jsonschema:"Largest size to which the kernel grows it."`
}

// Terminal is a device under test, or a group of equal devices.
type Terminal struct {
	Stack
	Count int        `json:"count,omitzero" jsonschema:"Number of terminals in a group. Their names are the name of the group followed by 1 to count."`
	Link  Attachment `json:"link,omitzero" jsonschema:"wlan (default), or ethernet: on the wire, outside the cell."`
	Radio Radio      `json:"radio,omitzero" jsonschema:"The WLAN adapter."`
	Share Sharing    `json:"share,omitzero" jsonschema:"Sharing of the access point with other terminals."`

	Kind   MachineKind `json:"kind,omitzero" jsonschema:"Kind of machine: a namespace of this computer's kernel (default), or vm: a virtual machine with its own kernel."`
	Kernel GuestKernel `json:"kernel,omitzero" jsonschema:"vm: version of Debian's kernel. Default 6.1."`
	Time   Time        `json:"time,omitzero" jsonschema:"vm: the clock."`
}

// Server is a machine behind the path.
type Server struct {
	Stack
}

// Attachment is the type of a terminal's link.
type Attachment string

// The attachments.
const (
	WLAN     Attachment = "wlan"
	Ethernet Attachment = "ethernet"
)

func (*Attachment) choices() []string { return []string{string(WLAN), string(Ethernet)} }

// Radio is a WLAN adapter.
type Radio struct {
	Standard      Standard    `json:"standard,omitzero" jsonschema:"IEEE 802.11b, g, a, n, ac or ax."`
	PHYRate       Rate        `json:"phy_rate,omitzero" jsonschema:"PHY rate in both directions, one of the standard's."`
	Width         int         `json:"width,omitzero" jsonschema:"Width of the channel in MHz, if the rate does not determine it."`
	Streams       int         `json:"streams,omitzero" jsonschema:"Number of spatial streams, if the rate does not determine it."`
	GuardInterval Duration    `json:"guard_interval,omitzero" jsonschema:"Guard interval: 400 ns or 800 ns (ax: 800, 1600 or 3200 ns), if the rate does not determine it."`
	Aggregation   Aggregation `json:"aggregation,omitzero" jsonschema:"Limits of the A-MPDUs."`
	Queue         Limit       `json:"queue,omitzero" jsonschema:"Limit of the transmit queue, in packets. Default 1000 packets."`
	FrameErrors   Share       `json:"frame_errors,omitzero" jsonschema:"Share of MPDUs that are lost on the air, in both directions. Default 0."`
	Refuses       bool        `json:"refuses,omitzero" jsonschema:"Whether the device refuses packets while its queue is full. TCP counts that as local congestion (code 2 of Matsuno et al. 2021). Default false: the sender is blocked."`
	Access        Access      `json:"access,omitzero" jsonschema:"Contention for the medium. Default: DCF for b, g and a, best effort from n on, with the standard's values."`
	ShortPreamble bool        `json:"short_preamble,omitzero" jsonschema:"802.11b: whether frames have the short preamble, except those at 1 Mbit/s. Default false."`
	Schedule      []RateStep  `json:"schedule,omitzero" jsonschema:"Changes of the PHY rate during a run."`
}

// Access holds the parameters of medium access (EDCA). A zero field means the value of the access
// category.
type Access struct {
	Category Category `json:"category,omitzero" jsonschema:"dcf, or an access category of EDCA: background, best_effort, video or voice. The TXOP limit of all of them is cell.txop_limit."`
	AIFSN    int      `json:"aifsn,omitzero" jsonschema:"Slots after SIFS before a back-off continues, 1 to 15."`
	CWMin    int      `json:"cw_min,omitzero" jsonschema:"Smallest contention window in slots: a power of two minus one, up to 32767."`
	CWMax    int      `json:"cw_max,omitzero" jsonschema:"Largest contention window in slots."`
}

// Category is the access category of a contender.
type Category string

// The categories.
const (
	DCF        Category = "dcf"
	Background Category = "background"
	BestEffort Category = "best_effort"
	Video      Category = "video"
	Voice      Category = "voice"
)

func (*Category) choices() []string {
	return []string{string(DCF), string(Background), string(BestEffort), string(Video), string(Voice)}
}

// RateStep changes a PHY rate.
type RateStep struct {
	At      Duration `json:"at" jsonschema:"Time of the change, from the start of the run."`
	PHYRate Rate     `json:"phy_rate" jsonschema:"New PHY rate."`
}

// Aggregation limits an A-MPDU; the tightest limit applies. A zero field means the limit of the
// standard.
type Aggregation struct {
	Bytes   Size     `json:"bytes,omitzero" jsonschema:"Largest A-MPDU in bytes. Default: the standard's maximum, 65535 B for n, 1048575 B for ac, 6500631 B for ax."`
	Frames  int      `json:"frames,omitzero" jsonschema:"Largest number of MPDUs; 1 means no aggregation. Default: the standard's 64 (ax: 256)."`
	Airtime Duration `json:"airtime,omitzero" jsonschema:"Longest PPDU. Default: the standard's 5484 us."`
}

// Cell describes the access point, the medium and the engine's interface to the kernel.
type Cell struct {
	Radio           Radio       `json:"radio,omitzero" jsonschema:"The radio of terminals whose file and profile name no standard."`
	AP              AccessPoint `json:"ap,omitzero" jsonschema:"The access point."`
	Band            Band        `json:"band,omitzero" jsonschema:"2.4 GHz or 5 GHz. Default: 5 GHz, unless a terminal is 802.11b or g."`
	BasicRates      []Rate      `json:"basic_rates,omitzero" jsonschema:"Rates of 802.11b and g for responses and other control frames. Default: the mandatory 1, 2, 5.5, 11, 6, 12 and 24 Mbit/s."`
	Beacons         Beacons     `json:"beacons,omitzero" jsonschema:"Beacons that the access point sends before all other frames. Default: none."`
	RetryLimit      int         `json:"retry_limit,omitzero" jsonschema:"Number of transmissions before a frame is dropped. Default 7."`
	TXOPLimit       Duration    `json:"txop_limit,omitzero" jsonschema:"TXOP limit of all stations. Default 0: one frame exchange."`
	BlockAckRequest bool        `json:"block_ack_request,omitzero" jsonschema:"Whether a BlockAckReq is sent after an unacknowledged A-MPDU, before other data. Default false."`
	// EIFSAfterCollision models a receiver without preamble detection, as ns-3 does.
	EIFSAfterCollision bool `json:"eifs_after_collision,omitzero" jsonschema:"Whether other stations wait for EIFS after a collision. Default false: they sense energy only."`

	Contention Contention `json:"contention,omitzero" jsonschema:"Choice of contention windows: standard (default), or blade: one window for all that follows the load of the medium, a reconstruction of BLADE."`

	SuperPackets  SuperPackets `json:"super_packets,omitzero" jsonschema:"Super-packets between engine and kernel, for high rates: none (default), senders (the same packets cross the cell), or both (receivers get packets that leave together as one, and acknowledge them once)."`
	ShortestSleep Duration     `json:"shortest_sleep,omitzero" jsonschema:"Shortest sleep of the engine, 1 ms at most: packets enter and leave together, late by as much, with fewer wake-ups. For long round-trip times and many runs at once. Default 0."`
}

// Contention is the rule for contention windows.
type Contention string

// Blade adapts one window for all contenders to the load of the medium.
const Blade Contention = "blade"

func (*Contention) choices() []string { return []string{"standard", string(Blade)} }

// Beacons are the beacons of the access point.
type Beacons struct {
	Every Duration `json:"every" jsonschema:"Beacon interval; 102.4 ms for most access points."`
	Size  Size     `json:"size,omitzero" jsonschema:"Size of a beacon. Default 250 B."`
	Rate  Rate     `json:"rate,omitzero" jsonschema:"Rate of beacons, one of 802.11b or g. Default: 1 Mbit/s at 2.4 GHz, 6 Mbit/s at 5 GHz."`
}

// SuperPackets selects the directions between kernel and engine in which several packets of a flow
// pass as one.
type SuperPackets string

// The directions of super packets.
const (
	SuperPacketsNone    SuperPackets = "none"
	SuperPacketsSenders SuperPackets = "senders"
	SuperPacketsBoth    SuperPackets = "both"
)

func (*SuperPackets) choices() []string {
	return []string{string(SuperPacketsNone), string(SuperPacketsSenders), string(SuperPacketsBoth)}
}

// AccessPoint contains the queue and the sender of the downlink.
type AccessPoint struct {
	Discipline  Discipline  `json:"discipline,omitzero" jsonschema:"Discipline of the downlink queue. Default fifo."`
	Queue       Limit       `json:"queue,omitzero" jsonschema:"Limit of the downlink queue for all stations together (fifo_per_station: for each). Default 1000 packets."`
	Aggregation Aggregation `json:"aggregation,omitzero" jsonschema:"Limits of the A-MPDUs."`
	Access      Access      `json:"access,omitzero" jsonschema:"Contention for the medium. Default: as a terminal's radio."`
	AckThinning bool        `json:"ack_thinning,omitzero" jsonschema:"Whether a TCP ACK replaces an earlier waiting ACK of its flow."`
	// WindowSharing is a remedy of Pilosof et al. (INFOCOM 2003).
	WindowSharing bool `json:"window_sharing,omitzero" jsonschema:"Whether advertised TCP windows are limited to the queue's limit divided by the number of connections with data."`
}

// Discipline is the queueing discipline of an access point.
type Discipline string

// The disciplines.
const (
	FIFO           Discipline = "fifo"
	FIFOPerStation Discipline = "fifo_per_station"
	FQCoDel        Discipline = "fq_codel"
	AirtimeFair    Discipline = "airtime_fair"
)

func (*Discipline) choices() []string {
	return []string{string(FIFO), string(FIFOPerStation), string(FQCoDel), string(AirtimeFair)}
}

// Record selects the recordings of a run.
type Record struct {
	TCP      Names    `json:"tcp,omitzero" jsonschema:"Machines whose kernel is recorded per ACK: names, all, or terminals."`
	Packets  Names    `json:"packets,omitzero" jsonschema:"Machines whose packets are captured: names, all, or terminals."`
	Interval Duration `json:"interval,omitzero" jsonschema:"Interval of the time series of the cell's counters. Default 100 ms."`
}

// Defaults of optional values.
const (
	defaultDuration = Duration(10e9)
	defaultInterval = Duration(100e6)
	defaultQueue    = 1000
	defaultWire     = Rate(1e9)
	defaultRetries  = 7
)

// orDefault sets a value that the file lacks.
func orDefault[T comparable](v *T, otherwise T) {
	var zero T
	if *v == zero {
		*v = otherwise
	}
}

func (g *General) setDefaults() {
	orDefault(&g.Seed, 1)
	orDefault(&g.Repeats, max(1, len(g.Seeds)))
	for i := range g.Measure {
		orDefault(&g.Measure[i].Value.Take, Mean)
	}
}

func (c *Conditions) setDefaults() {
	orDefault(&c.Duration, defaultDuration)
	orDefault(&c.Cell.AP.Discipline, FIFO)
	orDefault(&c.Cell.AP.Queue, Limit{Packets: defaultQueue})
	orDefault(&c.Cell.RetryLimit, defaultRetries)
	orDefault(&c.Path.Rate, defaultWire)
	orDefault(&c.Path.Queue, Limit{Packets: defaultQueue})
	orDefault(&c.Record.Interval, defaultInterval)
	for i := range c.Terminals {
		t := &c.Terminals[i].Value
		orDefault(&t.Link, WLAN)
		if t.Link == WLAN {
			orDefault(&t.Radio.Queue, Limit{Packets: defaultQueue})
		}
	}
	for i := range c.Flows {
		c.Flows[i].Value.setDefaults(c.Duration)
	}
}

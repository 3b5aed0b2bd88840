package plan

// Experiment is the content of a file at one point of its sweep. The point's values are set,
// profiles are applied, and missing fields have their defaults.
type Experiment struct {
	Name      string   `json:"name" jsonschema:"Short name: results are kept under it."`
	Title     string   `json:"title,omitzero" jsonschema:"One line for people."`
	Source    string   `json:"source,omitzero" jsonschema:"What this repeats, such as: Miki et al. 2010, figure 7."`
	Notes     string   `json:"notes,omitzero" jsonschema:"What a reader should know, such as what the source leaves open and what was chosen."`
	Duration  Duration `json:"duration,omitzero" jsonschema:"How long a run sends. Default 10 s."`
	Warmup    Duration `json:"warmup,omitzero" jsonschema:"What of it is left out of measurements, from the start. Default 0."`
	Repeats   int      `json:"repeats,omitzero" jsonschema:"Runs of each point. Default 1; claims need 2, better 5."`
	Seed      uint64   `json:"seed,omitzero" jsonschema:"All random numbers follow from it. Default 1."`
	Seeds     []uint64 `json:"seeds,omitzero" jsonschema:"One seed per repeat, in place of repeats and seed."`
	SameSeeds bool     `json:"same_seeds,omitzero" jsonschema:"Whether all points of a repeat have the same random numbers, so that they differ in nothing else. Default: every run has its own."`
	AtOnce    int      `json:"at_once,omitzero" jsonschema:"Number of runs at a time, for runs that leave the processors idle. Default 1."`
	LagLimit  Duration `json:"lag_limit,omitzero" jsonschema:"How late 1 % of the packets may leave the cell in a run that counts; 0.1 % may be ten times as late. Default 2 ms."`

	Terminals          Named[Terminal]          `json:"terminals" jsonschema:"The devices under test, by name; one name may be a group of equal ones."`
	Servers            Named[Server]            `json:"servers,omitzero" jsonschema:"The machines behind the path, by name."`
	CongestionControls Named[CongestionControl] `json:"congestion_controls,omitzero" jsonschema:"Congestion controls of airtide with parameters, by the names that congestion may then say. Without parameters a kind's own name does."`
	Cell               Cell                     `json:"cell,omitzero" jsonschema:"The access point, what holds for the whole medium, and how the engine takes packets."`
	Path               Path                     `json:"path,omitzero" jsonschema:"The wired part between access point and servers."`
	Flows              Named[Flow]              `json:"flows" jsonschema:"The traffic, by name."`

	Sweep   []Sweep            `json:"sweep,omitzero" jsonschema:"What is varied. Entries multiply: every value of one with every value of the others."`
	Record  Record             `json:"record,omitzero" jsonschema:"What is recorded besides the tools' own output."`
	Measure Named[Measurement] `json:"measure,omitzero" jsonschema:"The figures taken from each run, by name."`
	Claims  Named[Claim]       `json:"claims,omitzero" jsonschema:"What should hold, by name."`
	Figures Named[Figure]      `json:"figures,omitzero" jsonschema:"What is drawn, by name."`
}

// notSwept are the parts that are equal for the whole experiment.
var notSwept = []string{
	"name", "title", "source", "notes", "repeats", "seed", "seeds", "same_seeds", "at_once", "lag_limit", "sweep",
	"measure", "claims", "figures",
}

// Stack contains the TCP settings of a machine.
type Stack struct {
	Profile       string            `json:"profile,omitzero" jsonschema:"A device's values from the terminals folder, which those given here override."`
	Congestion    string            `json:"congestion,omitzero" jsonschema:"Congestion control: one of the kernel's, one of congestion_controls, or one of airtide cc (such as cubic_rtt). Default: the kernel's."`
	ReceiveBuffer Buffer            `json:"receive_buffer,omitzero" jsonschema:"Bounds of TCP receive buffers (net.ipv4.tcp_rmem)."`
	SendBuffer    Buffer            `json:"send_buffer,omitzero" jsonschema:"Bounds of TCP send buffers (net.ipv4.tcp_wmem)."`
	InitialWindow int               `json:"initial_window,omitzero" jsonschema:"Initial congestion window in segments (ip route initcwnd). Default: the kernel's 10."`
	Sysctls       map[string]string `json:"sysctls,omitzero" jsonschema:"Any other sysctl of the network namespace. One with - before its name, as in sysctl.d, is set where the kernel has it, and a run without it says so."`
}

// Buffer has the three values of tcp_rmem and tcp_wmem.
type Buffer struct {
	Min     Size `json:"min" jsonschema:"Kept even when memory is short."`
	Default Size `json:"default" jsonschema:"Of a new connection."`
	Max     Size `json:"max" jsonschema:"Up to which the kernel tunes it."`
}

// Terminal is a device under test, or a group of equal devices.
type Terminal struct {
	Stack
	Count int        `json:"count,omitzero" jsonschema:"Makes it a group: the terminals are its name with 1 to count behind it."`
	Link  Attachment `json:"link,omitzero" jsonschema:"wlan (default) or ethernet: on the wire, without a cell."`
	Radio Radio      `json:"radio,omitzero" jsonschema:"Its WLAN adapter."`
	Share Sharing    `json:"share,omitzero" jsonschema:"How it shares the access point with the other terminals."`

	Kind   MachineKind `json:"kind,omitzero" jsonschema:"What carries it: a namespace of this computer's kernel (default), or vm: a virtual machine with a kernel of its own."`
	Kernel GuestKernel `json:"kernel,omitzero" jsonschema:"vm: Debian's kernel of this version. Default 6.1."`
	Time   Time        `json:"time,omitzero" jsonschema:"vm: its clock."`
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
	PHYRate       Rate        `json:"phy_rate,omitzero" jsonschema:"In both directions, one of the standard's."`
	Width         int         `json:"width,omitzero" jsonschema:"Of the channel in MHz, where the rate leaves it open."`
	Streams       int         `json:"streams,omitzero" jsonschema:"Spatial streams, where the rate leaves them open."`
	GuardInterval Duration    `json:"guard_interval,omitzero" jsonschema:"400 ns or 800 ns (ax: 800, 1600, 3200), where the rate leaves it open."`
	Aggregation   Aggregation `json:"aggregation,omitzero" jsonschema:"Bounds of its A-MPDUs."`
	Queue         Limit       `json:"queue,omitzero" jsonschema:"Limit of its transmit queue, in packets. Default 1000 packets."`
	FrameErrors   Share       `json:"frame_errors,omitzero" jsonschema:"Share of MPDUs lost on the air, both directions. Default 0."`
	Refuses       bool        `json:"refuses,omitzero" jsonschema:"Whether the device refuses packets while its queue is full, which TCP takes for local congestion (code 2 of Matsuno et al. 2021). Default false: the sender is held back."`
	Access        Access      `json:"access,omitzero" jsonschema:"How it contends for the medium. Default: DCF for b, g and a, best effort from n on, with the standard's values."`
	ShortPreamble bool        `json:"short_preamble,omitzero" jsonschema:"802.11b: whether frames have the short preamble, those at 1 Mbit/s excepted. Default false."`
	Schedule      []RateStep  `json:"schedule,omitzero" jsonschema:"Changes of the PHY rate during a run."`
}

// Access holds the parameters of medium access (EDCA). A zero field means the value of the access
// category.
type Access struct {
	Category Category `json:"category,omitzero" jsonschema:"dcf, or one of EDCA's access categories: background, best_effort, video, voice. The TXOP limit is cell.txop_limit with all of them."`
	AIFSN    int      `json:"aifsn,omitzero" jsonschema:"Slots behind SIFS before a back-off goes on, 1 to 15."`
	CWMin    int      `json:"cw_min,omitzero" jsonschema:"Contention window at first, in slots: a power of two less one, up to 32767."`
	CWMax    int      `json:"cw_max,omitzero" jsonschema:"Contention window at most."`
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
	At      Duration `json:"at" jsonschema:"Since the start of the run."`
	PHYRate Rate     `json:"phy_rate" jsonschema:"From then on."`
}

// Aggregation limits an A-MPDU; the tightest limit applies. A zero field means the limit of the
// standard.
type Aggregation struct {
	Bytes   Size     `json:"bytes,omitzero" jsonschema:"Default: the standard's most, 65535 B for n, 1048575 B for ac, 6500631 B for ax."`
	Frames  int      `json:"frames,omitzero" jsonschema:"MPDUs. 1 is no aggregation. Default: the standard's 64 (ax: 256)."`
	Airtime Duration `json:"airtime,omitzero" jsonschema:"Of one PPDU. Default: the standard's 5484 us."`
}

// Cell describes the access point, the medium and the engine's interface to the kernel.
type Cell struct {
	Radio           Radio       `json:"radio,omitzero" jsonschema:"The radio of terminals for which neither they nor their profile have a standard."`
	AP              AccessPoint `json:"ap,omitzero" jsonschema:"The access point."`
	Band            Band        `json:"band,omitzero" jsonschema:"2.4 GHz or 5 GHz. Default: 5 GHz, unless a terminal is 802.11b or g."`
	BasicRates      []Rate      `json:"basic_rates,omitzero" jsonschema:"Rates of 802.11b and g at which answers and other control frames are sent. Default: the mandatory ones, 1, 2, 5.5, 11, 6, 12 and 24 Mbit/s."`
	Beacons         Beacons     `json:"beacons,omitzero" jsonschema:"What the access point sends at regular times, ahead of all. Default: none."`
	RetryLimit      int         `json:"retry_limit,omitzero" jsonschema:"Transmissions of a frame before it is given up. Default 7."`
	TXOPLimit       Duration    `json:"txop_limit,omitzero" jsonschema:"Of all contenders. Default 0: one frame exchange."`
	BlockAckRequest bool        `json:"block_ack_request,omitzero" jsonschema:"Whether a BlockAckReq follows an A-MPDU that was not acknowledged, before data. Default false."`
	// EIFSAfterCollision models a receiver without preamble detection, as ns-3 does.
	EIFSAfterCollision bool `json:"eifs_after_collision,omitzero" jsonschema:"Whether the others take a collided frame for a frame and wait for EIFS behind it. Default false: they sense energy only."`

	Contention Contention `json:"contention,omitzero" jsonschema:"How contention windows are chosen: standard (default), or blade: one window for all that follows how busy the medium is, a reconstruction of BLADE."`

	SuperPackets SuperPackets `json:"super_packets,omitzero" jsonschema:"Where the engine exchanges super-packets with the kernel, for rates at which single ones cost too much: none (default), senders: the same packets cross the cell, or both: receivers get what leaves at once in one piece and acknowledge it once."`
}

// Contention is the rule for contention windows.
type Contention string

// Blade adapts one window for all contenders to the load of the medium.
const Blade Contention = "blade"

func (*Contention) choices() []string { return []string{"standard", string(Blade)} }

// Beacons are the beacons of the access point.
type Beacons struct {
	Every Duration `json:"every" jsonschema:"Their interval; 102.4 ms of most access points."`
	Size  Size     `json:"size,omitzero" jsonschema:"Of the frame. Default 250 B."`
	Rate  Rate     `json:"rate,omitzero" jsonschema:"A rate of 802.11b or g. Default: 1 Mbit/s at 2.4 GHz, 6 Mbit/s at 5 GHz."`
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
	Discipline  Discipline  `json:"discipline,omitzero" jsonschema:"Of the downlink queue. Default fifo."`
	Queue       Limit       `json:"queue,omitzero" jsonschema:"Limit of the downlink queue, for all stations (fifo_per_station: for each). Default 1000 packets."`
	Aggregation Aggregation `json:"aggregation,omitzero" jsonschema:"Bounds of its A-MPDUs."`
	Access      Access      `json:"access,omitzero" jsonschema:"How it contends for the medium. Default: as a terminal's radio."`
	AckThinning bool        `json:"ack_thinning,omitzero" jsonschema:"Whether a TCP ACK replaces an earlier one of its flow that still waits."`
	// WindowSharing is a remedy of Pilosof et al. (INFOCOM 2003).
	WindowSharing bool `json:"window_sharing,omitzero" jsonschema:"Whether the windows that TCP receivers advertise are lowered to the queue's limit over the number of connections that carry data."`
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
	Interval Duration `json:"interval,omitzero" jsonschema:"Of the cell's counters as time series. Default 100 ms."`
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

func (e *Experiment) setDefaults() {
	orDefault(&e.Duration, defaultDuration)
	orDefault(&e.Seed, 1)
	orDefault(&e.Repeats, max(1, len(e.Seeds)))
	orDefault(&e.Cell.AP.Discipline, FIFO)
	orDefault(&e.Cell.AP.Queue, Limit{Packets: defaultQueue})
	orDefault(&e.Cell.RetryLimit, defaultRetries)
	orDefault(&e.Path.Rate, defaultWire)
	orDefault(&e.Path.Queue, Limit{Packets: defaultQueue})
	orDefault(&e.Record.Interval, defaultInterval)
	for i := range e.Terminals {
		t := &e.Terminals[i].Value
		orDefault(&t.Link, WLAN)
		if t.Link == WLAN {
			orDefault(&t.Radio.Queue, Limit{Packets: defaultQueue})
		}
	}
	for i := range e.Flows {
		e.Flows[i].Value.setDefaults(e.Duration)
	}
	for i := range e.Measure {
		orDefault(&e.Measure[i].Value.Take, Mean)
	}
}

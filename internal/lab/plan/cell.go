package plan

import (
	"fmt"
	"slices"
	"time"

	"airtide/internal/cell/medium"
)

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

	RTSThreshold Size `json:"rts_threshold,omitzero" jsonschema:"Length beyond which RTS and CTS precede an A-MPDU or a frame. Default 0: never."`

	Contention Contention `json:"contention,omitzero" jsonschema:"Choice of contention windows: standard (default), or blade: one window for all that follows the load of the medium, a reconstruction of BLADE."`

	SuperPackets  SuperPackets `json:"super_packets,omitzero" jsonschema:"Super-packets between engine and kernel, for high rates: none (default), senders (the same packets cross the cell), or both (receivers get packets that leave together as one, and acknowledge them once)."`
	ShortestSleep Duration     `json:"shortest_sleep,omitzero" jsonschema:"Shortest sleep of the engine, 1 ms at most: packets enter and leave together, late by as much, with fewer wake-ups. For long round-trip times and many runs at once. Default 0."`
}

// Contention is the rule for contention windows.
type Contention string

// Blade adapts one window for all contenders to the load of the medium.
const Blade Contention = "blade"

func (*Contention) Choices() []string { return []string{"standard", string(Blade)} }

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

func (*SuperPackets) Choices() []string {
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

func (*Discipline) Choices() []string {
	return []string{string(FIFO), string(FIFOPerStation), string(FQCoDel), string(AirtimeFair)}
}

func (cell Cell) check(c *checker) {
	if cell.RetryLimit < 1 || cell.RetryLimit > 255 {
		c.problem("cell.retry_limit", c.found("cell.retry_limit"), "1 to 255")
	}
	if cell.TXOPLimit > maxPPDU*6 {
		c.problem("cell.txop_limit", cell.TXOPLimit.String(),
			"some milliseconds at most (802.11's field ends at 32 ms)")
	}
	if cell.ShortestSleep > Duration(time.Millisecond) {
		c.problem("cell.shortest_sleep", cell.ShortestSleep.String(), "1 ms at most")
	}
	for i, r := range cell.BasicRates {
		checkBOrG(c, fmt.Sprintf("cell.basic_rates.%d", i), r)
	}
	cell.Beacons.check(c)
	cell.AP.Access.check(c, "cell.ap.access")
	// The access point uses the standard of each terminal; ax has the widest bounds.
	cell.AP.Aggregation.check(c, "cell.ap.aggregation", Standard("ax").facts())
}

func checkBOrG(c *checker, path string, r Rate) {
	if !slices.Contains(mbps, float64(r)/1e6) {
		c.problem(path, c.found(path), "a rate of 802.11b or g")
	}
}

func (b Beacons) check(c *checker) {
	if b == (Beacons{}) {
		return
	}
	if b.Every < Duration(time.Millisecond) || b.Every > Duration(100*time.Second) {
		c.problem("cell.beacons.every", b.Every.String(), "1 ms to 100 s, such as 102.4 ms")
	}
	if b.Size > 2304 {
		c.problem("cell.beacons.size", c.found("cell.beacons.size"), "2304 B at most")
	}
	if b.Rate == 0 {
		return
	}
	if c.e.band() != Band5 {
		checkBOrG(c, "cell.beacons.rate", b.Rate)
	} else if _, err := medium.Legacy(medium.Std11a, float64(b.Rate)/1e6); err != nil {
		c.problem("cell.beacons.rate", c.found("cell.beacons.rate"), "a rate of 802.11a, 6 Mbit/s and more, at 5 GHz")
	}
}

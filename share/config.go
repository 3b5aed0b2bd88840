package share

import (
	"errors"
	"fmt"
	"net/netip"
	"time"

	"airtide/monitor"
	"airtide/share/cellkey"
	"airtide/share/control"
	"airtide/share/link"
	"airtide/share/message"
	"airtide/share/radio"
)

// Config says how an agent shares.
type Config struct {
	Key  cellkey.Key
	Link link.Config
	// Interface is that by which the terminal reaches the cell: flows from its addresses are seen and held. "" means all
	// flows of the network namespace.
	Interface string
	// MaxBps is what the terminal reaches alone, in bit/s; 0 means the highest rate that is seen.
	MaxBps float64
	// Radio tells how the terminal's radio is doing; asked at each step. What it reaches alone counts where MaxBps is 0. It may be nil.
	Radio func() radio.State
	// MulticastBps is at what rate the access point sends multicast, in bit/s; 0 stands for the lowest rate of the radio's band.
	MulticastBps float64
	// SingleFrames says that the radio sends each packet by itself, whatever Radio says: 802.11a, b and g have no aggregates.
	SingleFrames bool
	// Weight is what the terminal counts for, 0.1 to 10; 0 stands for 1.
	Weight float64
	Policy control.Policy
	// CapacityBps is what equal-cap divides.
	CapacityBps float64
	Control     control.Options
	// Source is where samples come from.
	Source monitor.Kind
	// Notice is called with a line that the user should see, Step after each step. Both may be nil.
	Notice func(string)
	Step   func(Status)
}

func (c *Config) check() error {
	switch {
	case c.Key.Zero():
		return errors.New("there is no key of the cell (airtide share key makes one)")
	case c.MaxBps < 0 || c.MaxBps != 0 && (c.MaxBps < 1e3 || c.MaxBps > 1e11):
		return fmt.Errorf("a maximum of %g bit/s: want 1 kbit/s to 100 Gbit/s", c.MaxBps)
	case c.Weight != 0 && (c.Weight < LowestWeight || c.Weight > HighestWeight):
		return fmt.Errorf("a weight of %g: want %g to %g", c.Weight, LowestWeight, HighestWeight)
	case c.MulticastBps != 0 && (c.MulticastBps < lowestMulticast || c.MulticastBps > highestMulticast):
		return fmt.Errorf("a multicast rate of %g bit/s: want 1 to 600 Mbit/s", c.MulticastBps)
	case c.Control.Alpha != nil && !(*c.Control.Alpha >= 0):
		return fmt.Errorf("an alpha of %g: want a number from 0 on, or inf", *c.Control.Alpha)
	case c.Policy == control.EqualCapPolicy && c.CapacityBps <= 0:
		return errors.New("the policy equal-cap divides a capacity, and none is given")
	}
	_, err := control.ParsePolicy(string(c.Policy))
	return err
}

// What an access point may send multicast at, in bit/s: from the lowest rate of 802.11b on.
const lowestMulticast, highestMulticast = 1e6, 600e6

// Bounds of a terminal's weight.
const (
	LowestWeight  = message.LowestWeight / 1000.0
	HighestWeight = message.HighestWeight / 1000.0
)

// Status is how an agent is doing.
type Status struct {
	Time   time.Time      `json:"time"`
	PID    int            `json:"pid"`
	Policy control.Policy `json:"policy"`
	Cell   string         `json:"cell"` // the tag of its key
	// Held says that bounds are in force; else Why says why not.
	Held bool   `json:"held"`
	Why  string `json:"why,omitempty"`
	// Own and Peers are the terminals, as they say of themselves.
	Own   Terminal   `json:"own"`
	Peers []Terminal `json:"peers"`
	// Elsewhere is how many terminals are heard that are at another access point and so do not count.
	Elsewhere int `json:"elsewhere,omitempty"`
	// ShareBps is the terminal's, TotalBps the sum of all shares.
	ShareBps float64 `json:"share_bps"`
	TotalBps float64 `json:"total_bps"`
	// CapacityBps is what the wire is found to carry; absent while it is not known to limit.
	CapacityBps float64 `json:"capacity_bps,omitempty"`
	// Limit is what keeps shares from being greater: airtime, wire, both or demand.
	Limit         string   `json:"limit,omitempty"`
	QueueTargetUs int64    `json:"queue_target_us,omitempty"`
	Correction    float64  `json:"correction,omitempty"`
	Windows       []Window `json:"windows"`
	// Turn is what all do together just now: solo, still or free; absent else.
	Turn string `json:"turn,omitempty"`
	// Foreign says that somebody who does not take part has queues stand: windows are then as large as that needs.
	Foreign bool `json:"foreign,omitempty"`
	// Effect is what bounds were found to be worth when they were lifted last to compare; absent before.
	Effect    *Effect        `json:"effect,omitempty"`
	Datagrams map[string]int `json:"datagrams"` // received, by what became of them
}

// Effect compares the cell with bounds and without: what all terminals deliver, and the mean of their round-trip times, weighted by rates.
type Effect struct {
	TotalWithBps    float64 `json:"total_with_bps"`
	TotalWithoutBps float64 `json:"total_without_bps"`
	RTTWithUs       int64   `json:"rtt_with_us"`
	RTTWithoutUs    int64   `json:"rtt_without_us"`
	// LeastPart is the least part of its rate without bounds that a terminal has with them, of those that want all; absent where there is none.
	LeastPart float64 `json:"least_part,omitempty"`
	Helps     bool    `json:"helps"`
}

// Terminal is one of the cell.
type Terminal struct {
	Address string  `json:"address,omitempty"`
	State   string  `json:"state"`
	MaxBps  float64 `json:"max_bps"`
	// MaxSource is how it knows: unknown, phy, measured or configured.
	MaxSource string `json:"max_source"`
	// RateBps is what it carries, in both directions together.
	RateBps     float64 `json:"rate_bps"`
	UploadBps   float64 `json:"upload_bps"`
	DownloadBps float64 `json:"download_bps"`
	// DemandBps is beyond what it would not send; absent when it takes all.
	DemandBps float64 `json:"demand_bps,omitempty"`
	MinRTTUs  int64   `json:"min_rtt_us"`
	RTTUs     int64   `json:"rtt_us"`
	RTT95Us   int64   `json:"rtt_p95_us,omitempty"`
	// BoundBps is the share that it keeps to; absent where it keeps to none.
	BoundBps float64 `json:"bound_bps,omitempty"`
	// PHYBps is the rate of its radio, where that is known.
	PHYBps float64 `json:"phy_bps,omitempty"`
	// QueuedBytes are written and not acknowledged.
	QueuedBytes int64 `json:"queued_bytes"`
	// Retransmits are the segments sent again and Errors the errors of the codes 1 to 4, since its session began.
	Retransmits int64    `json:"retransmits"`
	Errors      [4]int64 `json:"errors_by_code"`
}

// Window is the bound of one flow.
type Window struct {
	Local  netip.AddrPort `json:"local"`
	Remote netip.AddrPort `json:"remote"`
	// Packets is the most that may be on their way, of a flow that sends; ReceiveBytes the largest receive window, of one that receives. One
	// that does both is there twice.
	Packets      uint32 `json:"cwnd_max_packets,omitempty"`
	ReceiveBytes uint32 `json:"rwnd_max_bytes,omitempty"`
}

// Package path is the wired part behind the access point, in one direction: a wire that all
// terminals share, and for each terminal an added delay, jitter, loss, reordering and duplication.
// It is a machine in virtual time: no clock, no goroutine, no input or output.
package path

import (
	"fmt"

	"airtide/internal/cell/queue"
)

// Config describes one direction.
type Config struct {
	Wire Wire
	// Lines has each terminal's, by queue.Packet.Station.
	Lines []Line
	// Schedule has the changes during the run, in order of time.
	Schedule []Change
	// Held keeps the schedule from starting until Begin; its times then count from there.
	Held bool
}

// Wire is an Ethernet link with the queue in front of it, a FIFO unless HostFair is set.
type Wire struct {
	// RateBps in bit/s of the wire itself, 100e6 for 100BASE-TX. Zero is a wire that takes no time.
	RateBps int64 `json:"rate_bps"`
	// Limit bounds the packets that wait for the wire, without the packet in transmission.
	Limit queue.Limit `json:"limit"`
	// HostFair lets terminals take turns and keeps their queues short, in place of the FIFO. It
	// holds for the whole run, with the first limit; without a limit it has 10240 packets.
	HostFair bool `json:"host_fair,omitempty"`
}

// Line is the path of one terminal. A packet is lost before the wire and delayed behind it.
type Line struct {
	DelayNs   int64   `json:"delay_ns"`
	Jitter    Jitter  `json:"jitter,omitzero"`
	Loss      Loss    `json:"loss,omitzero"`
	Reorder   Reorder `json:"reorder,omitzero"`
	Duplicate float64 `json:"duplicate,omitempty"` // share of the packets that arrive twice
}

// Distribution of jitter.
type Distribution uint8

// The distributions.
const (
	Uniform Distribution = iota // between minus and plus Jitter.Ns
	Normal                      // with Jitter.Ns as its standard deviation
)

// Jitter varies the delay, which is never less than zero.
type Jitter struct {
	Ns           int64        `json:"ns"`
	Distribution Distribution `json:"distribution"`
	// MayReorder lets a packet overtake another one. Otherwise it waits for the one before it.
	MayReorder bool `json:"may_reorder,omitempty"`
}

// Loss describes packet loss. A packet is lost if one of the two models drops it.
type Loss struct {
	// Random is the share of independent losses.
	Random float64 `json:"random"`
	// Gilbert loses in bursts.
	Gilbert GilbertElliott `json:"gilbert_elliott,omitzero"`
}

// GilbertElliott is the two-state model with the parameters of gemodel in tc-netem(8). The state
// may change before each packet, and the state before that decides about the packet
// (net/sched/sch_netem.c, loss_gilb_ell). The mean length of the bad state is 1/R packets. The
// share of losses is (P*LossBad + R*LossGood) / (P + R).
type GilbertElliott struct {
	P float64 `json:"p"` // from good to bad
	R float64 `json:"r"` // from bad to good
	// LossBad is the share lost in the bad state (gemodel's 1-h), LossGood in the good one (1-k).
	LossBad  float64 `json:"loss_bad"`
	LossGood float64 `json:"loss_good"`
}

func (g GilbertElliott) on() bool { return g.P > 0 && g.LossBad > 0 || g.LossGood > 0 }

// Reorder lets packets skip their delay, and so overtake those before them (as tc-netem(8)'s
// reorder).
type Reorder struct {
	Share float64 `json:"share"`
	// Gap allows reordering of every Gap-th packet only. Zero and one allow it for all.
	Gap int `json:"gap,omitempty"`
}

// Change replaces a part of the path. A nil part stays.
type Change struct {
	AtNs int64
	// Wire is the new wire. The frame in transmission ends at the old rate, waiting frames use the
	// new rate. Packets above a lowered limit stay.
	Wire *Wire
	// Line is the new line for packets that enter from then on. After a shortened delay no packet
	// overtakes an earlier one, unless the line may reorder.
	Line    *Line
	Station int
}

// Validate returns an error that names the first invalid value.
func (c Config) Validate() error {
	if err := c.Wire.validate(); err != nil {
		return err
	}
	for i, l := range c.Lines {
		if err := l.validate(); err != nil {
			return fmt.Errorf("terminal %d: %w", i, err)
		}
	}
	beforeNs := int64(0)
	for i, change := range c.Schedule {
		if err := change.validate(len(c.Lines)); err != nil {
			return fmt.Errorf("change %d of the schedule: %w", i, err)
		}
		if change.AtNs < beforeNs {
			return fmt.Errorf(
				"change %d of the schedule: %d ns is before the one ahead of it, at %d ns; put them in order of time",
				i, change.AtNs, beforeNs,
			)
		}
		if change.Wire != nil && change.Wire.HostFair != c.Wire.HostFair {
			return fmt.Errorf("change %d of the schedule: it changes the discipline of the wire's queue", i)
		}
		beforeNs = change.AtNs
	}
	return nil
}

func (c Change) validate(stations int) error {
	if c.Wire == nil && c.Line == nil {
		return fmt.Errorf("changes nothing; give a wire or a line")
	}
	if c.Wire != nil {
		if err := c.Wire.validate(); err != nil {
			return err
		}
	}
	if c.Line == nil {
		return nil
	}
	if c.Station < 0 || c.Station >= stations {
		return fmt.Errorf("terminal %d does not exist; there are %d, counted from 0", c.Station, stations)
	}
	return c.Line.validate()
}

func (w Wire) validate() error {
	if w.RateBps < 0 || w.RateBps > maxRateBps {
		return fmt.Errorf("a wire's rate of %d bit/s; give 0 (no limit) to %d", w.RateBps, int64(maxRateBps))
	}
	if w.Limit.Packets < 0 || w.Limit.Bytes < 0 {
		return fmt.Errorf("a wire's limit of %d packets, %d bytes; give 0 (no limit) or more", w.Limit.Packets,
			w.Limit.Bytes)
	}
	return nil
}

func (l Line) validate() error {
	if l.DelayNs < 0 || l.Jitter.Ns < 0 {
		return fmt.Errorf("a delay of %d ns with a jitter of %d ns; neither may be negative", l.DelayNs, l.Jitter.Ns)
	}
	if l.Jitter.Distribution > Normal {
		return fmt.Errorf("jitter distribution %d does not exist; give Uniform or Normal", l.Jitter.Distribution)
	}
	if l.Reorder.Gap < 0 {
		return fmt.Errorf("a reordering gap of %d; give 0 or more", l.Reorder.Gap)
	}
	g := l.Loss.Gilbert
	for _, s := range []struct {
		name  string
		share float64
	}{
		{"random loss", l.Loss.Random},
		{"Gilbert-Elliott p", g.P},
		{"Gilbert-Elliott r", g.R},
		{"Gilbert-Elliott 1-h", g.LossBad},
		{"Gilbert-Elliott 1-k", g.LossGood},
		{"reordering", l.Reorder.Share},
		{"duplication", l.Duplicate},
	} {
		if !(s.share >= 0 && s.share <= 1) { // NaN fails too
			return fmt.Errorf("%s of %v; give a share between 0 and 1", s.name, s.share)
		}
	}
	return nil
}

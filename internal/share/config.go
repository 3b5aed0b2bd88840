package share

import (
	"errors"
	"fmt"
	"time"

	"airtide/internal/observe/monitor"
	"airtide/internal/share/cellkey"
	"airtide/internal/share/control"
	"airtide/internal/share/link"
	"airtide/internal/share/message"
	"airtide/internal/share/radio"
)

// Recorder records the steps of an agent.
type Recorder interface {
	// Begin is called before the first step of each session.
	Begin(c control.Config)
	Step(now time.Duration, in control.Inputs, out control.Outputs)
}

// Config says how an agent shares.
type Config struct {
	Key  cellkey.Key
	Link link.Config
	// Interface is that by which the terminal reaches the cell: flows from its addresses are seen
	// and held. "" means all flows of the network namespace.
	Interface string
	// MaxBps is what the terminal reaches alone, in bit/s; 0 has it follow from the radio, or
	// measured.
	MaxBps float64
	// Radio tells how the terminal's radio is doing; asked at each step. What it reaches alone
	// counts where MaxBps is 0. It may be nil.
	Radio func() radio.State
	// MulticastBps is at what rate the access point sends multicast, in bit/s; 0 stands for the
	// lowest rate of the radio's band.
	MulticastBps float64
	// SingleFrames says that the radio sends each packet by itself, whatever Radio says: 802.11a, b
	// and g have no aggregates.
	SingleFrames bool
	// Weight is what the terminal counts for, 0.1 to 10; 0 stands for 1.
	Weight float64
	Policy control.Policy
	// CapacityBps is what equal-cap and equal-range divide.
	CapacityBps float64
	Control     control.Options
	// Source is where samples come from.
	Source monitor.Kind
	// Notice is called with a line that the user should see, Step after each step. Both may be nil.
	Notice func(string)
	Step   func(Status)
	// Record takes each step. It may be nil.
	Record Recorder
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
	case c.Policy.DividesCapacity() && c.CapacityBps <= 0:
		return fmt.Errorf("the policy %s divides a capacity, and none is given", c.Policy)
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

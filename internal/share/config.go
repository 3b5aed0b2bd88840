package share

import (
	"errors"
	"fmt"
	"time"

	"airtide/internal/observe/source"
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

// Config is the configuration of an agent. Rates are in bit/s.
type Config struct {
	Key cellkey.Key
	// OldKey is the key before Key during a rotation, otherwise zero.
	OldKey cellkey.Key
	// Keys returns the keys of the cell now. It is called at each step. Nil means that they do not
	// change.
	Keys func() cellkey.Pair
	Link link.Config
	// Interface leads to the access point. Only flows of its addresses are sampled and bounded. ""
	// means all flows of the network namespace.
	Interface string
	// MaxBps is the standalone rate of the terminal. 0 means that it comes from the radio or is
	// unknown.
	MaxBps float64
	// Radio returns the state of the terminal's radio. It is called at each step and may be nil.
	// Its standalone rate counts only if MaxBps is 0.
	Radio func() radio.State
	// MulticastBps is the rate at which the access point sends multicast. 0 means the lowest rate
	// of the radio's band.
	MulticastBps float64
	// SingleFrames means that the radio does not aggregate frames, as 802.11a, b and g. It has
	// precedence over Radio.
	SingleFrames bool
	// Weight is the terminal's weight in the allocation, 0.1 to 10. 0 means 1.
	Weight float64
	Policy control.Policy
	// CapacityBps is the rate that equal-cap and equal-range divide.
	CapacityBps float64
	Control     control.Options
	// Source is the source of samples.
	Source source.Kind
	// Notice gets lines for the user. Step gets the status after each step. Both may be nil.
	Notice func(string)
	Step   func(Status)
	// Record gets each step. It may be nil.
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
		return fmt.Errorf("an alpha of %g: want a number of at least 0, or inf", *c.Control.Alpha)
	case c.Policy.DividesCapacity() && c.CapacityBps <= 0:
		return fmt.Errorf("the policy %s divides a capacity, and none is given", c.Policy)
	}
	_, err := control.ParsePolicy(string(c.Policy))
	return err
}

// publishWaiting publishes that the agent waits, and the reason.
func (c *Config) publishWaiting(reason string) {
	if c.Step != nil {
		s := newStatus(c.Policy, c.Key)
		s.Reason = reason
		c.Step(s)
	}
}

// stepEvery is the interval of steps.
const stepEvery = 100 * time.Millisecond

// Limits of an access point's multicast rate in bit/s. 1 Mbit/s is the lowest rate of 802.11b.
const lowestMulticast, highestMulticast = 1e6, 600e6

// Limits of a terminal's weight.
const (
	LowestWeight  = message.LowestWeight / 1000.0
	HighestWeight = message.HighestWeight / 1000.0
)

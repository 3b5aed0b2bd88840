package run

import (
	"context"
	"fmt"
	"math"
	"time"

	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
)

// clocks are the clocks of the guests. Their rates are set before time zero and measured during the
// run.
type clocks struct {
	machines *machines
	all      []*guestClock
}

// guestClock is one guest's clock. Its rate is in units of real time.
type guestClock struct {
	name  string
	asked float64
	start reading
	// rate is the measured rate; zero before the end of the run. rateError is its relative error.
	rate, rateError float64
}

// reading is one moment on the guest's clock and on this computer's clock. Both are known within
// withinNs.
type reading struct{ guestNs, hereNs, withinNs int64 }

const (
	// maxClockError is the relative error of a clock in a valid run. The kernel of an emulated
	// processor finds its counter's frequency within 0.2 % at boot, and within a millionth some
	// seconds later.
	maxClockError = 0.01
	// clockReadings is the number of readings of a clock. The most precise reading counts.
	clockReadings = 5
)

// Start sets the clocks of the guests and takes the first readings.
func (c *clocks) Start(ctx context.Context) error {
	for _, g := range c.machines.guests {
		if g.ratio != "" {
			var lacks []string
			s := clockSetting{g.ratio, string(g.setup.Time.RTO), g.setup.Time.CUBIC == plan.RealTime}
			if err := g.Call(ctx, clockFunction, s, &lacks); err != nil {
				return fmt.Errorf("setting the clock of %s: %w", g.name, err)
			}
			if len(lacks) > 0 {
				return fmt.Errorf("the kernel of %s cannot follow its clock: %s", g.name, lacks[0])
			}
		}
		start, err := readClock(ctx, g)
		if err != nil {
			return err
		}
		c.all = append(c.all, &guestClock{name: g.name, asked: g.ClockRate(), start: start})
	}
	return nil
}

// Stop does nothing, because the clocks end with their guests.
func (c *clocks) Stop() error { return nil }

func readClock(ctx context.Context, g *guest) (best reading, err error) {
	best.withinNs = time.Hour.Nanoseconds()
	for range clockReadings {
		guestNs, hereNs, within, err := g.Clock(ctx)
		if err != nil {
			return best, err
		}
		if within.Nanoseconds() < best.withinNs {
			best = reading{guestNs, hereNs, within.Nanoseconds()}
		}
	}
	return best, nil
}

// readRates measures the rates since Start.
func (c *clocks) readRates(ctx context.Context) error {
	for i, g := range c.machines.guests {
		end, err := readClock(ctx, g)
		if err != nil {
			return err
		}
		one := c.all[i]
		took := float64(end.hereNs - one.start.hereNs)
		one.rate = float64(end.guestNs-one.start.guestNs) / took
		one.rateError = float64(one.start.withinNs+end.withinNs) / took
	}
	return nil
}

// rate returns the measured rate of a machine's clock; 0 if the machine has no clock of its own.
func (c *clocks) rate(name string) float64 {
	for _, one := range c.all {
		if one.name == name {
			return one.rate
		}
	}
	return 0
}

// problems names the clocks whose rate differs from the requested rate.
func (c *clocks) problems() (all []string) {
	for _, one := range c.all {
		if problem := one.problem(); problem != "" {
			all = append(all, problem)
		}
	}
	return all
}

func (c *guestClock) problem() string {
	if c.rate == 0 || math.Abs(c.rate/c.asked-1) <= maxClockError+c.rateError {
		return ""
	}
	return fmt.Sprintf(
		"the clock of %s ran %.4g times as fast as real time, and was to run %.4g times (known within %.2g %%)",
		c.name, c.rate, c.asked, 100*c.rateError)
}

// place adds the guest's clock to a recording that used it. zeroNs is time zero of the run on this
// computer's clock.
func (c *clocks) place(f result.File, zeroNs int64) result.File {
	for _, one := range c.all {
		if one.name == f.Machine && one.rate != 0 {
			f.Clock = one.rate
			f.ZeroNs = one.start.guestNs + int64(float64(zeroNs-one.start.hereNs)*one.rate)
		}
	}
	return f
}

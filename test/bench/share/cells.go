package main

import (
	"fmt"
	"time"

	"airtide/internal/cell/medium"
	"airtide/test/simulate"
)

// kind is a terminal of the cells: they are of three kinds in turn.
type kind struct {
	width, streams int
	mbps           float64
	frames         int // frames of an A-MPDU at most
}

var kinds = []kind{{80, 2, 866.7, 64}, {80, 1, 433.3, 64}, {20, 1, 65, 43}}

const (
	delay = time.Millisecond // the path's, each way
	// agentEvery is the interval between decisions of an agent.
	agentEvery = 100 * time.Millisecond
)

// radios returns the radios of n terminals, and each one's standalone rate on the emulated medium.
func radios(n int) (all [][]medium.RateFrom, alone []float64, err error) {
	for i := range n {
		k := kinds[i%len(kinds)]
		phy, err := medium.AtRate(medium.Std11ac, k.width, k.streams, k.mbps)
		if err != nil {
			return nil, nil, err
		}
		all = append(all, []medium.RateFrom{{PHY: phy}})
		if i >= len(kinds) {
			alone = append(alone, alone[i%len(kinds)])
			continue
		}
		one, err := simulate.NewEmulated(simulate.EmulatedConfig{
			Seed: 1, Delay: delay,
			Radios: [][]medium.RateFrom{{{PHY: phy}}},
		})
		if err != nil {
			return nil, nil, err
		}
		alone = append(alone, one.Alone())
	}
	return all, alone, nil
}

const (
	// Terminals begin to send one after another, from sendFrom on and within sendWithin.
	sendFrom, sendWithin = 20 * time.Second, 2 * time.Second
	// judgeEvery is over how long rates are taken, and measureFor how long a cell that has settled
	// is measured.
	judgeEvery, measureFor = 5 * time.Second, 60 * time.Second
)

// emulatedCell makes a cell whose medium has every frame.
func emulatedCell(n int, apart bool, around func(int, func())) (*simulate.Cell, *simulate.Emulated, error) {
	all, alone, err := radios(n)
	if err != nil {
		return nil, nil, err
	}
	air, err := simulate.NewEmulated(simulate.EmulatedConfig{Seed: 1, Delay: delay, Radios: all, Marked: true})
	if err != nil {
		return nil, nil, err
	}
	var terminals []simulate.Terminal
	for i := range n {
		terminals = append(terminals, simulate.Terminal{
			Standalone: alone[i], NoAgent: apart, Sends: sendFrom + sendWithin*time.Duration(i)/time.Duration(n),
		})
	}
	c, err := simulate.New(simulate.Config{Seed: 1, Terminals: terminals, Air: air, Measure: around})
	return c, air, err
}

// free returns the total rate of a cell without control, in bit/s.
func free(n int) (float64, error) {
	c, _, err := emulatedCell(n, true, nil)
	if err != nil {
		return 0, err
	}
	c.Until(sendFrom + sendWithin + measureFor/2)
	if _, err := c.State(); err != nil {
		return 0, err
	}
	c.Until(c.Now() + measureFor/2)
	s, err := c.State()
	return s.Total, err
}

// emulated prints the row of a cell whose medium has every frame.
func emulated(n int) error {
	without, err := free(n)
	if err != nil {
		return err
	}
	m := newMeter()
	c, air, err := emulatedCell(n, false, m.around)
	if err != nil {
		return err
	}
	known := "not known"
	for c.Now() < sendFrom {
		c.Until(c.Now() + agentEvery)
		if s, err := c.State(); err != nil {
			return err
		} else if s.Known == 1 {
			known = seconds(c.Now())
			break
		}
	}
	c.Until(sendFrom + sendWithin)
	fair := "not in 2 min"
	if _, err := c.State(); err != nil {
		return err
	}
	for c.Now() < 2*time.Minute {
		c.Until(c.Now() + judgeEvery)
		if s, err := c.State(); err != nil {
			return err
		} else if s.Uneven <= simulate.Near {
			fair = seconds(c.Now() - sendFrom - sendWithin)
			break
		}
	}
	m.take()
	_, said := c.Reports()
	onAir := air.ReportAirtime()
	c.Until(c.Now() + measureFor)
	s, err := c.State()
	if err != nil {
		return err
	}
	_, later := c.Reports()
	part := func(d time.Duration) float64 { return 100 * d.Seconds() / measureFor.Seconds() }
	fmt.Printf("| %d | %s | %s | %.3f | %.0f | %.0f | %.2f | %.2f | %.2f |\n", n, known, fair, s.Jain, s.Total/1e6,
		without/1e6, part(later-said), part(air.ReportAirtime()-onAir), part(m.take()))
	return nil
}

// never is a time that has not come, and patience how long it is waited for one.
const never, patience = time.Duration(-1), 3 * time.Hour

// largestQuick is the largest cell whose terminals all decide as often as agents do; in larger
// ones, only the one that is measured does.
const largestQuick = 64

// modelled prints the row of a cell by the model of queues. All terminals start at once, and send.
func modelled(n int) error {
	var stations []simulate.Station
	var terminals []simulate.Terminal
	every := agentEvery
	if n > largestQuick {
		every *= time.Duration(n / 10)
	}
	for i := range n {
		k := kinds[i%len(kinds)]
		s := simulate.Station{PHY: k.mbps * 1e6, Aggregate: k.frames, Base: 2 * delay}
		stations = append(stations, s)
		terminals = append(terminals, simulate.Terminal{Standalone: s.Alone()})
	}
	terminals[metered].StepEvery = agentEvery
	m := newMeter()
	c, err := simulate.New(simulate.Config{
		Seed: 1, Terminals: terminals, Air: simulate.NewQueues(0, stations), StepEvery: every, Measure: m.around,
	})
	if err != nil {
		return err
	}
	most := never
	all := never
	known := never
	var s simulate.State
	for c.Now() < patience && (known == never || all == never) {
		c.Until(c.Now() + max(agentEvery, every))
		s, err = c.State()
		if err != nil {
			return err
		}
		if known == never && s.Known == 1 {
			known = c.Now()
		}
		if most == never && s.Within >= 0.95 {
			most = c.Now()
		}
		if all == never && s.Within == 1 {
			all = c.Now()
		}
	}
	settled := c.Now()
	reports, said := c.Reports()
	m.take()
	for range 12 {
		c.Until(c.Now() + judgeEvery)
	}
	s, err = c.State()
	if err != nil {
		return err
	}
	_, later := c.Reports()
	part := func(d, of time.Duration) float64 { return 100 * d.Seconds() / of.Seconds() }
	fmt.Printf("| %d | %s | %s | %s | %.0f | %.2f | %.2f | %.3f | %.2f |\n", n, seconds(most), seconds(all),
		seconds(known), float64(reports)/float64(n),
		part(said, settled), part(later-said, c.Now()-settled), s.Jain, part(m.take(), c.Now()-settled))
	return nil
}

package main

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"time"

	"airtide/internal/cell/medium"
	"airtide/test/simulate"
)

// cell is a random cell. The same seed gives the same cell.
type cell struct {
	seed    uint64
	unknown bool
	// up, down: which directions flows have.
	up, down bool
	scenario simulate.Scenario
}

// foreign is the number of terminals without an agent.
func (c *cell) foreign() (n int) {
	for _, s := range c.scenario.Stations {
		if s.NoAgent {
			n++
		}
	}
	return n
}

// maxRTT and minRTT of paths: between two and two hundred milliseconds.
const (
	minRTT = 2 * time.Millisecond
	maxRTT = 200 * time.Millisecond
)

// newCell draws a cell: 2 to 12 terminals of 802.11b, g, a, n or ac with PHY rates from 5.5 to 1733
// Mbit/s, RTTs from 2 to 200 ms, a wire from 50 Mbit/s to unlimited, an access point's queue of 50
// to 1000 packets, flows up, down or both, 1 to 4 for each terminal, standalone rates told or
// unknown, 0 to 2 terminals without an agent, and up to 30 % of the reports lost.
func newCell(seed uint64) (*cell, error) {
	r := rand.New(rand.NewPCG(seed, 7))
	c := &cell{seed: seed, unknown: r.IntN(2) == 0}
	direction := r.IntN(3)
	c.up = direction != 1
	c.down = direction != 0
	s := &c.scenario
	s.Seed = seed
	s.Survey = true
	s.Band = medium.Band5GHz
	if r.IntN(2) == 0 {
		s.Band = medium.Band2GHz
	}
	if r.IntN(3) > 0 {
		s.WireBps = math.Round(logUniform(r, 50, 1000)) * 1e6
	}
	s.APQueue = int(logUniform(r, 50, 1000))
	s.ReportLoss = 0.3 * r.Float64()
	terminals := 2 + r.IntN(11)
	foreign := min(r.IntN(3), terminals-2)
	for i := range terminals {
		phy, err := randomPHY(r, s.Band)
		if err != nil {
			return nil, err
		}
		rtt := time.Duration(logUniform(r, float64(minRTT), float64(maxRTT)))
		station := simulate.ScenarioStation{
			PHYs: []medium.RateFrom{{PHY: phy}}, Delay: rtt / 2, Unknown: c.unknown, NoAgent: i < foreign,
		}
		for range 1 + r.IntN(4) {
			down := c.down && (!c.up || r.IntN(2) == 0)
			station.Flows = append(station.Flows, simulate.ScenarioFlow{Download: down})
		}
		s.Stations = append(s.Stations, station)
	}
	return c, nil
}

// logUniform draws a number between two with an evenly distributed logarithm.
func logUniform(r *rand.Rand, least, most float64) float64 {
	return least * math.Pow(most/least, r.Float64())
}

// randomPHY draws a rate of a standard that the band has.
func randomPHY(r *rand.Rand, band medium.Band) (medium.PHY, error) {
	legacy := map[medium.Standard][]float64{
		medium.Std11b: {5.5, 11},
		medium.Std11g: {6, 9, 12, 18, 24, 36, 48, 54},
		medium.Std11a: {6, 9, 12, 18, 24, 36, 48, 54},
	}
	standards := []medium.Standard{medium.Std11a, medium.Std11n, medium.Std11n, medium.Std11ac, medium.Std11ac}
	widths := []int{20, 40, 80}
	if band == medium.Band2GHz {
		standards = []medium.Standard{medium.Std11b, medium.Std11g, medium.Std11n, medium.Std11n, medium.Std11n}
		widths = []int{20, 40}
	}
	standard := standards[r.IntN(len(standards))]
	if rates := legacy[standard]; rates != nil {
		return medium.Legacy(standard, rates[r.IntN(len(rates))])
	}
	most := 8 // MCS of 802.11n for each stream
	if standard == medium.Std11ac {
		most = 10
	} else {
		widths = widths[:2]
	}
	for {
		phy, err := medium.MCS(standard, widths[r.IntN(len(widths))], 1+r.IntN(4), r.IntN(most), 400)
		if err == nil || r.IntN(100) == 0 { // some schemes of 802.11ac do not exist
			return phy, err
		}
	}
}

// String describes the cell in a line.
func (c *cell) String() string {
	s := &c.scenario
	var b strings.Builder
	fmt.Fprintf(&b, "%d terminals", len(s.Stations))
	if n := c.foreign(); n > 0 {
		fmt.Fprintf(&b, ", %d without agent", n)
	}
	fmt.Fprintf(&b, ", %s, rates %s", c.direction(), c.rates())
	if s.WireBps > 0 {
		fmt.Fprintf(&b, ", wire %.0f Mbit/s", s.WireBps/1e6)
	}
	fmt.Fprintf(&b, ", AP queue %d, %.0f %% of reports lost:", s.APQueue, 100*s.ReportLoss)
	for _, t := range s.Stations {
		phy := t.PHYs[0].PHY
		fmt.Fprintf(&b, " %s %g/%d ms", phy.Standard, phy.Mbps(), (2 * t.Delay).Milliseconds())
		if len(t.Flows) > 1 {
			fmt.Fprintf(&b, " x%d", len(t.Flows))
		}
	}
	return b.String()
}

func (c *cell) direction() string {
	switch {
	case c.up && c.down:
		return "mixed"
	case c.up:
		return "up"
	}
	return "down"
}

func (c *cell) rates() string {
	if c.unknown {
		return "unknown"
	}
	return "told"
}

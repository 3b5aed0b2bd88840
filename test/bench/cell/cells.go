package main

import (
	"context"
	"fmt"

	"airtide/internal/cell"
	"airtide/internal/cell/medium"
	"airtide/internal/cell/path"
	"airtide/internal/cell/queue"
)

// cell measures cells whose stations all upload. ns-3's real-time mode kept up to 60 to 80 Mbit/s
// on such a machine.
func (b *bench) cell(ctx context.Context) error {
	var ways []way
	for _, c := range []struct {
		standard       medium.Standard
		width, streams int
		mbps           float64
		stations       int
	}{
		{medium.Std11n, 40, 1, 150, 4},
		{medium.Std11ac, 80, 1, 433.3, 1},
		{medium.Std11ac, 80, 1, 433.3, 4},
		{medium.Std11ac, 80, 2, 866.7, 1},
		{medium.Std11ac, 80, 2, 866.7, 4},
		{medium.Std11ac, 160, 2, 1733.3, 4},
	} {
		phy, err := medium.AtRate(c.standard, c.width, c.streams, c.mbps)
		if err != nil {
			return err
		}
		standard := "n"
		if c.standard == medium.Std11ac {
			standard = "ac"
		}
		ways = append(ways, way{
			fmt.Sprintf("802.11%s, %g Mbit/s, %d stations up", standard, c.mbps, c.stations),
			stations(phy, c.stations, 1e9), nil,
		})
	}
	return b.table(ctx, "Cells, TCP", ways)
}

// many measures 64 terminals that share a wire of 200 Mbit/s.
func (b *bench) many(ctx context.Context) error {
	phy, err := medium.AtRate(medium.Std11ac, 80, 2, 866.7)
	if err != nil {
		return err
	}
	return b.table(ctx, "64 terminals behind a wire of 200 Mbit/s, TCP", []way{
		{"down", stations(phy, 64, 200e6), []string{"-R"}},
		{"up", stations(phy, 64, 200e6), nil},
	})
}

func stations(phy medium.PHY, n int, wireBps int64) func(context.Context) (*ends, error) {
	return func(ctx context.Context) (*ends, error) {
		wire := []cell.WireStep{{Wire: path.Wire{RateBps: wireBps, Limit: queue.Limit{Packets: 1000}}}}
		c := cell.Config{
			Seed: 1, AP: cell.AccessPoint{Limit: queue.Limit{Packets: 1000}},
			Servers: []cell.Server{{Name: "server"}}, WireUp: wire, WireDown: wire,
		}
		line := []cell.LineStep{{Line: path.Line{DelayNs: 1e6}}}
		for i := range n {
			c.Terminals = append(c.Terminals, cell.Terminal{
				Name:  fmt.Sprintf("sta%d", i+1),
				Radio: &cell.Radio{PHY: []cell.PHYStep{{PHY: phy}}, QueuePackets: 500},
				Up:    line,
				Down:  line,
			})
		}
		return cellEnds(ctx, c)
	}
}

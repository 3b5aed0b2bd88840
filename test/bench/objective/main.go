// Command objective measures total against index in cells of virtual time, and writes
// docs/results/share-objective.md.
package main

import (
	"bytes"
	"context"
	"flag"
	"fmt"
	"os"
	"regexp"
	"strings"
	"time"

	"airtide/internal/cell/medium"
	"airtide/internal/share/control"
	"airtide/internal/share/fairness"
	"airtide/internal/stats"
	"airtide/test/bench/benchtext"
	"airtide/test/simulate"
)

// cell is the cell of Matsuno et al. 2021 with A-MPDUs of a length, or with a contention window.
type cell struct {
	name        string
	aggregation medium.Aggregation
	cwMin, rts  int
}

var (
	short = medium.Aggregation{Bytes: 1 << 20, AirtimeNs: 1e6}
	long  = medium.Aggregation{Bytes: 1 << 20, AirtimeNs: 4e6}
	cells = []cell{
		{"A-MPDUs of 1 ms (as p4-fig18)", short, 0, 0},
		{"A-MPDUs of 1 ms, CWmin 31", short, 31, 0},
		{"A-MPDUs of 1 ms, RTS", short, 0, 2347},
		{"A-MPDUs of 1 ms, RTS and CWmin 31", short, 31, 2347},
		{"A-MPDUs of 4 ms", long, 0, 0},
		{"A-MPDUs of 64 frames", medium.Aggregation{Bytes: 1 << 20}, 0, 0},
	}
)

// objectives are the points of the curve. The first one is without agents.
var objectives = []struct {
	name         string
	alpha, index float64
}{
	{name: "default, without agents"},
	{name: "alpha 1", alpha: 1},
	{name: "alpha 0.95", alpha: 0.95},
	{name: "alpha 0.9", alpha: 0.9},
	{name: "alpha 0.85", alpha: 0.85},
	{name: "index 0.995", index: 0.995},
	{name: "index 0.99 (as shipped)", index: 0.99},
	{name: "index 0.98", index: 0.98},
	{name: "index 0.95", index: 0.95},
}

// point is how a cell went: medians over the seeds.
type point struct {
	total, index float64
	rtt95        time.Duration
}

const (
	measureFrom = 5 * time.Second
	measureTo   = 20 * time.Second
)

// station is a terminal with a PHY rate of 802.11ac.
func station(width, streams int, mbps float64) simulate.ScenarioStation {
	phy, err := medium.AtRate(medium.Std11ac, width, streams, mbps)
	if err != nil {
		panic(err) // the rates below exist
	}
	return simulate.ScenarioStation{PHYs: []medium.RateFrom{{PHY: phy}}}
}

// measure runs a cell with an objective.
func (c *cell) measure(seeds int, alpha, index float64, agents bool) (p point, err error) {
	var totals, indices, rtts []float64
	for seed := range seeds {
		s := simulate.Scenario{
			Seed: uint64(seed + 1), Delay: time.Millisecond, Aggregation: c.aggregation,
			CWMin: c.cwMin, RTSBytes: c.rts,
			Stations: []simulate.ScenarioStation{
				station(80, 1, 433.3), station(80, 2, 866.7), station(20, 1, 65), station(20, 1, 65),
			},
		}
		s.Change = func(config *control.Config) {
			if alpha > 0 {
				config.Options.Alpha = &alpha
			}
			config.Options.Index = index
		}
		r, err := s.Run(agents, measureFrom, measureTo)
		if err != nil {
			return p, err
		}
		longest := time.Duration(0)
		for _, rtt := range r.RTT95 {
			longest = max(longest, rtt)
		}
		totals = append(totals, r.Total)
		indices = append(indices, fairness.Jain(r.Airtimes))
		rtts = append(rtts, longest.Seconds())
	}
	rtt := time.Duration(stats.Median(rtts) * float64(time.Second))
	return point{stats.Median(totals), stats.Median(indices), rtt}, nil
}

func main() {
	page := flag.String("page", "docs/results/share-objective.md", "the page that is written")
	seeds := flag.Int("seeds", 5, "seeds of each cell")
	only := flag.String("only", "", "cells with names that match this regular expression")
	flag.Parse()
	benchtext.Run("objective", func(ctx context.Context) error { return run(ctx, *page, *only, *seeds) })
}

func run(ctx context.Context, page, only string, seeds int) error {
	chosen, err := regexp.Compile(only)
	if err != nil {
		return err
	}
	var b bytes.Buffer
	fmt.Fprintf(&b, `# Total against index

Written by `+"`go run ./test/bench/objective`"+` in virtual time ([test/simulate](../design/sharing.md)).
Medians of %d seeds.

Terminals of 433.3, 866.7, 65 and 65 Mbit/s upload over a wire without limit, as in the cell of
Matsuno et al. 2021 at 1 Gbit/s. The *improved index* is Jain's index of rates as parts of
standalone rates. The RTT is the greatest 95th percentile of a terminal. Parts are those of the
default, without agents. `+"`--index`"+` finds the alpha of the greatest total that keeps an index;
`+"`--alpha`"+` sets it. The default of virtual time carries less than real TCP, 218 Mbit/s with A-MPDUs
of 1 ms ([p4-fig18](matsuno-2021.md#p4-fig18)), so compare totals with that, too.
`, seeds)
	for i := range cells {
		c := &cells[i]
		if !chosen.MatchString(c.name) {
			continue
		}
		fmt.Fprintf(&b, "\n## %s\n\n"+
			"| objective | total, Mbit/s | of default | improved index | RTT, ms | of default |\n"+
			"|---|---:|---:|---:|---:|---:|\n", strings.ToUpper(c.name[:1])+c.name[1:])
		var plain point
		for k, o := range objectives {
			if err := ctx.Err(); err != nil {
				return err
			}
			p, err := c.measure(seeds, o.alpha, o.index, k > 0)
			if err != nil {
				return fmt.Errorf("%s, %s: %w", c.name, o.name, err)
			}
			if k == 0 {
				plain = p
			}
			fmt.Fprintf(&b, "| %s | %.0f | %.2f | %.3f | %.0f | %.2f |\n",
				o.name, p.total/1e6, p.total/plain.total, p.index,
				p.rtt95.Seconds()*1e3, p.rtt95.Seconds()/plain.rtt95.Seconds())
		}
	}
	return os.WriteFile(page, b.Bytes(), 0o644)
}

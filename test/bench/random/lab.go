package main

import (
	"fmt"
	"strings"

	"airtide/internal/cell/medium"
)

// experiment is the cell as an experiment for `airtide lab run`, with and without agents, over the
// time of virtual time. A lab cannot lose reports alone, so it leaves out their loss.
func (c *cell) experiment(repeats int) (string, error) {
	s := &c.scenario
	var b, terminals, rtts, flows strings.Builder
	var agents, judged []string
	for i, station := range s.Stations {
		name := fmt.Sprintf("t%d", i+1)
		phy := station.PHYs[0].PHY
		radio := fmt.Sprintf("standard: %s, phy_rate: %.1f Mbit/s",
			strings.TrimPrefix(phy.Standard.String(), "802.11"), phy.Mbps())
		if phy.Standard == medium.Std11n || phy.Standard == medium.Std11ac { // the rate alone is ambiguous
			radio += fmt.Sprintf(", width: %d, streams: %d, guard_interval: %d ns",
				phy.WidthMHz, phy.Streams, phy.GuardNs)
		}
		share := ""
		if !station.NoAgent {
			share = ", share: {knows_busy: true"
			if !c.unknown {
				alone, err := s.Standalone(phy, 0)
				if err != nil {
					return "", err
				}
				share += fmt.Sprintf(", max_rate: %.0f kbit/s", alone/1e3)
			}
			share += "}"
		}
		fmt.Fprintf(&terminals, "  %s: {profile: linux-today, radio: {%s}%s}\n", name, radio, share)
		fmt.Fprintf(&rtts, "    %s: {rtt: %d us}\n", name, (2 * station.Delay).Microseconds())
		if !station.NoAgent {
			agents = append(agents, name)
		}
		up := 0
		down := 0
		for _, f := range station.Flows {
			if f.Download {
				down++
			} else {
				up++
			}
		}
		for _, f := range []struct {
			name, direction string
			count           int
		}{{"up", "forward", up}, {"down", "reverse", down}} {
			if f.count == 0 {
				continue
			}
			f.name += fmt.Sprint(i + 1)
			fmt.Fprintf(&flows, "  %s: {from: %s, to: server, protocol: tcp, direction: %s, parallel: %d}\n",
				f.name, name, f.direction, f.count)
			if !station.NoAgent {
				judged = append(judged, f.name)
			}
		}
	}
	band := "5 GHz"
	if s.Band == medium.Band2GHz {
		band = "2.4 GHz"
	}
	fmt.Fprintf(&b, `# Written by go run ./test/bench/random -seed %d -lab FILE.
name: random-%d
title: Random cell of seed %d
source: docs/results/random-cells.md
notes: >
  The cell in which virtual time runs airtide's control, here with real TCP. Reports are lost only as
  the cell loses them (in virtual time, %.0f %% more are lost).
duration: %.0f s
warmup: %.0f s
repeats: %d
at_once: 2
lag_limit: 5 ms

terminals:
%s
servers:
  server: {profile: linux-today}

cell:
  band: %s
  ap: {discipline: fifo, queue: %d packets}

path:
`, c.seed, c.seed, c.seed, 100*s.ReportLoss, measureTo.Seconds(), measureFrom.Seconds(), repeats,
		terminals.String(), band, s.APQueue)
	wire := s.WireBps
	if wire == 0 {
		wire = 10e9 // no radio reaches it
	}
	fmt.Fprintf(&b, "  rate: %.0f Mbit/s\n", wire/1e6)
	fmt.Fprintf(&b, `  terminals:
%s
flows:
%s
sweep:
  - name: policy
    points:
      default: {}
      shares:
`, rtts.String(), flows.String())
	for _, name := range agents {
		fmt.Fprintf(&b, "        terminals.%s.share.policy: shares\n", name)
	}
	fmt.Fprintf(&b, `
record:
  tcp: [terminals, server]

measure:
  goodput: {quantity: goodput, take: each}
  total: {quantity: goodput, take: sum}
  airtime: {quantity: airtime, take: each}
  airtime_index: {quantity: airtime, terminals: [%[1]s], take: jain}
  rtt_p95: {quantity: rtt_p95, flows: [%[2]s], take: max}

claims:
  total:
    says: The total is at least 0.97 of the total without agents.
    holds: 'median(at(total, {policy: "shares"})) >= 0.97 * median(at(total, {policy: "default"}))'
  fair:
    says: Airtimes of terminals with agents have a greater index than without agents.
    holds: 'median(at(airtime_index, {policy: "shares"})) > median(at(airtime_index, {policy: "default"}))'
  short:
    says: The 95th percentile of their RTTs is at most half of that without agents.
    holds: 'median(at(rtt_p95, {policy: "shares"})) <= 0.5 * median(at(rtt_p95, {policy: "default"}))'
`, strings.Join(agents, ", "), strings.Join(judged, ", "))
	return b.String(), nil
}

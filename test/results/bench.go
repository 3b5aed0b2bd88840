package results

import "airtide/internal/lab/plan"

// Bench is an experiment whose figures are of every kind.
const Bench = `name: bench
title: Terminals of three ages under four disciplines
duration: 5 s
repeats: 4
terminals:
  phone: {radio: {standard: ac, phy_rate: 433.3 Mbit/s}}
  tablet: {radio: {standard: n, phy_rate: 65 Mbit/s}, count: 2}
servers:
  server:
flows:
  upload: {from: terminals, to: server, protocol: tcp}
sweep:
  - {over: cell.ap.discipline, values: [fifo, fifo_per_station, fq_codel, airtime_fair]}
  - {over: path.rate, values: [10 Mbit/s, 100 Mbit/s, 1 Gbit/s]}
record:
  tcp: all
measure:
  goodput: {quantity: goodput, take: each}
  total: {quantity: goodput, take: sum}
  best: {quantity: goodput, take: max}
  ping: {quantity: srtt}
  airtime: {quantity: airtime, take: each}
figures:
  by_rate: {kind: lines, x: rate, y: [total, best, ping], series: discipline}
  by_discipline: {kind: bars, x: discipline, y: total, series: rate}
  each_terminal: {kind: bars, x: rate, y: goodput, series: discipline}
  tradeoff: {kind: scatter, x: total, y: ping, series: discipline}
  each_tradeoff: {kind: scatter, title: Each flow, x: best, y: goodput, series: discipline}
  over_rate: {kind: scatter, x: rate, y: total, series: discipline}
`

// BenchScene has results of Bench.
func BenchScene() Scene {
	disciplines := map[string]float64{"fifo": 1, "fifo_per_station": 0.95, "fq_codel": 1.2, "airtime_fair": 2}
	model := func(q plan.Quantity, s map[string]string, _ string, i int) float64 {
		d := disciplines[s["discipline"]]
		limit := map[string]float64{"10 Mbit/s": 3, "100 Mbit/s": 30, "1 Gbit/s": 60}[s["rate"]]
		switch q {
		case "srtt":
			return 100 / d / d
		case "airtime":
			return 30
		}
		return limit * d / float64(1+i)
	}
	return Scene{File: Bench, Noise: 0.08, Seed: 3, Model: model}
}

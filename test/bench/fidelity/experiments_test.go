package main

import (
	"math"
	"strings"
	"testing"
	"time"

	"airtide/internal/cell"
	"airtide/internal/cell/engine"
	"airtide/internal/lab/plan"
	"airtide/internal/lab/result"
	"airtide/internal/lab/show"
)

const oneRow = `
name: ns3-tcp
repeats: 2
terminals: {sta: {radio: {standard: g, phy_rate: 54 Mbit/s}}}
servers: {server: {}}
flows: {transfer: {from: sta, to: server, protocol: tcp}}
record: {tcp: all}
sweep: [{name: row, points: {g_up_cubic: {}, g_down_cubic: {flows.transfer.direction: reverse}}}]
measure:
  goodput: {quantity: goodput, take: each}
  total: {quantity: goodput, take: sum}
  ap_queue: {quantity: ap_queue, take: sum}
  srtt: {quantity: srtt}
claims:
  g_up_cubic: {says: "goodput 24.00 Mbit/s (23.99 to 24.01 in 2 runs), AP backlog 127.40 packets, RTT 205.20 ms", holds: mean(total) > 1}
  g_down_cubic: {says: "goodput 20.00 Mbit/s (20.00 to 20.00 in 1 runs), AP backlog 1.00 packets, RTT 10.00 ms", holds: mean(total) > 1}
`

func TestARowOfTCPSaysWhatItsRunsWereLike(t *testing.T) {
	p, err := plan.Read("experiment.yaml", []byte(oneRow))
	if err != nil {
		t.Fatal(err)
	}
	f, err := result.Create(t.TempDir(), p, time.Now())
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, run := range f.Plan.Runs {
		a, err := f.Begin(run)
		if err != nil {
			t.Fatal(err)
		}
		r := result.New(f.Plan, run)
		r.Valid, r.StolenPercent = true, 10*float64(run.Repeat)
		r.Engine = &cell.EngineStatus{Lag: engine.Lateness{P99Ns: 3e6 / int64(run.Repeat)}}
		r.Cell = &cell.Window{Flows: []cell.FlowWindow{{Name: "transfer", ForwardPackets: 100 * int64(run.Repeat), ReversePackets: 50}}}
		for name, m := range map[string]plan.Quantity{"goodput": "goodput", "total": "goodput", "ap_queue": "ap_queue", "srtt": "srtt"} {
			value := map[plan.Quantity]float64{"goodput": 25.2, "ap_queue": 140, "srtt": 233}[m]
			r.Measurements[name] = result.NewMeasurement(plan.Measurement{Quantity: m, Take: plan.Each}, []string{"transfer"}, []float64{value})
		}
		if err := a.Finish(r); err != nil {
			t.Fatal(err)
		}
	}
	r, err := show.Read(f.Dir, nil)
	if err != nil {
		t.Fatal(err)
	}
	for i, want := range []string{
		"| g_up_cubic | 24.00 | 25.20 | +5.0 % | 127 | 140 | 205 | 233 |  | 0.33 | 2 | 3.0 | 20.0 |",
		"| g_down_cubic | 20.00 | 25.20 | +26.0 % | 1 | 140 | 10 | 233 |  |  | 2 | 3.0 | 20.0 |",
	} {
		row, ok := tcpRow(r, r.Claims[i])
		if !ok || row.text != want {
			t.Errorf("%v, %.1f %%, %s\nwant %s", ok, row.deviation, row.text, want)
		}
		if backlogs := []float64{140 / 127.4, 140}[i]; math.Abs(row.backlogs-backlogs) > 1e-9 {
			t.Errorf("%g of the reference's backlog, want %g", row.backlogs, backlogs)
		}
		if columns := strings.Count(tcpHeader, "|"); strings.Count(row.text, "|") != columns {
			t.Errorf("%d columns have a heading, and %s", columns-1, row.text)
		}
	}
}
